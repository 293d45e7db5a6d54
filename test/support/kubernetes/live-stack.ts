/** A stack of the Kubernetes target on a live cluster, in a namespace of its own, with a stand-in for the node's program. */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { secret } from "@pulumi/pulumi";
import { LocalWorkspace, type OpMap, type Stack } from "@pulumi/pulumi/automation/index.js";
import { execa } from "execa";
import type { TargetDriver } from "../../../control/deploy/driver.ts";
import { createKubernetesDriver } from "../../../control/deploy/drivers/kubernetes/driver.ts";
import { PACE, type Pace } from "../../../control/deploy/drivers/kubernetes/reconcile.ts";
import type { KubernetesPlan } from "../../../infra/plan/types.ts";
import { target } from "../../../infra/targets/kubernetes.ts";
import { realTls } from "../postgres-server-tls.ts";
import type { LiveCluster } from "./live-cluster.ts";
import { kubernetesPlan, nodePlan, secretValues } from "./plans.ts";

const STAND_IN = readFileSync(new URL("./stand-in-node.cjs", import.meta.url), "utf8");
const MIB = 1024 ** 2;
const PSQL = 'PGPASSWORD=$(cat /etc/cairn-postgres/password) exec psql -h 127.0.0.1 -U cairn -d cairn -Atc "$1"';

export interface LiveStack {
  /** What the next call applies. */
  plan: KubernetesPlan;
  readonly stack: Stack;
  /** Secret of the database. */
  readonly password: string;
  /** The engine's state, as it stands on disk. */
  state(): string;
  /** A plan of one node with this cairn.yaml, and PostgreSQL. */
  configured(configuration: string): KubernetesPlan;
  driver(pace?: Pace): TargetDriver;
  /** Applies and reconciles; tells what changed. */
  up(pace?: Pace): Promise<OpMap>;
  destroy(): Promise<void>;
  /** What the node sees: see stand-in-node.cjs. */
  ask(): Promise<Record<string, unknown> & { readonly starts: number; readonly env: string }>;
  /** As the database's own role, in its own pod. */
  sql(statement: string): Promise<string>;
  nodeReaches(host: string, port: number): Promise<boolean>;
  databaseReaches(host: string, port: number): Promise<boolean>;
  kubectl(...args: string[]): Promise<string>;
  /** Takes the namespace away, with all that is in it. */
  remove(): Promise<void>;
}

export async function makeLiveStack(cluster: LiveCluster, program: string, signal: AbortSignal): Promise<LiveStack> {
  const namespace = `cairn-test-${randomBytes(4).toString("hex")}`;
  const password = randomBytes(12).toString("hex");
  const tls = await realTls();
  const directory = await mkdtemp(join(tmpdir(), "cairn-live-"));
  const configured = (configuration: string) => planOf(cluster, namespace, configuration);
  const stack = await LocalWorkspace.createStack(
    {
      stackName: "live",
      projectName: "cairn",
      program: async () =>
        target({
          plan: live.plan,
          secrets: secretValues(),
          postgresSecrets: secret({ password, tls }),
          adopt: new Set(),
        }),
    },
    {
      workDir: directory,
      projectSettings: { name: "cairn", runtime: "nodejs", backend: { url: `file://${directory}` } },
      envVars: { PULUMI_CONFIG_PASSPHRASE: "test", PULUMI_SKIP_UPDATE_CHECK: "true" },
    },
  );
  const kubectl = async (...args: string[]) => {
    const where = [`--kubeconfig=${cluster.kubeconfig}`, `--context=${cluster.context}`, `--namespace=${namespace}`];
    return (await execa(program, [...where, ...args])).stdout;
  };
  /** What stand-in-node.cjs answers; its callers know the form. */
  const answerOf = async (path: string): Promise<unknown> => {
    const connection = await live.driver().connect("main", signal);
    try {
      return await (await fetch(`${connection.url}${path}`)).json();
    } finally {
      await connection.close();
    }
  };
  const live: LiveStack = {
    plan: configured("version: 1\n"),
    stack,
    password,
    state: () => readFileSync(join(directory, ".pulumi", "stacks", "cairn", "live.json"), "utf8"),
    configured,
    driver: (pace = PACE) => createKubernetesDriver(live.plan, secretValues(), { program, pace }),
    async up(pace) {
      const { summary } = await stack.up({ color: "never" });
      await live.driver(pace).reconcile?.(() => {}, signal);
      return summary.resourceChanges ?? {};
    },
    async destroy() {
      await stack.destroy({ color: "never", excludeProtected: true });
    },
    ask: async () => (await answerOf("/state")) as Record<string, unknown> & { starts: number; env: string },
    nodeReaches: async (host, port) => ((await answerOf(`/reach/${host}/${port}`)) as { open: boolean }).open,
    sql: (statement) => kubectl("exec", "cairn-postgres-0", "--", "sh", "-c", PSQL, "sh", statement),
    databaseReaches: async (host, port) => {
      const script = `timeout 3 bash -c '</dev/tcp/${host}/${port}' 2>/dev/null && echo open || echo shut`;
      return (await kubectl("exec", "cairn-postgres-0", "--", "bash", "-c", script)).trim() === "open";
    },
    kubectl,
    async remove() {
      await kubectl("delete", "namespace", namespace, "--ignore-not-found", "--wait=false");
      await rm(directory, { recursive: true, force: true });
    },
  };
  return live;
}

function planOf(cluster: LiveCluster, namespace: string, configuration: string): KubernetesPlan {
  return kubernetesPlan({
    kubeconfig: cluster.kubeconfig,
    context: cluster.context,
    namespace,
    nodes: [
      nodePlan({
        image: { id: null, digest: null, reference: cluster.nodeImage, version: "0.1.0", revision: null },
        files: [
          { path: "/etc/cairn/cairn.yaml", content: configuration },
          { path: "/etc/cairn/seed/workspace/a b.md", content: "odd\n" },
          { path: "/etc/cairn/seed/workspace/stand-in.cjs", content: STAND_IN },
        ],
        secretVariables: ["SERVICE_API_TOKEN", "SERVICE_PG_URL"],
        environment: { NODE_OPTIONS: "--require=/etc/cairn/seed/workspace/stand-in.cjs" },
        stopTimeoutS: 5,
      }),
    ],
    postgres: { image: cluster.postgresImage, limits: { memoryBytes: null, cpus: null }, publish: null },
    storageBytes: 32 * MIB,
    databaseBytes: 256 * MIB,
    requests: { memoryBytes: 64 * MIB, cpus: 0.02 },
    podLimits: { memoryBytes: 512 * MIB, cpus: 1 },
  });
}
