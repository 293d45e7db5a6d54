/**
 * The driver against a real API server and the real controllers: what it finds out before, how it brings pods to what was
 * applied, and that a StatefulSet that is stuck on a bad revision comes back.
 */

import { execa } from "execa";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Finding } from "../../../../../control/deploy/driver.ts";
import { createKubernetesDriver } from "../../../../../control/deploy/drivers/kubernetes/driver.ts";
import { newestOf, readPartLog } from "../../../../../control/logs/part-log.ts";
import type { KubernetesPlan } from "../../../../../infra/plan/types.ts";
import { EVENTUALLY_MS } from "../../../../lanes/patience.ts";
import { type Cluster, startCluster } from "../../../../support/kubernetes/cluster.ts";
import { declare, kubernetesPlan, nodePlan, secretValues } from "../../../../support/kubernetes/plans.ts";
import { type PlayedKubelet, playKubelet } from "../../../../support/kubernetes/played-kubelet.ts";

const PACE = { pollMs: 200, patienceMs: 1_500, startMs: 60_000 };
const signal = new AbortController().signal;
let cluster: Cluster;
let kubelet: PlayedKubelet;
let number = 0;
let plan: KubernetesPlan;
let reported: string[];

beforeAll(async () => {
  cluster = await startCluster();
}, 900_000);
afterAll(async () => {
  await kubelet?.stop();
  await cluster?.stop();
});
beforeEach(async () => {
  await kubelet?.stop();
  number += 1;
  reported = [];
  plan = kubernetesPlan({ kubeconfig: cluster.kubeconfig, context: "fleet", namespace: `run-${number}` });
  kubelet = playKubelet(cluster, plan.namespace);
});

const driverOf = (of: KubernetesPlan) =>
  createKubernetesDriver(of, secretValues(), { program: cluster.kubectlPath, pace: PACE });
const reconcile = (of: KubernetesPlan, released?: ReadonlySet<string>) =>
  driverOf(of).reconcile?.((text) => reported.push(text), signal, released);
const errors = (findings: readonly Finding[]) => findings.filter(({ severity }) => severity === "error");

/** What the provider does with the graph: server-side apply, forced, under one manager. */
async function apply(of: KubernetesPlan): Promise<void> {
  await driverOf(of).prepare?.(() => {}, signal);
  const { resources } = await declare(of, secretValues(), { reveal: true });
  const items = resources.filter(({ type }) => type.startsWith("kubernetes:")).map(({ inputs }) => inputs);
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  await cluster.kubectl(["apply", "--server-side", "--force-conflicts", "--field-manager=engine", "-f", "-"], list);
}

const withNodes = (...nodes: Parameters<typeof nodePlan>[0][]): KubernetesPlan => ({
  ...plan,
  nodes: nodes.map((node) => nodePlan(node)),
});
const configured = (text: string) => [{ path: "/etc/cairn/cairn.yaml", content: text }];
const image = (name: string) => ({ id: null, digest: null, reference: name, version: "0.1.0", revision: null });

async function pods(): Promise<
  { name: string; uid: string; image: string; configuration: string; revision: string }[]
> {
  const { items } = JSON.parse(await cluster.kubectl(["get", "pods", "-n", plan.namespace, "-o", "json"]));
  return items.map(
    (pod: { metadata: Record<string, Record<string, string>>; spec: { containers: { image: string }[] } }) => ({
      name: pod.metadata.name,
      uid: pod.metadata.uid,
      image: pod.spec.containers[0]?.image,
      configuration: pod.metadata.annotations?.["cairn.dev/configuration"],
      revision: pod.metadata.labels?.["controller-revision-hash"],
    }),
  );
}

const partition = async (name = "cairn-main") =>
  Number(
    await cluster.kubectl([
      "get",
      "statefulset",
      name,
      "-n",
      plan.namespace,
      "-o",
      "jsonpath={.spec.updateStrategy.rollingUpdate.partition}",
    ]),
  );

