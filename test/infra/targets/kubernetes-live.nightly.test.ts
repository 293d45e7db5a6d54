/** Faults on a cluster that runs pods, with the real engine and provider: an image that is nowhere, a state that is lost. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lacks } from "../../lanes/tools.ts";
import { IMAGES_TIMEOUT_MS } from "../../support/docker/images.ts";
import { kubectlProgram } from "../../support/kubernetes/binaries.ts";
import { type LiveCluster, useLiveCluster } from "../../support/kubernetes/live-cluster.ts";
import { type LiveStack, makeLiveStack } from "../../support/kubernetes/live-stack.ts";

const signal = new AbortController().signal;

describe.skipIf(lacks("live-cluster", "pulumi-kubernetes"))("on a live cluster", () => {
  let cluster: LiveCluster;
  let live: LiveStack;
  beforeAll(async () => {
    cluster = await useLiveCluster();
    live = await makeLiveStack(cluster, kubectlProgram(), signal);
    await live.driver().prepare?.(() => {}, signal);
  }, IMAGES_TIMEOUT_MS);
  afterAll(async () => {
    await live?.remove();
    await cluster?.stop();
  });

  it("comes back from a first image that cannot be pulled", async () => {
    const good = live.plan;
    const [node] = good.nodes;
    if (node?.image === undefined || node.image === null) throw new Error("The plan has an image.");
    live.plan = { ...good, nodes: [{ ...node, image: { ...node.image, reference: "localhost:1/nobody/has-this:1" } }] };
    await expect(live.up({ pollMs: 500, patienceMs: 2_000, startMs: 120_000 })).rejects.toMatchObject({
      message: expect.stringContaining("its image cannot be pulled"),
    });
    live.plan = good;
    await live.up();
    expect((await live.driver().observe(signal))[0]).toMatchObject({ health: "healthy", image: node.image.reference });
    await live.sql("create table kept (word text)");
    await live.sql("insert into kept values ('still here')");
  });

  it("takes over what stands there when the state was lost, and stops nothing", async () => {
    const before = await live.ask();
    const state = await live.stack.exportStack();
    await live.stack.importStack({ ...state, deployment: { ...state.deployment, resources: [] } });
    await live.up();
    expect(await live.ask()).toMatchObject({ starts: before.starts });
    expect(await live.sql("select word from kept")).toBe("still here");
  });

  it("undoes by the next up what somebody changed by hand", async () => {
    await live.kubectl(
      "patch",
      "service",
      "cairn-main",
      "--type=merge",
      '--patch={"spec":{"publishNotReadyAddresses":true}}',
    );
    await live.kubectl("patch", "pdb", "cairn-nodes", "--type=merge", '--patch={"spec":{"maxUnavailable":0}}');
    const { summary } = await live.stack.refresh({ color: "never" });
    expect(summary.resourceChanges).toHaveProperty("update");
    await live.up();
    expect(await live.kubectl("get", "pdb", "cairn-nodes", "-o", "jsonpath={.spec.maxUnavailable}")).toBe("1");
  });
});
