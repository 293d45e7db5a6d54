/** What the Kubernetes target declares, on the mock engine: what is protected, what is secret, what is refused. */

import { BlockList } from "node:net";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { packFiles, secretsMark } from "../../../infra/components/kubernetes/files.ts";
import { quantityBytes, quantityText } from "../../../infra/components/kubernetes/quantity.ts";
import type { KubernetesNodePlan, KubernetesPlan } from "../../../infra/plan/types.ts";
import {
  COMBINATIONS,
  declare,
  kubernetesPlan,
  nodePlan,
  SECRET_VALUES,
  secretValues,
} from "../../support/kubernetes/plans.ts";

const declared = async (plan: KubernetesPlan, secrets = secretValues(), adopt: readonly string[] = []) =>
  (await declare(plan, secrets, { reveal: false, adopt })).resources;

async function statefulSet(plan: KubernetesPlan, name = "cairn-main", secrets = secretValues()) {
  const found = (await declared(plan, secrets)).find(
    (each) => each.type.endsWith(":StatefulSet") && each.name === name,
  );
  // The shape that this test reads of it.
  return found?.inputs as {
    spec: {
      template: { metadata: { annotations: Record<string, string> }; spec: { containers: Record<string, unknown>[] } };
      updateStrategy: unknown;
    };
  };
}
const marks = async (...args: Parameters<typeof statefulSet>) =>
  (await statefulSet(...args)).spec.template.metadata.annotations;

describe.each(Object.entries(COMBINATIONS))("the plan %s", (_name, { plan, secrets }) => {
  let found: Awaited<ReturnType<typeof declare>>;
  beforeAll(async () => {
    found = await declare(plan, secrets, { reveal: false });
  });
  const ofKind = (kind: string) => found.resources.filter(({ type }) => type.endsWith(`:${kind}`));

  it("shows no secret anywhere", () => {
    const text = JSON.stringify(found);
    for (const value of Object.values(SECRET_VALUES)) {
      expect(text).not.toContain(value);
      expect(text).not.toContain(Buffer.from(value).toString("base64").slice(0, -4));
    }
  });

  it("protects and keeps every claim, and nothing else", () => {
    const kept = found.resources.filter(({ protect, retainOnDelete }) => protect || retainOnDelete);
    expect(kept.every(({ protect, retainOnDelete }) => protect && retainOnDelete)).toBe(true);
    const claims = ofKind("PersistentVolumeClaim");
    expect(kept).toEqual(claims);
    expect(found.outputs.data.map((data) => data.name).sort()).toEqual(claims.map((claim) => claim.name).sort());
  });

  it("has a claim for every pod under the name that its StatefulSet looks for", () => {
    const claims = ofKind("PersistentVolumeClaim").map((each) => each.name);
    for (const { inputs, name: workload } of ofKind("StatefulSet")) {
      // The shape of a StatefulSet, as the target declares it.
      const { spec } = inputs as {
        spec: { replicas: number; volumeClaimTemplates: { metadata: { name: string } }[] };
      };
      for (let ordinal = 0; ordinal < spec.replicas; ordinal += 1) {
        for (const { metadata } of spec.volumeClaimTemplates)
          expect(claims).toContain(`${metadata.name}-${workload}-${ordinal}`);
      }
    }
  });

  it("declares no namespace: deleting one deletes the claims in it", () => {
    expect(ofKind("Namespace")).toEqual([]);
  });
});

describe("the cluster", () => {
  it("is named in full to the provider, which applies on the server", async () => {
    const plan = kubernetesPlan({ kubeconfig: "/k", context: "fleet" });
    const provider = (await declared(plan)).find(({ type }) => type === "pulumi:providers:kubernetes");
    expect(provider?.inputs).toMatchObject({
      kubeconfig: "/k",
      context: "fleet",
      namespace: "agents",
      enableServerSideApply: "true",
    });
  });
});

