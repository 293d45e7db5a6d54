/**
 * The target on a cluster that runs pods, with the real engine and the real provider: what is applied runs, applying it again
 * changes nothing, a setting changes what it should and no more, and the data outlive `destroy`.
 */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { secret } from "@pulumi/pulumi";
import { LocalWorkspace, type OpMap, type Stack } from "@pulumi/pulumi/automation/index.js";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createKubernetesDriver } from "../../../control/deploy/drivers/kubernetes/driver.ts";
import type { KubernetesPlan } from "../../../infra/plan/types.ts";
import { target } from "../../../infra/targets/kubernetes.ts";
import { kubernetesBinaries } from "../../support/kubernetes/binaries.ts";
import { findLiveCluster } from "../../support/kubernetes/live-cluster.ts";
import { kubernetesPlan, nodePlan, secretValues } from "../../support/kubernetes/plans.ts";

const { kubectl: program } = await kubernetesBinaries();
const live = findLiveCluster(program);
const STAND_IN = readFileSync(new URL("../../support/kubernetes/stand-in-node.cjs", import.meta.url), "utf8");
const signal = new AbortController().signal;
const MIB = 1024 ** 2;

describe.skipIf("missing" in live)(`on a live cluster${"missing" in live ? ` (${live.missing})` : ""}`, () => {
  if ("missing" in live) return;
  const { cluster } = live;
  const namespace = `cairn-test-${randomBytes(4).toString("hex")}`;
  const password = randomBytes(12).toString("hex");
  const told: string[] = [];
  let directory: string;
  let stack: Stack;
  let plan: KubernetesPlan;

  const kubectl = async (...args: string[]) => {
    const where = [`--kubeconfig=${cluster.kubeconfig}`, `--context=${cluster.context}`, `--namespace=${namespace}`];
    return (await execa(program, [...where, ...args])).stdout;
  };
  const configured = (configuration: string, over: Partial<KubernetesPlan> = {}): KubernetesPlan =>
    kubernetesPlan({
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
      postgres: { image: cluster.postgresImage, publish: null },
      storageBytes: 32 * MIB,
      databaseBytes: 256 * MIB,
      requests: { memoryBytes: 64 * MIB, cpus: 0.02 },
      podLimits: { memoryBytes: 512 * MIB, cpus: 1 },
      ...over,
    });
  const driver = () => createKubernetesDriver(plan, secretValues(), { program });
  const up = async (): Promise<OpMap> => {
    const { summary } = await stack.up({ color: "never" });
    await driver().settle?.((text) => told.push(text), signal);
    return summary.resourceChanges ?? {};
  };
  const ask = async () => {
    const connection = await driver().connect("main", signal);
    try {
      const response = await fetch(`${connection.url}/state`);
      // What stand-in-node.cjs tells.
      return (await response.json()) as Record<string, unknown> & { starts: number; env: string };
    } finally {
      await connection.close();
    }
  };
  const sql = (statement: string) =>
    kubectl(
      "exec",
      "cairn-postgres-0",
      "--",
      "sh",
      "-c",
      'PGPASSWORD=$(cat /etc/cairn-postgres/password) exec psql -h cairn-postgres -U cairn -d cairn -Atc "$1"',
      "sh",
      statement,
    );

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "cairn-live-"));
    plan = configured("version: 1\n");
    stack = await LocalWorkspace.createStack(
      {
        stackName: "live",
        projectName: "cairn",
        program: async () =>
          target({ plan, secrets: secretValues(), postgresPassword: secret(password), adopt: new Set() }),
      },
      {
        workDir: directory,
        projectSettings: { name: "cairn", runtime: "nodejs", backend: { url: `file://${directory}` } },
        envVars: { PULUMI_CONFIG_PASSPHRASE: "test", PULUMI_SKIP_UPDATE_CHECK: "true" },
      },
    );
  });

  afterAll(async () => {
    await kubectl("delete", "namespace", namespace, "--ignore-not-found", "--wait=false");
    await rm(directory, { recursive: true, force: true });
  });

  it("runs what was applied: probes, files, claims, a locked root, a database", async () => {
    expect((await driver().preflight(signal)).filter(({ severity }) => severity === "error")).toEqual([]);
    await driver().prepare?.(() => {}, signal);
    const changes = await up();
    expect(changes).not.toHaveProperty("update");
    expect(await driver().observe(signal)).toEqual([
      expect.objectContaining({ name: "main", state: "running", health: "healthy" }),
    ]);
    const state = await ask();
    expect(state).toMatchObject({
      starts: 1,
      configuration: "version: 1\n",
      odd: "odd\n",
      owners: [0, 0],
      mode: "440",
      user: [1000, 0],
      rootWritable: false,
      token: false,
    });
    expect(state.env).toContain(`SERVICE_PG_URL=postgres://cairn:${password}@cairn-postgres:5432/cairn`);
    expect(
      await sql("create table kept (word text); insert into kept values ('still here'); select word from kept"),
    ).toContain("still here");
  });

  it("changes nothing when it is applied again, and preview and refresh see nothing to do", async () => {
    const preview = await stack.preview({ color: "never" });
    expect(Object.keys(preview.changeSummary)).toEqual(["same"]);
    expect(Object.keys(await up())).toEqual(["same"]);
    const refreshed = await stack.refresh({ color: "never" });
    expect(Object.keys(refreshed.summary.resourceChanges ?? {})).toEqual(["same"]);
    expect(await ask()).toMatchObject({ starts: 1 });
  });

  it("keeps secrets out of the state and of the outputs", async () => {
    // The file: what the engine exports is decrypted.
    const state = readFileSync(join(directory, ".pulumi", "stacks", "cairn", "live.json"), "utf8");
    expect(state).toContain("home-cairn-main-0");
    const outputs = JSON.stringify(await stack.outputs());
    for (const value of [password, secretValues().variables.SERVICE_API_TOKEN ?? "none"]) {
      expect(state).not.toContain(value);
      expect(state).not.toContain(Buffer.from(value).toString("base64").slice(2, 18));
      expect(outputs).not.toContain(value);
    }
  });

  it("brings a changed setting to the pod, and changes nothing else", async () => {
    plan = configured("version: 1\nagents: {}\n");
    const preview = await stack.preview({ color: "never" });
    // The files, and the StatefulSet whose template has their mark.
    expect(preview.changeSummary).toMatchObject({ update: 2 });
    expect(preview.changeSummary).not.toHaveProperty("replace");
    await up();
    expect(await ask()).toMatchObject({ starts: 2, configuration: "version: 1\nagents: {}\n" });
  });

  it("comes back from an image that cannot be pulled", async () => {
    const good = plan;
    await stack.destroy({ color: "never", excludeProtected: true });
    const [node] = good.nodes;
    if (node?.image === undefined || node.image === null) throw new Error("The plan has an image.");
    plan = { ...good, nodes: [{ ...node, image: { ...node.image, reference: "localhost:1/nobody/has-this:1" } }] };
    await stack.up({ color: "never" });
    const settling = createKubernetesDriver(plan, secretValues(), {
      program,
      pace: { pollMs: 500, patienceMs: 2_000, startMs: 60_000 },
    }).settle?.(() => {}, signal);
    await expect(settling).rejects.toMatchObject({ message: expect.stringContaining("its image cannot be pulled") });
    plan = good;
    await up();
    expect((await driver().observe(signal))[0]).toMatchObject({ health: "healthy", image: node.image.reference });
  });

  it("finds its data again after destroy, which leaves claims and namespace", async () => {
    const before = await ask();
    await stack.destroy({ color: "never", excludeProtected: true });
    expect(
      await kubectl(
        "get",
        "pods,services,configmaps,secrets,statefulsets",
        "-l",
        "app.kubernetes.io/instance=cairn",
        "-o",
        "name",
      ),
    ).toBe("");
    expect((await driver().existingData(signal)).map(({ name }) => name).sort()).toEqual([
      "data-cairn-postgres-0",
      "home-cairn-main-0",
      "workspace-cairn-main-0",
    ]);
    await up();
    expect(await ask()).toMatchObject({ starts: before.starts + 1 });
    expect(await sql("select word from kept")).toBe("still here");
  });

  it("takes nothing of a stack whose state was lost", async () => {
    const before = await ask();
    const state = await stack.exportStack();
    await stack.workspace.importStack?.("live", { ...state, deployment: { ...state.deployment, resources: [] } });
    await up();
    expect(await ask()).toMatchObject({ starts: before.starts });
    expect(await sql("select word from kept")).toBe("still here");
  });
});
