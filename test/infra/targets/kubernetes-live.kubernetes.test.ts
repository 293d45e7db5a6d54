/**
 * The target on a cluster that runs pods, with the real engine and the real provider: what is applied runs, applying it again
 * changes nothing, a setting changes what it should and no more, and the data outlive `destroy`.
 */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lacks } from "../../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { kubectlProgram } from "../../support/kubernetes/binaries.ts";
import { type LiveCluster, useLiveCluster } from "../../support/kubernetes/live-cluster.ts";
import { type LiveStack, makeLiveStack } from "../../support/kubernetes/live-stack.ts";
import { secretValues } from "../../support/kubernetes/plans.ts";

const signal = new AbortController().signal;

describe.skipIf(lacks("live-cluster", "pulumi-kubernetes"))("on a live cluster", () => {
  let cluster: LiveCluster;
  let live: LiveStack;
  beforeAll(async () => {
    cluster = await useLiveCluster();
    live = await makeLiveStack(cluster, kubectlProgram(), signal);
  }, IMAGES_TIMEOUT_MS);
  afterAll(async () => {
    await live?.remove();
    await cluster?.stop();
  });

  it("makes nothing where the context does not exist, also without a preflight", async () => {
    const right = live.plan;
    live.plan = { ...right, context: "no-such-context" };
    const findings = await live.driver().preflight(signal);
    expect(findings).toContainEqual(expect.objectContaining({ severity: "error", code: "INFRA_CONTEXT_UNKNOWN" }));
    await expect(live.stack.up({ color: "never" })).rejects.toThrow();
    expect(live.state()).not.toContain("kubernetes:core");
    live.plan = right;
  });

  it("runs what was applied: probes, files, claims, a locked root, a database", async () => {
    expect((await live.driver().preflight(signal)).filter(({ severity }) => severity === "error")).toEqual([]);
    await live.driver().prepare?.(() => {}, signal);
    await live.up();
    expect(await live.driver().observe(signal)).toEqual([
      expect.objectContaining({ name: "main", state: "running", health: "healthy" }),
    ]);
    const state = await live.ask();
    expect(state).toMatchObject({
      starts: 1,
      configuration: "version: 1\n",
      unusual: "odd\n",
      owners: [0, 0],
      mode: "440",
      user: [1000, 0],
      rootWritable: false,
      token: false,
    });
    const database = `postgres://cairn:${live.password}@cairn-postgres:5432/cairn?sslmode=verify-ca`;
    expect(state.env).toContain(`SERVICE_PG_URL='${database}`);
    await live.sql("create table kept (word text)");
    await live.sql("insert into kept values ('still here')");
  });

  it("lets a node reach the database", async () => {
    // The network learns of a new pod a moment after its status tells.
    await expect.poll(() => live.nodeReaches("cairn-postgres", 5432)).toBe(true);
  });

  it.skipIf(lacks("network-policies"))("lets the database reach nobody, not even itself by its Service", async () => {
    expect(await live.databaseReaches("cairn-main", 7433)).toBe(false);
    expect(await live.databaseReaches("cairn-postgres", 5432)).toBe(false);
    expect(await live.databaseReaches("127.0.0.1", 5432)).toBe(true);
  });

  it("changes nothing when it is applied again, and refresh finds nothing either", async () => {
    expect(Object.keys((await live.stack.preview({ color: "never" })).changeSummary)).toEqual(["same"]);
    expect(Object.keys(await live.up())).toEqual(["same"]);
    const refreshed = await live.stack.refresh({ color: "never" });
    expect(Object.keys(refreshed.summary.resourceChanges ?? {})).toEqual(["same"]);
    expect(await live.ask()).toMatchObject({ starts: 1 });
  });

  it("keeps secrets out of the state and of the outputs", async () => {
    // The file: what the engine exports is decrypted.
    const state = live.state();
    expect(state).toContain("home-cairn-main-0");
    const outputs = JSON.stringify(await live.stack.outputs());
    for (const value of [live.password, secretValues().variables.SERVICE_API_TOKEN ?? "none"]) {
      expect(state).not.toContain(value);
      expect(state).not.toContain(Buffer.from(`${value}\n`).toString("base64"));
      expect(outputs).not.toContain(value);
    }
  });

  it("brings a changed setting to the pod, and changes nothing else", async () => {
    live.plan = live.configured("version: 1\nagents: {}\n");
    const preview = await live.stack.preview({ color: "never" });
    // The files, and the StatefulSet whose template has their mark.
    expect(preview.changeSummary).toMatchObject({ update: 2 });
    expect(Object.keys(preview.changeSummary).sort()).toEqual(["same", "update"]);
    await live.up();
    expect(await live.ask()).toMatchObject({ starts: 2, configuration: "version: 1\nagents: {}\n" });
  });

  it("finds its data again after destroy, which leaves claims and namespace", async () => {
    const before = await live.ask();
    await live.destroy();
    const kinds = "pods,services,configmaps,secrets,statefulsets";
    expect(await live.kubectl("get", kinds, "-l", "app.kubernetes.io/instance=cairn", "-o", "name")).toBe("");
    expect((await live.driver().existingData(signal)).map(({ name }) => name).sort()).toEqual([
      "data-cairn-postgres-0",
      "home-cairn-main-0",
      "workspace-cairn-main-0",
    ]);
    await live.up();
    expect(await live.ask()).toMatchObject({ starts: before.starts + 1 });
    expect(await live.sql("select word from kept")).toBe("still here");
  });
});
