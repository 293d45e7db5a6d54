/** The manifests of the Kubernetes target, on the mock engine: their names and order, and in each what a user relies on. */

import { beforeAll, describe, expect, it } from "vitest";
import { COMBINATIONS, type DeclaredResource, DIGEST, declare, SECRET_VALUES } from "../../support/kubernetes/plans.ts";

type Graph = Awaited<ReturnType<typeof declare>>;
/** Objects of Kubernetes, read without their types: each expectation names the fields that it is about. */
// biome-ignore lint/suspicious/noExplicitAny: see above.
type Manifest = any;

const NODE_SELECTOR = { "app.kubernetes.io/component": "node", ...ownedBy("cairn") };
const POSTGRES_SELECTOR = { "app.kubernetes.io/component": "postgres", ...ownedBy("cairn") };

let fleet: Graph;
let smallest: Graph;
let database: Graph;
beforeAll(async () => {
  fleet = await graphOf("fleet");
  smallest = await graphOf("smallest");
  database = await graphOf("database");
});

describe("the resources, their order and their options stay as they were", () => {
  // A resource under another name is a new one, and the old one is deleted with its data.
  it("with everything", () => {
    expect(fleet.resources.map(lineOf).join("\n")).toMatchInlineSnapshot(`
      "kubernetes:apps/v1:StatefulSet cairn-back after cairn, cairn-back-env, cairn-back-files-0, cairn-back-pods, cairn-default-deny, cairn-nodes, cairn-postgres, cairn-registry, cairn-shared, home-cairn-back-0, workspace-cairn-back-0 ignores spec.volumeClaimTemplates
      kubernetes:apps/v1:StatefulSet cairn-front after cairn, cairn-default-deny, cairn-front-env, cairn-front-files-0, cairn-front-pods, cairn-nodes, cairn-postgres, cairn-registry, cairn-shared, home-cairn-front-0, home-cairn-front-1, home-cairn-front-2, workspace-cairn-front-0, workspace-cairn-front-1, workspace-cairn-front-2 ignores spec.volumeClaimTemplates
      kubernetes:apps/v1:StatefulSet cairn-postgres after cairn, cairn-default-deny, cairn-nodes, cairn-postgres, cairn-postgres-files, cairn-postgres-password, cairn-postgres-pods, cairn-registry, data-cairn-postgres-0 ignores spec.volumeClaimTemplates
      kubernetes:core/v1:ConfigMap cairn-back-files-0
      kubernetes:core/v1:ConfigMap cairn-front-files-0
      kubernetes:core/v1:ConfigMap cairn-postgres-files
      kubernetes:core/v1:PersistentVolumeClaim cairn-shared kept ignores spec.storageClassName, spec.accessModes
      kubernetes:core/v1:PersistentVolumeClaim data-cairn-postgres-0 kept ignores spec.storageClassName, spec.accessModes
      kubernetes:core/v1:PersistentVolumeClaim home-cairn-back-0 kept ignores spec.storageClassName, spec.accessModes
      kubernetes:core/v1:PersistentVolumeClaim home-cairn-front-0 kept ignores spec.storageClassName, spec.accessModes
      kubernetes:core/v1:PersistentVolumeClaim home-cairn-front-1 kept ignores spec.storageClassName, spec.accessModes
      kubernetes:core/v1:PersistentVolumeClaim home-cairn-front-2 kept ignores spec.storageClassName, spec.accessModes
      kubernetes:core/v1:PersistentVolumeClaim workspace-cairn-back-0 kept ignores spec.storageClassName, spec.accessModes
      kubernetes:core/v1:PersistentVolumeClaim workspace-cairn-front-0 kept ignores spec.storageClassName, spec.accessModes
      kubernetes:core/v1:PersistentVolumeClaim workspace-cairn-front-1 kept ignores spec.storageClassName, spec.accessModes
      kubernetes:core/v1:PersistentVolumeClaim workspace-cairn-front-2 kept ignores spec.storageClassName, spec.accessModes
      kubernetes:core/v1:Secret cairn-back-env
      kubernetes:core/v1:Secret cairn-front-env
      kubernetes:core/v1:Secret cairn-postgres-password
      kubernetes:core/v1:Secret cairn-registry
      kubernetes:core/v1:ServiceAccount cairn
      kubernetes:core/v1:Service cairn-back
      kubernetes:core/v1:Service cairn-back-pods
      kubernetes:core/v1:Service cairn-front
      kubernetes:core/v1:Service cairn-front-pods
      kubernetes:core/v1:Service cairn-postgres
      kubernetes:core/v1:Service cairn-postgres-pods
      kubernetes:networking.k8s.io/v1:NetworkPolicy cairn-default-deny
      kubernetes:networking.k8s.io/v1:NetworkPolicy cairn-nodes
      kubernetes:networking.k8s.io/v1:NetworkPolicy cairn-postgres
      kubernetes:policy/v1:PodDisruptionBudget cairn-nodes
      pulumi:providers:kubernetes cairn-cluster"
    `);
    const claims = ["front-0", "front-1", "front-2", "back-0"].flatMap((pod) => [
      `home-cairn-${pod}`,
      `workspace-cairn-${pod}`,
    ]);
    expect(fleet.outputs).toEqual({
      nodes: [
        { name: "front", workload: "cairn-front", place: "agents", image: DIGEST },
        { name: "back", workload: "cairn-back", place: "agents", image: "cairn:0.1.0" },
      ],
      data: [...claims, "cairn-shared", "data-cairn-postgres-0"].map((name) => ({ name, place: "agents" })),
    });
  });

  it("with the least", () => {
    expect(smallest.resources.map(lineOf).join("\n")).toMatchInlineSnapshot(`
      "kubernetes:apps/v1:StatefulSet cairn-main after cairn, cairn-default-deny, cairn-main-env, cairn-main-files-0, cairn-main-pods, cairn-nodes, home-cairn-main-0, workspace-cairn-main-0 ignores spec.volumeClaimTemplates
      kubernetes:core/v1:ConfigMap cairn-main-files-0
      kubernetes:core/v1:PersistentVolumeClaim home-cairn-main-0 kept ignores spec.storageClassName, spec.accessModes
      kubernetes:core/v1:PersistentVolumeClaim workspace-cairn-main-0 kept ignores spec.storageClassName, spec.accessModes
      kubernetes:core/v1:Secret cairn-main-env
      kubernetes:core/v1:ServiceAccount cairn
      kubernetes:core/v1:Service cairn-main
      kubernetes:core/v1:Service cairn-main-pods
      kubernetes:networking.k8s.io/v1:NetworkPolicy cairn-default-deny
      kubernetes:networking.k8s.io/v1:NetworkPolicy cairn-nodes
      kubernetes:policy/v1:PodDisruptionBudget cairn-nodes
      pulumi:providers:kubernetes cairn-cluster"
    `);
  });
});

