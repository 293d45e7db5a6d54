/**
 * An API server that accepts connections and says nothing, before a command and in its middle: said in bounded time, and the same
 * command finishes it. The operations of `infra`, the real engine and provider, a real API server; what a kubelet would say is played.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { destroy } from "../../../control/deploy/operations/destroy.ts";
import { preview } from "../../../control/deploy/operations/preview.ts";
import type { OperationInput } from "../../../control/deploy/operations/services.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import type { InfraEvent } from "../../../control/deploy/schemas.ts";
import type { KubernetesPlan } from "../../../infra/plan/types.ts";
import { lacks } from "../../lanes/tools.ts";
import { type StalledPort, startStalledPort } from "../../support/faults/stalled-port.ts";
import { type Cluster, startCluster } from "../../support/kubernetes/cluster.ts";
import { plannedRun } from "../../support/kubernetes/planned-run.ts";
import { kubernetesPlan } from "../../support/kubernetes/plans.ts";
import { type PlayedKubelet, playKubelet } from "../../support/kubernetes/played-kubelet.ts";

const UP = { node: undefined, image: undefined, adopt: true, yes: true } as const;
const DESTROY = { yes: true, deleteData: false, confirm: undefined, backupTaken: undefined } as const;
/** Of a test: looks at a cluster that is silent take minutes. */
const LONG_MS = 1_800_000;

/** One sentence about the cluster, and what helps. */
const SAID = {
  code: "INFRA_HOST_UNREACHABLE",
  message: expect.stringMatching(/cluster/),
  details: { hint: expect.stringMatching(/See whether/) },
};

describe.skipIf(lacks("pulumi-kubernetes"))("a cluster that is silent", () => {
  let cluster: Cluster;
  let proxy: StalledPort;
  let kubelet: PlayedKubelet;
  let plan: KubernetesPlan;
  let dir: string;
  const path = process.env.PATH ?? "";

  const run = (onEvent: (event: InfraEvent) => void = () => undefined): OperationInput =>
    plannedRun({ dir, plan, program: cluster.kubectlPath, onEvent });
  /** What a command says whose cluster falls silent as soon as it has said this. */
  const stalledAt = async (words: string, work: (run: OperationInput) => Promise<unknown>): Promise<unknown> => {
    let fell = false;
    const falling = run((event) => {
      if (!JSON.stringify(event).includes(words)) return;
      fell = true;
      proxy.silence();
    });
    const error = await work(falling).catch((thrown: unknown) => thrown);
    proxy.speak();
    expect(fell, words).toBe(true);
    return error;
  };

  beforeAll(async () => {
    cluster = await startCluster();
    process.env.PATH = `${dirname(cluster.kubectlPath)}:${path}`;
    dir = mkdtempSync(join(tmpdir(), "cairn-silent-"));
    const direct = readFileSync(cluster.kubeconfig, "utf8");
    const [address = "", port = ""] = /https:\/\/127\.0\.0\.1:(\d+)/.exec(direct) ?? [];
    proxy = await startStalledPort({ host: "127.0.0.1", port: Number(port) });
    const kubeconfig = join(dir, "kubeconfig");
    writeFileSync(kubeconfig, direct.replace(address, `https://127.0.0.1:${proxy.port}`), { mode: 0o600 });
    plan = kubernetesPlan({ kubeconfig, context: "fleet", namespace: "silent" });
    kubelet = playKubelet(cluster, plan.namespace);
  }, 900_000);
  afterAll(async () => {
    process.env.PATH = path;
    proxy?.stop();
    await kubelet?.stop();
    await cluster?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it("is said before anything is begun", { timeout: LONG_MS }, async () => {
    proxy.silence();
    await expect(preview(run())).rejects.toMatchObject(SAID);
    await expect(up(run(), UP)).rejects.toMatchObject(SAID);
    proxy.speak();
  });

  it("is said in the middle of an up, and the same command finishes it", { timeout: LONG_MS }, async () => {
    expect(await stalledAt(`"op":"create","state":"done"`, (given) => up(given, UP))).toMatchObject(SAID);
    expect(await up(run(), UP)).toMatchObject({ healthy: true });
    expect(await preview(run())).toMatchObject({ changes: [], drift: [] });
  });

  it("is said where the nodes start, and the same command finishes it", { timeout: LONG_MS }, async () => {
    plan = { ...plan, nodes: plan.nodes.map((node) => ({ ...node, environment: { ...node.environment, A: "1" } })) };
    expect(await stalledAt(`"phase":"settle"`, (given) => up(given, UP))).toMatchObject(SAID);
    expect(await up(run(), UP)).toMatchObject({ healthy: true });
    expect(await preview(run())).toMatchObject({ changes: [], drift: [] });
  });

  it("is said by a destroy, before it and in its middle, and the same command finishes it", {
    timeout: LONG_MS,
  }, async () => {
    proxy.silence();
    await expect(destroy(run(), DESTROY)).rejects.toMatchObject(SAID);
    proxy.speak();
    expect(await stalledAt(`"op":"delete","state":"done"`, (given) => destroy(given, DESTROY))).toMatchObject(SAID);
    await destroy(run(), DESTROY);
    expect(await cluster.kubectl(["--namespace", plan.namespace, "get", "statefulsets", "--output=name"])).toBe("");
  });
});