describe("preflight", () => {
  it("finds nothing wrong with a cluster that is as it should be", async () => {
    await apply(plan);
    expect(errors(await driverOf(plan).preflight(signal))).toEqual([]);
  });

  it("names the contexts there are when the configured one is not among them, and asks nothing else", async () => {
    const findings = await driverOf({ ...plan, context: "flete" }).preflight(signal);
    expect(errors(findings)).toEqual([
      expect.objectContaining({ code: "INFRA_CONTEXT_UNKNOWN", hint: expect.stringContaining("fleet, guest") }),
    ]);
  });

  it("warns of a context that nobody configured", async () => {
    const findings = await driverOf({ ...plan, context: null }).preflight(signal);
    expect(findings).toContainEqual(
      expect.objectContaining({
        severity: "warning",
        code: "INFRA_CONTEXT_UNKNOWN",
        message: expect.stringContaining("fleet"),
      }),
    );
  });

  it("says what the context's user may not do", async () => {
    const [finding] = errors(await driverOf({ ...plan, context: "guest" }).preflight(signal));
    expect(finding).toMatchObject({
      code: "INFRA_FAILED",
      message: expect.stringContaining("statefulsets (get, create"),
    });
  });

  it("names the storage classes when the configured one is missing", async () => {
    const manifest = {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "slow" },
      provisioner: "x/y",
    };
    await cluster.kubectl(["apply", "-f", "-"], JSON.stringify(manifest));
    const [finding] = errors(await driverOf({ ...plan, storageClass: "fast" }).preflight(signal));
    expect(finding).toMatchObject({ code: "INFRA_PLAN_INVALID", hint: expect.stringContaining("slow") });
  });

  it("refuses to take over what belongs to something else", async () => {
    await driverOf(plan).prepare?.(() => {}, signal);
    await cluster.kubectl(["create", "service", "clusterip", "cairn-main", "--tcp=80", "-n", plan.namespace]);
    await cluster.kubectl(["create", "configmap", "cairn-mainly-other", "-n", plan.namespace]);
    const found = errors(await driverOf(plan).preflight(signal));
    expect(found).toEqual([
      expect.objectContaining({ code: "INFRA_UP_REFUSED", message: expect.stringContaining("Service cairn-main") }),
    ]);
  });

  it("refuses to shrink a claim", async () => {
    await apply({ ...plan, storageBytes: 20 * 1024 ** 3 });
    const found = errors(await driverOf(plan).preflight(signal));
    expect(found.map(({ message }) => message)).toContainEqual(expect.stringContaining("home-cairn-main-0 has 20Gi"));
    expect(errors(await driverOf({ ...plan, storageBytes: 20 * 1024 ** 3 }).preflight(signal))).toEqual([]);
  });
});

describe("prepare", () => {
  it("makes the namespace with restricted pod security, and leaves one alone that exists", async () => {
    await driverOf(plan).prepare?.(() => {}, signal);
    const read = async () => JSON.parse(await cluster.kubectl(["get", "namespace", plan.namespace, "-o", "json"]));
    expect((await read()).metadata.labels).toMatchObject({ "pod-security.kubernetes.io/enforce": "restricted" });
    await cluster.kubectl([
      "label",
      "namespace",
      plan.namespace,
      "pod-security.kubernetes.io/enforce=baseline",
      "--overwrite",
    ]);
    await driverOf(plan).prepare?.(() => {}, signal);
    expect((await read()).metadata.labels).toMatchObject({ "pod-security.kubernetes.io/enforce": "baseline" });
  });
});