describe("every object", () => {
  const objects = () =>
    [fleet, smallest, database].flatMap(({ resources }) => resources.filter(({ type }) => !type.startsWith("pulumi:")));

  it("has the name of its resource, the plan's namespace and the labels of its stack", () => {
    for (const { name, inputs } of objects()) {
      const { metadata }: Manifest = inputs;
      expect(metadata).toMatchObject({ name, namespace: "agents" });
      expect(metadata.labels).toMatchObject({
        "app.kubernetes.io/managed-by": "cairn",
        "app.kubernetes.io/part-of": "cairn",
        ...ownedBy(name.includes("lab") ? "lab" : "cairn"),
      });
    }
  });

  it("of a node says so, and which", () => {
    const policies = /:NetworkPolicy$/;
    for (const { name, type, inputs } of objects()) {
      const [node] = /front|back|main|postgres/.exec(name) ?? [];
      if (node === undefined || policies.test(type)) continue;
      const { metadata }: Manifest = inputs;
      expect(metadata.labels).toMatchObject({
        "app.kubernetes.io/component": node === "postgres" ? "postgres" : "node",
        "cairn.dev/node": node,
      });
    }
  });
});

describe("a workload", () => {
  const all = () =>
    [fleet, smallest, database].flatMap((graph) => ofKind(graph, "StatefulSet").map((set) => ({ graph, set })));

  it("selects its own pods by labels that never change, and no other workload's", () => {
    expect(find(fleet, "StatefulSet", "cairn-front").spec.selector.matchLabels).toEqual({
      ...NODE_SELECTOR,
      "cairn.dev/node": "front",
    });
    expect(find(fleet, "StatefulSet", "cairn-postgres").spec.selector.matchLabels).toEqual({
      ...POSTGRES_SELECTOR,
      "cairn.dev/node": "postgres",
    });
    for (const { graph, set } of all()) {
      const matching = ofKind(graph, "StatefulSet").filter(({ inputs }) => selects(set.inputs, inputs));
      expect(matching.map(({ name }) => name)).toEqual([set.name]);
    }
  });

  it("has its headless Service, which also knows pods of nodes that are not ready", () => {
    for (const { graph, set } of all()) {
      const { spec }: Manifest = set.inputs;
      const peers = find(graph, "Service", spec.serviceName);
      expect(peers.spec.clusterIP).toBe("None");
      expect(peers.spec.selector).toEqual(spec.selector.matchLabels);
      expect(peers.spec.publishNotReadyAddresses).toBe(set.name.endsWith("postgres") ? undefined : true);
    }
  });

  it("keeps its claims when it is deleted or made smaller", () => {
    for (const { set } of all()) {
      const { spec }: Manifest = set.inputs;
      expect(spec.persistentVolumeClaimRetentionPolicy).toEqual({ whenDeleted: "Retain", whenScaled: "Retain" });
      expect(spec).toMatchObject({ podManagementPolicy: "Parallel", revisionHistoryLimit: 5 });
    }
    expect(find(fleet, "StatefulSet", "cairn-front").spec.replicas).toBe(3);
    expect(find(fleet, "StatefulSet", "cairn-postgres").spec).toMatchObject({
      replicas: 1,
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
    });
  });

  it("is done when it is applied: whether its pods come up is asked elsewhere", () => {
    for (const { set } of all()) {
      const { metadata }: Manifest = set.inputs;
      expect(metadata.annotations).toEqual({ "pulumi.com/waitFor": "jsonpath={.metadata.uid}" });
    }
  });
});