describe("the template's marks", () => {
  const plan = kubernetesPlan();
  const [node = nodePlan()] = plan.nodes;

  it("are the same for the same plan", async () => {
    expect(await marks(plan)).toEqual(await marks(structuredClone(plan)));
  });

  it("change with a file, and only the one of files", async () => {
    const files = [{ path: "/etc/cairn/cairn.yaml", content: "version: 1\n# changed\n" }];
    const [before, after] = [await marks(plan), await marks({ ...plan, nodes: [{ ...node, files }] })];
    expect(after["cairn.dev/configuration"]).not.toBe(before["cairn.dev/configuration"]);
    expect(after["cairn.dev/secrets"]).toBe(before["cairn.dev/secrets"]);
    expect(after["cairn.dev/image"]).toBe(before["cairn.dev/image"]);
  });

  it("change with a secret, and only the one of secrets", async () => {
    const other = secretValues({ variables: { SERVICE_API_TOKEN: "another" } });
    const [before, after] = [await marks(plan), await marks(plan, "cairn-main", other)];
    expect(after["cairn.dev/secrets"]).not.toBe(before["cairn.dev/secrets"]);
    expect(after["cairn.dev/configuration"]).toBe(before["cairn.dev/configuration"]);
  });

  it("tell two builds under one reference apart", async () => {
    const image = (id: string) => ({ id, digest: null, reference: "cairn:1", version: "0.1.0", revision: null });
    const of = (id: string) => marks({ ...plan, nodes: [{ ...node, image: image(id) }] });
    expect((await of("sha256:a"))["cairn.dev/image"]).not.toBe((await of("sha256:b"))["cairn.dev/image"]);
  });

  it("differ between stacks and nodes with the same secrets", () => {
    expect(secretsMark("A=1\n", "one", "main")).not.toBe(secretsMark("A=1\n", "two", "main"));
    expect(secretsMark("A=1\n", "one", "main")).not.toBe(secretsMark("A=1\n", "one", "back"));
  });
});

