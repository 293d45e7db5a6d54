/**
 * What was changed by hand in a cluster: seen by status and preview, brought back by the same `up`. The operations of `infra`, the real
 * engine and provider, a real API server and its controllers; what a kubelet would say is played.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { preview } from "../../../control/deploy/operations/preview.ts";
import type { OperationInput } from "../../../control/deploy/operations/services.ts";
import { status } from "../../../control/deploy/operations/status.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import type { KubernetesPlan } from "../../../infra/plan/types.ts";
import { lacks } from "../../lanes/tools.ts";
import { type Cluster, startCluster } from "../../support/kubernetes/cluster.ts";
import { plannedRun } from "../../support/kubernetes/planned-run.ts";
import { kubernetesPlan } from "../../support/kubernetes/plans.ts";
import { type PlayedKubelet, playKubelet } from "../../support/kubernetes/played-kubelet.ts";

const UP = { node: undefined, image: undefined, adopt: true, yes: true } as const;

describe.skipIf(lacks("pulumi-kubernetes"))("a stack on Kubernetes, changed by hand", () => {
  let cluster: Cluster;
  let kubelet: PlayedKubelet;
  let plan: KubernetesPlan;
  let dir: string;
  const path = process.env.PATH ?? "";

  const run = (): OperationInput => plannedRun({ dir, plan, program: cluster.kubectlPath });
  const kubectl = (...args: string[]) => cluster.kubectl(["--namespace", plan.namespace, ...args]);
  const found = (drift: readonly { kind: string; name: string }[]) =>
    drift.map(({ kind, name }) => `${kind} ${name}`).sort();

  beforeAll(async () => {
    cluster = await startCluster();
    process.env.PATH = `${dirname(cluster.kubectlPath)}:${path}`;
    dir = mkdtempSync(join(tmpdir(), "cairn-drift-"));
    plan = kubernetesPlan({ kubeconfig: cluster.kubeconfig, context: "fleet", namespace: "drift" });
    kubelet = playKubelet(cluster, plan.namespace);
    expect(await up(run(), UP)).toMatchObject({ healthy: true });
  }, 900_000);
  afterAll(async () => {
    process.env.PATH = path;
    await kubelet?.stop();
    await cluster?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it("is shown with all its parts, and nothing is found", async () => {
    const result = await status(run());
    expect(result).toMatchObject({ healthy: true, nodes: [{ name: "main", state: "running", health: "healthy" }] });
    expect(result.parts.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["Service/cairn-main", "ConfigMap/cairn-main-files-0", "home-cairn-main-0"]),
    );
    expect(result.parts.filter(({ state }) => state === "missing")).toEqual([]);
    expect(await up(run(), UP)).toMatchObject({ changes: [], drift: [] });
  });

  it.each<[string, () => Promise<unknown>, string[]]>([
    [
      "a Service and a Secret removed",
      () => kubectl("delete", "service/cairn-main", "secret/cairn-main-env"),
      ["missing Secret/cairn-main-env", "missing Service/cairn-main"],
    ],
    ["a StatefulSet removed", () => kubectl("delete", "statefulset", "cairn-main"), ["missing cairn-main"]],
    [
      "a StatefulSet scaled to nothing",
      () => kubectl("scale", "statefulset", "cairn-main", "--replicas=0"),
      ["stopped cairn-main"],
    ],
  ])("%s comes back with the same up", async (_words, change, expected) => {
    await change();
    expect(await status(run())).toMatchObject({ healthy: false });
    const shown = await preview(run());
    expect(found(shown.drift)).toEqual(expected);
    expect(shown.changes.length).toBeGreaterThan(0);
    expect(await up(run(), UP)).toMatchObject({ healthy: true });
    expect(await preview(run())).toMatchObject({ changes: [], drift: [] });
    expect(await status(run())).toMatchObject({ healthy: true });
  });

  it("has an edited setting among the changes, which up brings back", async () => {
    await kubectl("patch", "pdb", "cairn-nodes", "--type=merge", '--patch={"spec":{"maxUnavailable":0}}');
    const { changes } = await preview(run());
    expect(changes).toMatchObject([
      { op: "update", name: "cairn-nodes", type: "kubernetes:policy/v1:PodDisruptionBudget" },
    ]);
    await up(run(), UP);
    expect(await kubectl("get", "pdb", "cairn-nodes", "-o", "jsonpath={.spec.maxUnavailable}")).toBe("1");
  });
});