describe("a pod", () => {
  const pods = () =>
    [fleet, smallest, database].flatMap((graph) =>
      ofKind(graph, "StatefulSet").map(({ name, inputs }) => {
        const { spec }: Manifest = inputs;
        return { name, pod: spec.template.spec, isNode: !name.endsWith("postgres") };
      }),
    );

  it("has the least rights, and nothing of the cluster", () => {
    for (const { name, pod, isNode } of pods()) {
      expect(pod.securityContext).toEqual({
        runAsNonRoot: true,
        runAsUser: isNode ? 1000 : 999,
        runAsGroup: isNode ? 0 : 999,
        fsGroup: isNode ? 0 : 999,
        fsGroupChangePolicy: "OnRootMismatch",
        seccompProfile: { type: "RuntimeDefault" },
      });
      expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
      expect(pod.serviceAccountName).toBe(name.startsWith("lab") ? "lab" : "cairn");
      for (const shared of ["hostNetwork", "hostPID", "hostIPC", "initContainers"])
        expect(pod).not.toHaveProperty(shared);
      expect(pod.containers).toHaveLength(1);
      expect(pod.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        privileged: false,
        readOnlyRootFilesystem: true,
        runAsNonRoot: true,
        capabilities: { drop: ["ALL"] },
      });
    }
    expect(find(fleet, "ServiceAccount", "cairn").automountServiceAccountToken).toBe(false);
  });

  it("of a node is probed over the scheme that the node speaks", () => {
    for (const [node, scheme] of [
      ["front", "HTTP"],
      ["back", "HTTPS"],
    ] as const) {
      const get = (path: string) => ({ httpGet: { path, port: "http", scheme }, timeoutSeconds: 5 });
      expect(containerOf(fleet, `cairn-${node}`)).toMatchObject({
        startupProbe: { ...get("/health/live"), periodSeconds: 2, failureThreshold: 150 },
        livenessProbe: { ...get("/health/live"), periodSeconds: 10, failureThreshold: 6 },
        readinessProbe: { ...get("/health/ready"), periodSeconds: 5, failureThreshold: 2 },
      });
    }
  });

  it("of the database is probed by asking it, and has the time of a crash recovery", () => {
    const command = "pg_isready -q -h 127.0.0.1 -p 5432 -U cairn -d cairn".split(" ");
    const asks = { exec: { command }, timeoutSeconds: 5 };
    expect(containerOf(fleet, "cairn-postgres")).toMatchObject({
      startupProbe: { ...asks, periodSeconds: 2, failureThreshold: 450 },
      livenessProbe: { ...asks, periodSeconds: 10, failureThreshold: 6 },
      readinessProbe: { ...asks, periodSeconds: 5, failureThreshold: 2 },
    });
  });

  it("has limits, and the node's own before the plan's", () => {
    const usual = {
      requests: { cpu: "250m", memory: "512Mi", "ephemeral-storage": "128Mi" },
      limits: { cpu: "2000m", memory: "1Gi", "ephemeral-storage": "1Gi" },
    };
    for (const name of ["cairn-back", "cairn-postgres"]) expect(containerOf(fleet, name).resources).toEqual(usual);
    expect(containerOf(fleet, "cairn-front").resources).toEqual({
      ...usual,
      limits: { ...usual.limits, cpu: "1500m", memory: "2Gi" },
    });
  });

  it("runs the image by digest where there is one, and pulls what is not there with the credentials of the registry", () => {
    expect(containerOf(fleet, "cairn-front").image).toBe(DIGEST);
    expect(containerOf(fleet, "cairn-back").image).toBe("cairn:0.1.0");
    expect(containerOf(fleet, "cairn-postgres").image).toBe("pgvector/pgvector:0.8.1-pg17");
    for (const { name, pod } of pods()) {
      expect(pod.containers[0].imagePullPolicy).toBe("IfNotPresent");
      const secret = name.startsWith("lab") ? "pull" : name === "cairn-main" ? undefined : "cairn-registry";
      expect(pod.imagePullSecrets).toEqual(secret === undefined ? undefined : [{ name: secret }]);
    }
  });

  it("gets time to end, its place in the cluster, and its environment", () => {
    const front = podOf(fleet, "cairn-front");
    expect(front).toMatchObject({
      terminationGracePeriodSeconds: 90,
      nodeSelector: { "kubernetes.io/arch": "amd64" },
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: "kubernetes.io/hostname",
          whenUnsatisfiable: "ScheduleAnyway",
          labelSelector: { matchLabels: { ...NODE_SELECTOR, "cairn.dev/node": "front" } },
        },
      ],
    });
    expect(front.containers[0].env).toEqual([
      { name: "SERVICE_CONTAINER", value: "1" },
      { name: "SERVICE_HOME", value: "/var/lib/cairn" },
      { name: "SERVICE_LISTEN", value: "0.0.0.0:7433" },
    ]);
    expect(front.containers[0].ports).toEqual([{ name: "http", containerPort: 7433, protocol: "TCP" }]);
    const postgres = podOf(fleet, "cairn-postgres");
    expect(postgres.terminationGracePeriodSeconds).toBe(120);
    expect(postgres.containers[0].command).toEqual(["/bin/sh", "/etc/cairn-postgres/start.sh"]);
    expect(postgres.containers[0].env).toEqual([
      { name: "PGDATA", value: "/var/lib/postgresql/data/pgdata" },
      { name: "POSTGRES_DB", value: "cairn" },
      { name: "POSTGRES_HBA_FILE", value: "/etc/cairn-postgres/pg_hba.conf" },
      { name: "POSTGRES_PASSWORD_FILE", value: "/etc/cairn-postgres/password" },
      { name: "POSTGRES_TLS_FILE", value: "/etc/cairn-postgres/server.pem" },
      { name: "POSTGRES_USER", value: "cairn" },
    ]);
  });

  it("has its claims and its files mounted, the files read only and for its group alone", () => {
    const front = podOf(fleet, "cairn-front");
    expect(mountsOf(front)).toEqual([
      "configuration /etc/cairn read only",
      "home /var/lib/cairn",
      "workspace /srv/cairn",
      "tmp /tmp",
      "shared /srv/shared",
    ]);
    expect(front.volumes).toEqual([
      { name: "configuration", projected: { defaultMode: 0o440, sources: expect.any(Array) } },
      { name: "tmp", emptyDir: { sizeLimit: "512Mi" } },
      { name: "shared", persistentVolumeClaim: { claimName: "cairn-shared" } },
    ]);
    const [files, secret] = front.volumes[0].projected.sources;
    expect(files.configMap.name).toBe("cairn-front-files-0");
    expect(files.configMap.items.map(({ path }: { path: string }) => path)).toEqual([
      "cairn.yaml",
      "seed/agents/ada/notes/a b.md",
      "seed/workspace/AGENTS.md",
    ]);
    const item = (key: string, path: string) => ({ key, path });
    expect(secret).toEqual({
      secret: { name: "cairn-front-env", items: [item("env", ".env"), item("postgres.pem", "postgres.pem")] },
    });

    const postgres = podOf(fleet, "cairn-postgres");
    expect(mountsOf(postgres)).toEqual([
      "configuration /etc/cairn-postgres read only",
      "data /var/lib/postgresql/data",
      "run /var/run/postgresql",
      "tmp /tmp",
      "shm /dev/shm",
    ]);
    expect(postgres.volumes.slice(1)).toEqual([
      { name: "run", emptyDir: { medium: "Memory", sizeLimit: "16Mi" } },
      { name: "tmp", emptyDir: { sizeLimit: "64Mi" } },
      { name: "shm", emptyDir: { medium: "Memory", sizeLimit: "256Mi" } },
    ]);
    expect(postgres.volumes[0].projected).toEqual({
      defaultMode: 0o440,
      sources: [
        { configMap: { name: "cairn-postgres-files" } },
        {
          secret: {
            name: "cairn-postgres-password",
            items: [item("password", "password"), item("server.pem", "server.pem")],
          },
        },
      ],
    });
  });
});