describe("a StatefulSet of nodes", () => {
  it("tells each pod its name where the configuration needs it", async () => {
    const env = async (over: Partial<KubernetesNodePlan>) => {
      const { spec } = await statefulSet(kubernetesPlan({ nodes: [nodePlan({ replicas: 3, ...over })] }));
      return spec.template.spec.containers[0]?.["env"];
    };
    const named = { name: "SERVICE_POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } };
    expect(await env({ podName: "SERVICE_POD_NAME" })).toContainEqual(named);
    expect(JSON.stringify(await env({}))).not.toContain("valueFrom");
  });

  it("has its partition at the number of its replicas, so that applying it touches no pod", async () => {
    const plan = kubernetesPlan({ nodes: [nodePlan({ replicas: 3 })] });
    expect((await statefulSet(plan)).spec.updateStrategy).toEqual({
      type: "RollingUpdate",
      rollingUpdate: { partition: 3 },
    });
  });

  it("never asks for more than its limit", async () => {
    const node = nodePlan({ limits: { memoryBytes: 256 * 1024 ** 2, cpus: 0.1 } });
    const [container] = (await statefulSet(kubernetesPlan({ nodes: [node] }))).spec.template.spec.containers;
    expect(container?.["resources"]).toEqual({
      requests: { memory: "256Mi", cpu: "100m", "ephemeral-storage": "128Mi" },
      limits: { memory: "256Mi", cpu: "100m", "ephemeral-storage": "1Gi" },
    });
  });
});

describe("a claim", () => {
  it("that is taken over keeps the storage class that it has", async () => {
    const plan = kubernetesPlan({ storageClass: "fast" });
    const classOf = async (adopt: readonly string[]) => {
      const claims = (await declared(plan, secretValues(), adopt)).filter(({ type }) => type.endsWith("VolumeClaim"));
      return Object.fromEntries(
        claims.map(({ name, inputs }) => [name, (inputs["spec"] as { storageClassName?: string }).storageClassName]),
      );
    };
    expect(await classOf(["home-cairn-main-0"])).toEqual({
      "home-cairn-main-0": undefined,
      "workspace-cairn-main-0": "fast",
    });
  });
});

describe("what is refused", () => {
  const rejected = (plan: KubernetesPlan, secrets = secretValues()) =>
    expect(declare(plan, secrets, { reveal: false })).rejects;

  it("a node without an image", () =>
    rejected(kubernetesPlan({ nodes: [nodePlan({ image: null })] })).toMatchObject({ code: "INFRA_IMAGE_MISSING" }));

  it("a name that is too long for a StatefulSet", () =>
    rejected(kubernetesPlan({ nodes: [nodePlan({ name: "n".repeat(50) })] })).toMatchObject({
      code: "INFRA_PLAN_INVALID",
    }));

  it("two nodes whose Services would share a name", () =>
    rejected(kubernetesPlan({ nodes: [nodePlan({ name: "a" }), nodePlan({ name: "a-pods" })] })).toMatchObject({
      code: "INFRA_PLAN_INVALID",
      message: expect.stringContaining("cairn-a-pods"),
    }));

  it("a variable without a value", () =>
    rejected(kubernetesPlan(), secretValues({ variables: {} })).toMatchObject({
      code: "INFRA_PLAN_INVALID",
      message: expect.stringContaining("SERVICE_API_TOKEN"),
    }));

  it.each(["/etc/passwd", "/etc/cairn/../passwd", "/etc/cairn/.env", "/etc/cairn/a/", "/etc/cairn//a"])(
    "a file at %s",
    (path) => expect(() => packFiles([{ path, content: "" }])).toThrow(/INFRA|path|secrets file/),
  );

  it("a file that no ConfigMap holds", () => {
    const file = { path: "/etc/cairn/seed/workspace/big", content: "x".repeat(1024 * 1024) };
    expect(() => packFiles([file])).toThrow(/larger/);
  });
});

describe("files in ConfigMaps", () => {
  const segment = fc
    .string({ minLength: 1, maxLength: 40 })
    .filter((text) => !/[/\0]/.test(text) && !/^\.{1,2}$/.test(text));
  const path = fc.array(segment, { minLength: 1, maxLength: 5 }).map((parts) => `/etc/cairn/${parts.join("/")}`);
  const files = fc
    .uniqueArray(
      path.filter((each) => each !== "/etc/cairn/.env"),
      { maxLength: 12 },
    )
    .chain((paths) =>
      fc
        .array(fc.string({ maxLength: 200 }), { minLength: paths.length, maxLength: paths.length })
        .map((contents) => paths.map((each, index) => ({ path: each, content: contents[index] ?? "" }))),
    );

  it("come back at their paths, whatever they are called, under keys that a ConfigMap takes", () => {
    fc.assert(
      fc.property(files, (given) => {
        const { maps } = packFiles(given);
        const back = maps.flatMap(({ data, items }) =>
          items.map((item) => ({ path: `/etc/cairn/${item.path}`, content: data[item.key] })),
        );
        expect(back.toSorted(byPath)).toEqual(given.toSorted(byPath));
        for (const { data } of maps) {
          for (const key of Object.keys(data)) expect(key).toMatch(/^(?!\.\.)(?!\.$)[-._a-zA-Z0-9]{1,253}$/);
        }
      }),
    );
  });

  it("have one hash whatever their order, and another when one changes", () => {
    fc.assert(
      fc.property(
        files.filter((given) => given.length > 0),
        (given) => {
          const { hash } = packFiles(given);
          expect(packFiles(given.toReversed()).hash).toBe(hash);
          const [first, ...rest] = given;
          if (first === undefined) return;
          expect(packFiles([{ ...first, content: `${first.content}x` }, ...rest]).hash).not.toBe(hash);
        },
      ),
    );
  });

  it("fill a further ConfigMap before one passes a mebibyte", () => {
    const given = Array.from({ length: 5 }, (_, index) => ({
      path: `/etc/cairn/seed/${index}`,
      content: "ü".repeat(200_000),
    }));
    const { maps } = packFiles(given);
    expect(maps.length).toBe(3);
    for (const { data } of maps) expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThan(1024 * 1024);
  });
});

describe("quantities", () => {
  it("are read back as they were", () => {
    fc.assert(
      fc.property(fc.nat({ max: Number.MAX_SAFE_INTEGER }), (bytes) => quantityBytes(quantityText(bytes)) === bytes),
    );
  });

  it.each([
    ["10Gi", 10 * 2 ** 30],
    ["1500M", 1.5e9],
    ["1e3", 1000],
    ["1.5Ki", 1536],
    ["x", null],
    ["10GiB", null],
    ["", null],
  ])("%s is %s bytes", (text, bytes) => expect(quantityBytes(text)).toBe(bytes));
});

function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? -1 : 1;
}

