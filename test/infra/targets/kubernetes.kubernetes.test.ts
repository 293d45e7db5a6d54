/** Every manifest of the target before a real API server, with the Pod Security Standard `restricted` enforced. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Cluster, startCluster } from "../../support/kubernetes/cluster.ts";
import { COMBINATIONS, declare } from "../../support/kubernetes/plans.ts";

const NAMESPACE = "agents";
let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster();
  await cluster.kubectl(["create", "namespace", NAMESPACE]);
  await cluster.kubectl([
    "label",
    "namespace",
    NAMESPACE,
    "pod-security.kubernetes.io/enforce=restricted",
    "pod-security.kubernetes.io/warn=restricted",
  ]);
}, 900_000);

afterAll(() => cluster?.stop());

describe.each(Object.entries(COMBINATIONS))("the manifests of the plan %s", (_, { plan, secrets }) => {
  it("are taken by the API server, with strict fields and no warning", async () => {
    const { resources } = await declare(plan, secrets, { reveal: true });
    const objects = resources.filter(({ type }) => type.startsWith("kubernetes:")).map(({ inputs }) => inputs);
    expect(objects.length).toBeGreaterThan(8);
    const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
    const output = await cluster.kubectl(
      ["apply", "--server-side", "--dry-run=server", "--validate=strict", "--warnings-as-errors", "-f", "-"],
      list,
    );
    expect(output.split("\n")).toHaveLength(objects.length);
  });

  it("make pods that `restricted` lets in", async () => {
    const { resources } = await declare(plan, secrets, { reveal: true });
    const pods = resources.filter(({ type }) => type.endsWith(":StatefulSet")).map(podOf);
    expect(pods.length).toBeGreaterThan(0);
    const account = resources.find(({ type }) => type.endsWith(":ServiceAccount")) ?? fail();
    await cluster.kubectl(["apply", "--server-side", "-f", "-"], JSON.stringify(account.inputs));
    const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: pods });
    await cluster.kubectl(["create", "--dry-run=server", "-f", "-"], list);
  });
});

it("is really judged: a pod of the target with one privilege more is refused", async () => {
  const { resources } = await declare(COMBINATIONS.database?.plan ?? fail(), COMBINATIONS.database?.secrets ?? fail(), {
    reveal: true,
  });
  const pod = podOf(resources.find(({ type }) => type.endsWith(":StatefulSet")) ?? fail());
  const text = JSON.stringify(pod).replace('"runAsNonRoot":true', '"runAsNonRoot":false');
  await expect(cluster.kubectl(["create", "--dry-run=server", "-f", "-"], text)).rejects.toThrow(/PodSecurity/);
});

function podOf({ inputs, name }: { readonly inputs: Readonly<Record<string, unknown>>; readonly name: string }) {
  // The shape of a StatefulSet, as the target declares it.
  const { spec, metadata } = inputs as {
    spec: {
      template: { metadata: object; spec: { volumes: object[] } };
      volumeClaimTemplates: { metadata: { name: string } }[];
    };
    metadata: { namespace: string };
  };
  const claims = spec.volumeClaimTemplates.map(({ metadata: { name: volume } }) => ({
    name: volume,
    persistentVolumeClaim: { claimName: `${volume}-${name}-0` },
  }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...spec.template.metadata, name: `${name}-0`, namespace: metadata.namespace },
    spec: { ...spec.template.spec, volumes: [...spec.template.spec.volumes, ...claims] },
  };
}

function fail(): never {
  throw new Error("The test lacks what it is about.");
}