describe("a claim", () => {
  it("has the size, the class and the access of its use", () => {
    const specOf = (name: string) => find(fleet, "PersistentVolumeClaim", name).spec;
    const claim = (access: string, storage: string) => ({
      accessModes: [access],
      resources: { requests: { storage } },
      storageClassName: "fast",
    });
    expect(specOf("home-cairn-front-2")).toEqual(claim("ReadWriteOnce", "10Gi"));
    expect(specOf("workspace-cairn-back-0")).toEqual(claim("ReadWriteOnce", "10Gi"));
    expect(specOf("cairn-shared")).toEqual(claim("ReadWriteMany", "10Gi"));
    expect(specOf("data-cairn-postgres-0")).toEqual(claim("ReadWriteOnce", "20Gi"));
    expect(find(smallest, "PersistentVolumeClaim", "home-cairn-main-0").spec).not.toHaveProperty("storageClassName");
  });

  it("is what its StatefulSet would have made", () => {
    for (const set of ofKind(fleet, "StatefulSet")) {
      const { spec }: Manifest = set.inputs;
      for (const template of spec.volumeClaimTemplates) {
        expect(find(fleet, "PersistentVolumeClaim", `${template.metadata.name}-${set.name}-0`).spec).toEqual(
          template.spec,
        );
        expect(template.metadata.labels).toEqual(spec.selector.matchLabels);
      }
    }
  });
});