describe("reconcile", () => {
  it("waits until every pod is ready, and changes nothing then", async () => {
    const fleet = withNodes({ replicas: 2 });
    await apply(fleet);
    await reconcile(fleet);
    const before = await pods();
    expect(before.map(({ name }) => name)).toEqual(["cairn-main-0", "cairn-main-1"]);
    await apply(fleet);
    await reconcile(fleet);
    expect(await pods()).toEqual(before);
    expect(await partition()).toBe(2);
  });

  it("brings a changed configuration to every pod and keeps the image", async () => {
    const before = withNodes({ replicas: 2, files: configured("version: 1\n") });
    await apply(before);
    await reconcile(before);
    const old = await pods();
    const after = withNodes({ replicas: 2, files: configured("version: 1\nagents: {}\n") });
    await apply(after);
    expect((await pods()).map(({ uid }) => uid)).toEqual(old.map(({ uid }) => uid));
    await reconcile(after);
    const now = await pods();
    expect(new Set(now.map(({ configuration }) => configuration)).size).toBe(1);
    expect(now[0]?.configuration).not.toBe(old[0]?.configuration);
    expect(now.map(({ image: of }) => of)).toEqual(old.map(({ image: of }) => of));
    expect(await partition()).toBe(2);
  });

  it("leaves a new image to the update while the old one works", async () => {
    const before = withNodes({ image: image("cairn:1") });
    await apply(before);
    await reconcile(before);
    const old = await pods();
    const after = withNodes({ image: image("cairn:2") });
    await apply(after);
    await reconcile(after);
    expect(await pods()).toEqual(old);
    expect(reported.join("\n")).toMatch(/cairn-main-0 keeps its image/);
  });

  it("names the command that brings a held image to the pods, and holds the next one again", async () => {
    const before = withNodes({ replicas: 2, image: image("cairn:1") });
    await apply(before);
    await reconcile(before);
    const after = withNodes({ replicas: 2, image: image("cairn:2") });
    await apply(after);
    await reconcile(after);
    expect(reported.join("\n")).toContain("`cairn infra up --roll`");
    expect((await pods()).map(({ image: of }) => of)).toEqual(["cairn:1", "cairn:1"]);
    // What that command does once it is the node's turn.
    await reconcile(after, new Set(["main"]));
    expect((await pods()).map(({ image: of }) => of)).toEqual(["cairn:2", "cairn:2"]);
    reported = [];
    await reconcile(after);
    expect(reported.join("\n")).not.toContain("keeps its image");
    expect(await partition()).toBe(2);
  });

  it("comes back from a first image that never worked", async () => {
    kubelet.decide(({ image: of }) => (of === "cairn:broken" ? "ImagePullBackOff" : "ready"));
    const bad = withNodes({ replicas: 2, image: image("cairn:broken") });
    await apply(bad);
    await expect(reconcile(bad)).rejects.toMatchObject({
      code: "INFRA_FAILED",
      message: expect.stringMatching(/cairn-main-\d does not become ready: its image cannot be pulled/),
    });
    const good = withNodes({ replicas: 2, image: image("cairn:good") });
    await apply(good);
    await reconcile(good);
    expect((await pods()).map(({ image: of }) => of)).toEqual(["cairn:good", "cairn:good"]);
    expect(await partition()).toBe(2);
  });

  it("stops at the first pod that a changed configuration breaks, and the next good one repairs it", async () => {
    const files = configured("version: 1\n");
    const first = withNodes({ replicas: 2, files });
    await apply(first);
    await reconcile(first);
    const old = await pods();
    kubelet.decide(({ annotations }) =>
      annotations["cairn.dev/configuration"] === old[0]?.configuration ? "ready" : "CrashLoopBackOff",
    );
    const bad = withNodes({ replicas: 2, files: configured("version: 1\nagents: {}\n") });
    await apply(bad);
    await expect(reconcile(bad)).rejects.toMatchObject({ message: expect.stringContaining("exit code 3") });
    const during = await pods();
    expect(during.find(({ name }) => name === "cairn-main-0")).toEqual(old.find(({ name }) => name === "cairn-main-0"));
    expect(await partition()).toBe(2);

    await apply(first);
    await reconcile(first);
    expect((await pods()).map(({ configuration }) => configuration)).toEqual(
      old.map(({ configuration }) => configuration),
    );
  });

  it("leads to a pod's log and to commands in it, and has kubectl's words where no kubelet answers", async () => {
    await apply(plan);
    await reconcile(plan);
    const node = { kind: "node", name: "main" } as const;
    const logs = await driverOf(plan).enter(node, { kind: "logs", lines: 5, follow: false, since: null }, signal);
    const read = () => newestOf(readPartLog(logs, "Node main", {}, signal), 5);
    // A pod that no machine has yet has written nothing.
    expect(await read()).toEqual([]);
    const target = { apiVersion: "v1", kind: "Node", name: "nowhere" };
    const binding = { apiVersion: "v1", kind: "Binding", metadata: { name: "cairn-main-0" }, target };
    const path = `/api/v1/namespaces/${plan.namespace}/pods/cairn-main-0/binding`;
    await cluster.kubectl(["create", "--raw", path, "-f", "-"], JSON.stringify(binding));
    await expect(read()).rejects.toMatchObject({
      code: "INFRA_FAILED",
      message: expect.stringMatching(/^The log of Node main cannot be read: .{10,}/),
    });
    const exec = await driverOf(plan).enter(node, { kind: "exec", argv: ["true"], terminal: false }, signal);
    const { exitCode, stderr } = await execa(exec.program, [...exec.args], { reject: false, input: "" });
    expect(exitCode).toBeGreaterThan(0);
    expect(stderr).not.toBe("");
  });

  it("says what the cluster has against a pod", async () => {
    await driverOf(plan).prepare?.(() => {}, signal);
    const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "none", namespace: plan.namespace } };
    await cluster.kubectl(["apply", "-f", "-"], JSON.stringify({ ...quota, spec: { hard: { pods: "0" } } }));
    await apply(plan);
    await expect(reconcile(plan)).rejects.toMatchObject({ message: expect.stringContaining("exceeded quota") });
  });

  it("sets the partition back when it is told to stop", async () => {
    const before = withNodes({ replicas: 2, files: configured("version: 1\n") });
    await apply(before);
    await reconcile(before);
    kubelet.decide(({ annotations: _ }) => "ready");
    const after = withNodes({ replicas: 2, files: configured("version: 1\nagents: {}\n") });
    await apply(after);
    const stop = new AbortController();
    const running = driverOf(after).reconcile?.(
      (text) => text.includes("taking") && stop.abort(new Error("stop")),
      stop.signal,
    );
    await expect(running).rejects.toThrow("stop");
    expect(await partition()).toBe(2);
  });
});