describe("what a node may connect to", () => {
  const denied = ["10.96.0.0/12", "172.18.0.2/32", "fd00:10:96::/112"];

  async function egress(over: Partial<KubernetesPlan>): Promise<(address: string, port: number) => boolean> {
    const { resources } = await declare(kubernetesPlan(over), secretValues(), { reveal: false });
    const policy = resources.find(({ type, name }) => type.endsWith(":NetworkPolicy") && name === "cairn-nodes");
    // The part of a NetworkPolicy that is read here.
    const { spec } = (policy ?? fail()).inputs as {
      spec: { egress: { to?: { ipBlock?: { cidr: string; except?: string[] } }[]; ports?: { port: number }[] }[] };
    };
    return (address, port) =>
      spec.egress.some(
        ({ to, ports }) =>
          (ports === undefined || ports.some((one) => one.port === port)) &&
          (to === undefined ||
            to.some(({ ipBlock }) => {
              if (ipBlock === undefined) return false;
              const out = (ipBlock.except ?? []).some((block) => contains(block, address));
              return contains(ipBlock.cidr, address) && !out;
            })),
      );
  }

  function contains(block: string, address: string): boolean {
    const [network = "", prefix] = block.split("/");
    const family = network.includes(":") ? "ipv6" : "ipv4";
    const list = new BlockList();
    list.addSubnet(network, Number(prefix), family);
    return family === (address.includes(":") ? "ipv6" : "ipv4") && list.check(address, family);
  }

  it.each([
    ["the metadata service", "169.254.169.254", 80],
    ["the metadata service over IPv6", "fd00:ec2::254", 80],
    ["AWS's service of credentials for pods over IPv6", "fd00:ec2::23", 80],
    ["Google's metadata service over IPv6", "fd20:ce::254", 80],
    ["Oracle's metadata service over IPv6", "fd00:c1::a9fe:a9fe", 80],
    ["Scaleway's metadata service over IPv6", "fd00:42::42", 80],
    ["Akamai's metadata service over IPv6", "fd00:a9fe:a9fe::1", 80],
    ["Alibaba's metadata service over IPv6", "fd00:100::100:200", 80],
    ["Alibaba's metadata service", "100.100.100.200", 80],
    ["Azure's host", "168.63.129.16", 80],
    ["an address of the link", "169.254.1.1", 443],
    ["an address of the link over IPv6", "fe80::1", 443],
    ["a Service", "10.96.0.1", 443],
    ["a Service over IPv6", "fd00:10:96::1", 443],
    ["the cluster's API", "172.18.0.2", 6443],
  ])("is not %s", async (_what, address, port) => {
    const allows = await egress({ deniedNetworks: denied });
    expect(allows(address, port)).toBe(false);
  });

  it("is the world, local model servers, and any resolver, also one of the link", async () => {
    const allows = await egress({ deniedNetworks: denied });
    expect(allows("1.1.1.1", 443)).toBe(true);
    expect(allows("2606:4700::1111", 443)).toBe(true);
    expect(allows("192.168.1.20", 11_434)).toBe(true);
    expect(allows("fd00:1::20", 11_434)).toBe(true);
    expect(allows("169.254.20.10", 53)).toBe(true);
    expect(allows("10.96.0.10", 53)).toBe(true);
  });
});

it("gives pods user namespaces where they are asked for, and bounds what they leave on a machine's disk", async () => {
  const database = COMBINATIONS["database"]?.plan ?? fail();
  for (const userNamespaces of [false, true]) {
    const { resources } = await declare({ ...database, userNamespaces }, secretValues(), { reveal: false });
    const pods = resources
      .filter(({ type }) => type.endsWith(":StatefulSet"))
      // The part of a StatefulSet that is read here.
      .map(({ inputs }) => (inputs as { spec: { template: { spec: PodSpec } } }).spec.template.spec);
    expect(pods).toHaveLength(2);
    for (const pod of pods) {
      expect(pod.hostUsers).toBe(userNamespaces ? false : undefined);
      expect(pod.containers[0]?.resources).toMatchObject({
        requests: { "ephemeral-storage": "128Mi" },
        limits: { "ephemeral-storage": "1Gi" },
      });
    }
  }
});

interface PodSpec {
  readonly hostUsers?: boolean;
  readonly containers: readonly { readonly resources: object }[];
}

function fail(): never {
  throw new Error("The test lacks what it is about.");
}