describe("secrets", () => {
  it("are encrypted by the engine as a whole, and hold what pods are given", () => {
    const typeOf = { "cairn-registry": "kubernetes.io/dockerconfigjson" } as Readonly<Record<string, string>>;
    for (const { name, inputs } of [fleet, smallest, database].flatMap((graph) => ofKind(graph, "Secret"))) {
      expect(inputs["data"]).toBe("[secret]");
      expect(inputs).not.toHaveProperty("stringData");
      expect(inputs["type"]).toBe(typeOf[name] ?? "Opaque");
    }
  });

  it("are theirs who need them", async () => {
    const { plan, secrets } = COMBINATIONS["fleet"] ?? missing("fleet");
    const revealed = await declare(plan, secrets, { reveal: true });
    const text = (name: string, key: string) =>
      Buffer.from(find(revealed, "Secret", name).data[key], "base64").toString();
    expect(text("cairn-front-env", "env")).toContain(SECRET_VALUES.token);
    expect(text("cairn-back-env", "env")).not.toContain(SECRET_VALUES.token);
    expect(text("cairn-back-env", "env")).toContain("@cairn-postgres:5432/cairn");
    expect(text("cairn-postgres-password", "password").trim()).toBe(SECRET_VALUES.password);
    expect(text("cairn-registry", ".dockerconfigjson")).toContain("registry.example.org");
  });
});

describe("Services", () => {
  it("lead to the nodes as the plan says, and to the database within the cluster alone", () => {
    for (const node of ["front", "back"]) {
      const { metadata, spec } = find(fleet, "Service", `cairn-${node}`);
      expect(metadata.annotations).toEqual({ "example.org/internal": "true", "pulumi.com/skipAwait": "true" });
      expect(spec).toEqual({
        type: "LoadBalancer",
        ports: [{ name: "http", port: 7433, protocol: "TCP", targetPort: "http" }],
        selector: { ...NODE_SELECTOR, "cairn.dev/node": node },
      });
    }
    expect(find(database, "Service", "lab-main").spec.type).toBe("NodePort");
    expect(find(smallest, "Service", "cairn-main").spec.type).toBe("ClusterIP");
    for (const graph of [fleet, database]) {
      const [postgres] = ofKind(graph, "Service").filter(({ name }) => name.endsWith("-postgres"));
      expect(postgres?.inputs["spec"]).toMatchObject({
        type: "ClusterIP",
        ports: [{ name: "postgres", port: 5432, protocol: "TCP", targetPort: "postgres" }],
      });
    }
  });
});