describe("one pod of a group at a time", () => {
  const token = (lease: number, command: number) => ({ fleet: "f", lease, command });
  const report = (text: string) => void reported.push(text);
  const rollout = (of: KubernetesPlan) => {
    const driver = driverOf(of);
    const { podRollout: rolled } = driver;
    if (rolled === undefined) throw new Error("the driver changes no pods");
    return {
      ...rolled,
      fence: (name: string, given: ReturnType<typeof token>) =>
        driver.fence(name, { token: given, stop: false }, signal),
      take: (name: string, to: string, given: ReturnType<typeof token>) =>
        rolled.change(name, { image: to, token: given, report }, signal),
    };
  };
  const images = async () => (await pods()).map(({ image: of }) => of);
  const three = (name: string) => withNodes({ replicas: 3, image: image(name) });

  async function started(): Promise<void> {
    await apply(three("cairn:1"));
    await reconcile(three("cairn:1"));
    await apply(three("cairn:2"));
  }

  it("takes what was applied, the highest ordinal first, and the others keep what they have", async () => {
    await started();
    const { order, before, observe, fence, take } = rollout(three("cairn:2"));
    expect(order("main")).toEqual(["cairn-main-2", "cairn-main-1", "cairn-main-0"]);
    expect(await before("cairn-main-1", signal)).toEqual(["cairn-main-2"]);
    await fence("cairn-main-2", token(1, 1));
    await take("cairn-main-2", "cairn:2", token(1, 1));
    expect(await images()).toEqual(["cairn:1", "cairn:1", "cairn:2"]);
    expect(await partition()).toBe(3);
    expect(await observe("cairn-main-2", signal)).toMatchObject({
      state: "running",
      health: "healthy",
      image: "cairn:2",
    });
    expect(await observe("cairn-main-1", signal)).toMatchObject({ health: "healthy", image: "cairn:1" });
    // What was done is not done again.
    const done = await pods();
    await take("cairn-main-2", "cairn:2", token(1, 1));
    expect(await pods()).toEqual(done);
  });

  it("is refused once a newer command was there, which takes back what the older one has let go on", async () => {
    await started();
    kubelet.decide(({ image: of }) => (of === "cairn:2" ? "CrashLoopBackOff" : "ready"));
    const { fence, take } = rollout(three("cairn:2"));
    await fence("cairn-main-2", token(1, 1));
    // A command line that was cut off in a step, further down than it ever goes.
    const lowered = JSON.stringify({ spec: { updateStrategy: { rollingUpdate: { partition: 0 } } } });
    await cluster.kubectl(["patch", "statefulset", "cairn-main", "-n", plan.namespace, "--type=merge", "-p", lowered]);
    await expect.poll(images, { timeout: EVENTUALLY_MS }).toEqual(["cairn:1", "cairn:1", "cairn:2"]);
    await fence("cairn-main-2", token(2, 1));
    expect(await partition()).toBe(3);
    kubelet.decide(() => "ready");
    await expect(take("cairn-main-2", "cairn:2", token(1, 1))).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    await expect(fence("cairn-main-2", token(1, 9))).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    await take("cairn-main-2", "cairn:2", token(2, 1));
    expect(await images()).toEqual(["cairn:1", "cairn:1", "cairn:2"]);
    // Of the other pods no newer command was seen, and of another database's fleet no number counts.
    await fence("cairn-main-1", token(1, 2));
    await fence("cairn-main-2", { ...token(1, 1), fleet: "g" });
  });

  it("is refused where somebody applied another image meanwhile", async () => {
    await started();
    const { fence, take } = rollout(three("cairn:2"));
    await fence("cairn-main-2", token(1, 1));
    await apply(three("cairn:3"));
    await expect(take("cairn-main-2", "cairn:2", token(1, 1))).rejects.toMatchObject({ code: "INFRA_LOCKED" });
    expect(await images()).toEqual(["cairn:1", "cairn:1", "cairn:1"]);
  });

  it("says why it does not start, and goes back from there while the others are not touched", async () => {
    await started();
    kubelet.decide(({ image: of }) => (of === "cairn:2" ? "CrashLoopBackOff" : "ready"));
    const { fence, take } = rollout(three("cairn:2"));
    await fence("cairn-main-2", token(1, 1));
    await expect(take("cairn-main-2", "cairn:2", token(1, 1))).rejects.toMatchObject({
      code: "INFRA_FAILED",
      message: expect.stringMatching(/cairn-main-2 does not become ready: it ends again and again/),
    });
    expect(await partition()).toBe(3);
    const others = (await pods()).slice(0, 2);
    await apply(three("cairn:1"));
    await fence("cairn-main-2", token(1, 2));
    await take("cairn-main-2", "cairn:1", token(1, 2));
    expect(await images()).toEqual(["cairn:1", "cairn:1", "cairn:1"]);
    expect((await pods()).slice(0, 2)).toEqual(others);
    expect(await partition()).toBe(3);
  });

  it("is the node itself where the node is one pod", async () => {
    const one = withNodes({ image: image("cairn:1") });
    await apply(one);
    await reconcile(one);
    await apply(withNodes({ image: image("cairn:2") }));
    const { order, fence, take } = rollout(one);
    expect(order("main")).toEqual(["main"]);
    await fence("main", token(1, 1));
    await take("main", "cairn:2", token(1, 1));
    expect(await images()).toEqual(["cairn:2"]);
    expect(await partition()).toBe(1);
  });
});

