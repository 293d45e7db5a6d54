/**
 * A stack on a live cluster, deployed by the operations of `infra`: PostgreSQL, and nodes that stand-in-node.cjs plays. Its plan
 * is made by hand; edits of cairn.yaml change that.
 */

import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import type { DatabaseServers, TargetDriver } from "../../../control/deploy/driver.ts";
import { defaultServices } from "../../../control/deploy/operations/default-services.ts";
import type { OperationInput } from "../../../control/deploy/operations/services.ts";
import { directoryData } from "../../../infra/plan/names.ts";
import type { KubernetesPlan } from "../../../infra/plan/types.ts";
import { resolveDirectories } from "../../../runtime/config/index.ts";
import { kubectlProgram } from "./binaries.ts";
import type { LiveCluster } from "./live-cluster.ts";
import { kubernetesPlan, nodePlan, secretValues } from "./plans.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const STAND_IN = new URL("./stand-in-node.cjs", import.meta.url);
const MIB = 1024 ** 2;
export const WANTED = "as the test wants it";

/** A step that is made to fail after it was done. */
export type FailingStep = keyof DatabaseServers | "setDatabase" | "copyData" | "archiveData";

export interface OperatedCluster {
  plan: KubernetesPlan;
  failing: FailingStep | undefined;
  readonly dir: string;
  run(): OperationInput;
  kubectl(...args: string[]): Promise<string>;
  /** As the superuser, in the pod of PostgreSQL. */
  sql(text: string): Promise<string>;
  remove(): Promise<void>;
}

/** Not deployed yet. Every node runs the one agent, so that each may go. */
export async function prepareOperatedCluster(cluster: LiveCluster, names: readonly string[]): Promise<OperatedCluster> {
  const program = kubectlProgram();
  const namespace = `cairn-test-${randomBytes(4).toString("hex")}`;
  const dir = await mkdtemp(join(tmpdir(), "cairn-operated-"));
  const path = process.env.PATH ?? "";
  // The cluster's own kubectl, not whichever the machine has.
  process.env.PATH = `${dirname(program)}:${path}`;
  const script = await readFile(STAND_IN, "utf8");
  const kubectl = async (...args: string[]) => {
    const where = [`--kubeconfig=${cluster.kubeconfig}`, `--context=${cluster.context}`, `--namespace=${namespace}`];
    return (await execa(program, [...where, ...args])).stdout;
  };
  const operated: OperatedCluster = {
    plan: kubernetesPlan({
      kubeconfig: cluster.kubeconfig,
      context: cluster.context,
      namespace,
      nodes: names.map((name) =>
        nodePlan({
          name,
          agents: ["everywhere"],
          image: { id: null, digest: null, reference: cluster.nodeImage, version: "0.1.0", revision: null },
          files: [
            { path: "/etc/cairn/cairn.yaml", content: "version: 1\n" },
            { path: "/etc/cairn/seed/workspace/a b.md", content: "odd\n" },
            { path: "/etc/cairn/seed/workspace/stand-in.cjs", content: script },
          ],
          secretVariables: ["SERVICE_API_TOKEN", "SERVICE_PG_URL"],
          environment: { NODE_OPTIONS: "--require=/etc/cairn/seed/workspace/stand-in.cjs" },
          stopTimeoutS: 5,
        }),
      ),
      postgres: { image: cluster.postgresImage, limits: { memoryBytes: null, cpus: null }, publish: null },
      storageBytes: 32 * MIB,
      databaseBytes: 256 * MIB,
      requests: { memoryBytes: 64 * MIB, cpus: 0.02 },
      podLimits: { memoryBytes: 512 * MIB, cpus: 1 },
    }),
    failing: undefined,
    dir,
    run: () => runOf(operated, dir),
    kubectl,
    sql: (text) =>
      kubectl("exec", "cairn-postgres-0", "--", "psql", "-XqAt", "-U", "postgres", "-d", "cairn", "-c", text),
    async remove() {
      process.env.PATH = path;
      await kubectl("delete", "namespace", namespace, "--ignore-not-found", "--wait=false");
      await rm(dir, { recursive: true, force: true });
    },
  };
  return operated;
}

/** As the commands call the operations, but for the plan, which no cairn.yaml is read for. */
function runOf(operated: OperatedCluster, dir: string): OperationInput {
  const deployment = resolveDirectories({ flags: { dir }, env: { SERVICE_HOME: join(dir, "home") }, cwd: dir });
  const real = defaultServices({ deployment, root: ROOT, prompts: null });
  return {
    dir,
    services: {
      ...real,
      backup: async () => "backups/none",
      // The stand-in has no API.
      nodes: {
        call: () => Promise.reject(new Error("no node is called here")),
        gate: async () => undefined,
        pause: async () => undefined,
        resume: async () => undefined,
      },
      configuration: {
        ...real.configuration,
        async setDatabase({ image, data }) {
          const { plan } = operated;
          const changed = { image, data: directoryData(plan.stack, data.value) };
          operated.plan = { ...plan, postgres: plan.postgres && { ...plan.postgres, ...changed } };
          if (operated.failing === "setDatabase") throw new Error(WANTED);
        },
        async removeNode(name) {
          operated.plan = { ...operated.plan, nodes: operated.plan.nodes.filter((node) => node.name !== name) };
        },
        async renameNode(from, to) {
          const nodes = operated.plan.nodes.map((node) => (node.name === from ? { ...node, name: to } : node));
          operated.plan = { ...operated.plan, nodes };
        },
      },
      async createDriver(project) {
        return thatFails(await real.createDriver(project), operated.failing);
      },
      readProject: async () => ({
        dir,
        plan: operated.plan,
        secrets: secretValues(),
        certificate: null,
        warnings: [],
        redactValues: [],
      }),
    },
    onEvent: () => undefined,
    signal: new AbortController().signal,
    killSignal: new AbortController().signal,
  };
}

function thatFails(driver: TargetDriver, step: FailingStep | undefined): TargetDriver {
  if (step === undefined || step === "setDatabase") return driver;
  const failingAt = <T extends object>(holder: T, name: keyof T): T => {
    // Whatever the step is called with, it is called with that.
    const act = holder[name] as (...args: unknown[]) => unknown;
    const fail = async (...args: unknown[]): Promise<never> => {
      await act(...args);
      throw new Error(WANTED);
    };
    return { ...holder, [name]: fail };
  };
  if (step === "copyData" || step === "archiveData") return failingAt(driver, step);
  return driver.database === undefined ? driver : { ...driver, database: failingAt(driver.database, step) };
}