describe("network policies", () => {
  it("deny every pod of the stack what no other policy allows", () => {
    expect(find(fleet, "NetworkPolicy", "cairn-default-deny").spec).toEqual({
      podSelector: { matchLabels: ownedBy("cairn") },
      policyTypes: ["Ingress", "Egress"],
    });
  });

  it("let the nodes alone reach a node's port where nothing publishes it", () => {
    expect(find(smallest, "NetworkPolicy", "cairn-nodes").spec.ingress).toEqual([
      { from: [{ podSelector: { matchLabels: NODE_SELECTOR } }], ports: [{ port: 7433, protocol: "TCP" }] },
    ]);
    expect(find(database, "NetworkPolicy", "lab-nodes").spec.ingress).toEqual([
      { ports: [{ port: 7433, protocol: "TCP" }] },
    ]);
  });

  it("let anybody reach a published node's port, and nodes alone the database, which reaches nothing but resolvers", () => {
    const nodes = find(fleet, "NetworkPolicy", "cairn-nodes").spec;
    expect(nodes.podSelector).toEqual({ matchLabels: NODE_SELECTOR });
    expect(nodes.policyTypes).toEqual(["Ingress", "Egress"]);
    expect(nodes.ingress).toEqual([{ ports: [{ port: 7433, protocol: "TCP" }] }]);
    const dns = ["UDP", "TCP"].map((protocol) => ({ port: 53, protocol }));
    expect(nodes.egress[0]).toEqual({ ports: dns });
    expect(nodes.egress[1].to.slice(0, 2)).toEqual([
      { podSelector: { matchLabels: NODE_SELECTOR } },
      { podSelector: { matchLabels: POSTGRES_SELECTOR } },
    ]);
    expect(find(fleet, "NetworkPolicy", "cairn-postgres").spec).toEqual({
      podSelector: { matchLabels: POSTGRES_SELECTOR },
      policyTypes: ["Ingress", "Egress"],
      ingress: [{ from: [{ podSelector: { matchLabels: NODE_SELECTOR } }], ports: [{ port: 5432, protocol: "TCP" }] }],
      egress: [{ ports: dns }],
    });
  });
});

it("lets an eviction take one node of the stack at a time, whichever group it is of", () => {
  expect(ofKind(fleet, "PodDisruptionBudget")).toHaveLength(1);
  expect(find(fleet, "PodDisruptionBudget", "cairn-nodes").spec).toEqual({
    maxUnavailable: 1,
    selector: { matchLabels: NODE_SELECTOR },
  });
});

async function graphOf(name: string): Promise<Graph> {
  const { plan, secrets } = COMBINATIONS[name] ?? missing(name);
  return declare(plan, secrets, { reveal: false });
}

/** One resource: what it is called, what it waits for, and what the engine may do with it. */
function lineOf({ type, name, after, protect, retainOnDelete, ignoreChanges }: DeclaredResource): string {
  const kept = protect && retainOnDelete ? " kept" : "";
  const ignored = ignoreChanges.length === 0 ? "" : ` ignores ${ignoreChanges.join(", ")}`;
  return `${type} ${name}${after.length === 0 ? "" : ` after ${after.join(", ")}`}${kept}${ignored}`;
}

function ofKind({ resources }: Graph, kind: string): readonly DeclaredResource[] {
  return resources.filter(({ type }) => type.endsWith(`:${kind}`));
}

function find(graph: Graph, kind: string, name: string): Manifest {
  return ofKind(graph, kind).find((one) => one.name === name)?.inputs ?? missing(`${kind} ${name}`);
}

function podOf(graph: Graph, workload: string): Manifest {
  return find(graph, "StatefulSet", workload).spec.template.spec;
}

function containerOf(graph: Graph, workload: string): Manifest {
  return podOf(graph, workload).containers[0];
}

function mountsOf(pod: Manifest): string[] {
  return pod.containers[0].volumeMounts.map(
    (mount: { name: string; mountPath: string; readOnly?: boolean }) =>
      `${mount.name} ${mount.mountPath}${mount.readOnly ? " read only" : ""}`,
  );
}

/** Whether the first workload's selector takes pods of the second. */
function selects(one: Manifest, other: Manifest): boolean {
  const { labels } = other.spec.template.metadata;
  return Object.entries(one.spec.selector.matchLabels).every(([label, value]) => labels[label] === value);
}

function ownedBy(stack: string) {
  return { "app.kubernetes.io/instance": stack, "app.kubernetes.io/name": "cairn" };
}

function missing(what: string): never {
  throw new Error(`${what} was not declared.`);
}