describe("what stands there", () => {
  it("tells of nodes and data, and deletes data only", async () => {
    const fleet = withNodes({ name: "main" }, { name: "gone" });
    expect(await driverOf(fleet).existingData(signal)).toEqual([]);
    expect((await driverOf(fleet).observe(signal)).map(({ state }) => state)).toEqual(["missing", "missing"]);

    await apply(plan);
    await reconcile(plan);
    expect(await driverOf(fleet).observe(signal)).toEqual([
      expect.objectContaining({ name: "main", state: "running", health: "healthy", image: nodePlan().image?.digest }),
      expect.objectContaining({ name: "gone", state: "missing", health: "unknown", image: null }),
    ]);
    kubelet.decide(() => "CrashLoopBackOff");
    await expect
      .poll(async () => (await driverOf(plan).observe(signal))[0])
      .toMatchObject({
        health: "unhealthy",
        reason: expect.stringContaining("exit code 3"),
      });

    const data = await driverOf(fleet).existingData(signal);
    expect(data).toEqual([
      { name: "home-cairn-main-0", place: plan.namespace, stack: "cairn" },
      { name: "workspace-cairn-main-0", place: plan.namespace, stack: "cairn" },
    ]);
    expect(await driverOf(plan).findInterrupted("kubernetes:apps/v1:StatefulSet", "cairn-main", signal)).toBe(
      `${plan.namespace}/cairn-main`,
    );
    expect(await driverOf(plan).findInterrupted("kubernetes:core/v1:Secret", "cairn-other-env", signal)).toBeNull();

    await cluster.kubectl(["delete", "statefulset", "cairn-main", "-n", plan.namespace, "--cascade=foreground"]);
    expect(await driverOf(plan).existingData(signal)).toEqual(data);
    await driverOf(plan).deleteData(data, signal);
    expect(await driverOf(plan).existingData(signal)).toEqual([]);
    await cluster.kubectl(["get", "namespace", plan.namespace]);
  });
});
