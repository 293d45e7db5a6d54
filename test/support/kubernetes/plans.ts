/** Plans of the Kubernetes target for tests, and the manifests that its program makes of one, without an engine. */

import * as pulumi from "@pulumi/pulumi";
import type { KubernetesNodePlan, KubernetesPlan, SecretValues, StackOutputs } from "../../../infra/plan/types.ts";
import { target } from "../../../infra/targets/kubernetes.ts";
import { dependencies } from "../infra/dependencies.ts";
import { TLS_PEM, TLS_WORDS } from "../postgres-tls.ts";

export const DIGEST = `registry.example.org/team/cairn@sha256:${"a".repeat(64)}`;

export function nodePlan(over: Partial<KubernetesNodePlan> = {}): KubernetesNodePlan {
  return {
    name: "main",
    agents: ["ada"],
    image: {
      id: `sha256:${"1".repeat(64)}`,
      digest: DIGEST,
      reference: "registry.example.org/team/cairn:0.1.0",
      version: "0.1.0",
      revision: null,
    },
    files: [
      { path: "/etc/cairn/cairn.yaml", content: "version: 1\nagents:\n  ada: {}\n" },
      { path: "/etc/cairn/seed/workspace/AGENTS.md", content: "# Ada\n" },
    ],
    secretVariables: ["SERVICE_API_TOKEN"],
    environment: { SERVICE_LISTEN: "0.0.0.0:7433", SERVICE_CONTAINER: "1", SERVICE_HOME: "/var/lib/cairn" },
    limits: { memoryBytes: null, cpus: null },
    stopTimeoutS: 90,
    publish: null,
    tls: false,
    replicas: 1,
    nodeSelector: {},
    ...over,
  };
}

export function kubernetesPlan(over: Partial<KubernetesPlan> = {}): KubernetesPlan {
  return {
    schema: 1,
    target: "kubernetes",
    stack: "cairn",
    version: "0.1.0",
    nodes: [nodePlan()],
    postgres: null,
    sharedStorage: false,
    kubeconfig: null,
    context: null,
    namespace: "agents",
    storageClass: null,
    storageBytes: 10 * 1024 ** 3,
    databaseBytes: 20 * 1024 ** 3,
    serviceType: "ClusterIP",
    serviceAnnotations: {},
    imagePullSecret: null,
    requests: { memoryBytes: 512 * 1024 ** 2, cpus: 0.25 },
    podLimits: { memoryBytes: 1024 ** 3, cpus: 2 },
    deniedNetworks: [],
    userNamespaces: false,
    ...over,
  };
}

/** Values that no manifest, log or output may show. */
export const SECRET_VALUES = {
  tls: TLS_WORDS.key,
  token: "token-Zq8-never-shown",
  password: "database-Kw3-never-shown",
  registry: "registry-Bt5-never-shown",
} as const;

export function secretValues(over: Partial<SecretValues> = {}): SecretValues {
  return { variables: { SERVICE_API_TOKEN: SECRET_VALUES.token }, registry: null, ...over };
}

/** Every feature at once, and the least; the mock engine and the real API server see the same ones. */
export const COMBINATIONS: Readonly<Record<string, { readonly plan: KubernetesPlan; readonly secrets: SecretValues }>> =
  {
    smallest: { plan: kubernetesPlan(), secrets: secretValues() },
    fleet: {
      plan: kubernetesPlan({
        nodes: [
          nodePlan({
            name: "front",
            replicas: 3,
            secretVariables: ["SERVICE_API_TOKEN", "SERVICE_PG_URL"],
            nodeSelector: { "kubernetes.io/arch": "amd64" },
            limits: { memoryBytes: 2 * 1024 ** 3, cpus: 1.5 },
            files: [
              ...nodePlan().files,
              { path: "/etc/cairn/seed/agents/ada/notes/a b.md", content: "a name that is no key\n" },
            ],
          }),
          nodePlan({
            name: "back",
            secretVariables: ["SERVICE_PG_URL"],
            tls: true,
            image: {
              id: `sha256:${"2".repeat(64)}`,
              digest: null,
              reference: "cairn:0.1.0",
              version: "0.1.0",
              revision: null,
            },
          }),
        ],
        postgres: { image: "pgvector/pgvector:0.8.1-pg17", limits: { memoryBytes: null, cpus: null }, publish: null },
        sharedStorage: true,
        kubeconfig: "/home/ada/.kube/fleet",
        context: "fleet",
        storageClass: "fast",
        serviceType: "LoadBalancer",
        deniedNetworks: ["10.96.0.0/12", "fd00:10:96::/112"],
        userNamespaces: true,
        serviceAnnotations: { "example.org/internal": "true" },
      }),
      secrets: secretValues({
        registry: { server: "registry.example.org", username: "robot", password: SECRET_VALUES.registry },
      }),
    },
    database: {
      plan: kubernetesPlan({
        stack: "lab",
        nodes: [nodePlan({ secretVariables: ["SERVICE_API_TOKEN", "SERVICE_PG_URL"] })],
        postgres: { image: "pgvector/pgvector:0.8.1-pg17", limits: { memoryBytes: null, cpus: null }, publish: null },
        serviceType: "NodePort",
        imagePullSecret: "pull",
      }),
      secrets: secretValues(),
    },
  };

export interface DeclaredResource {
  readonly type: string;
  readonly name: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly protect: boolean;
  readonly retainOnDelete: boolean;
  readonly ignoreChanges: readonly string[];
  /** Names of the resources that have to be there before it. */
  readonly after: readonly string[];
}

const SECRET_MARK = "4dabf18193072939515e22adb298388d";

/** Runs the target's program on the mock engine. Values that the engine would encrypt come out as `[secret]`, or as they are. */
export async function declare(
  plan: KubernetesPlan,
  secrets: SecretValues,
  choice: { readonly reveal: boolean; readonly adopt?: readonly string[] },
): Promise<{ readonly resources: readonly DeclaredResource[]; readonly outputs: StackOutputs }> {
  const seen = new Map<string, Pick<DeclaredResource, "type" | "name" | "inputs">>();
  const options = new Map<string, Pick<DeclaredResource, "protect" | "retainOnDelete" | "ignoreChanges">>();
  const { order, after } = dependencies();
  await pulumi.runtime.setMocks(
    {
      call: () => ({}),
      newResource: ({ type, name, inputs }) => {
        seen.set(`${type} ${name}`, { type, name, inputs: unwrap(inputs, choice.reveal) as Record<string, unknown> });
        return { id: `${name}-id`, state: inputs };
      },
    },
    "cairn",
    plan.stack,
    false,
  );
  // Mocks are not told of options: a transformation on the root is.
  const root = new pulumi.ComponentResource(
    "cairn:index:Stack",
    plan.stack,
    {},
    {
      transformations: [
        (args) => {
          const { type, name, opts } = args;
          order(args);
          options.set(`${type} ${name}`, {
            protect: opts.protect === true,
            retainOnDelete: "retainOnDelete" in opts && opts.retainOnDelete === true,
            ignoreChanges: "ignoreChanges" in opts ? (opts.ignoreChanges ?? []) : [],
          });
          return undefined;
        },
      ],
    },
  );
  let outputs: StackOutputs;
  try {
    outputs = await resolved(
      target({
        plan,
        secrets,
        postgresSecrets:
          plan.postgres === null ? null : pulumi.secret({ password: SECRET_VALUES.password, tls: TLS_PEM }),
        adopt: new Set(choice.adopt ?? []),
        parent: root,
      }),
    );
  } finally {
    // What is under way belongs to this run's mocks, also when the program threw.
    await pulumi.runtime.disconnect();
  }
  const resources = [...seen]
    .filter(([key]) => options.has(key) && !key.startsWith("cairn:"))
    .map(([key, resource]) => ({
      ...resource,
      ...(options.get(key) ?? { protect: false, retainOnDelete: false, ignoreChanges: [] }),
      after: after(key),
    }));
  return { resources: resources.toSorted((a, b) => (`${a.type}${a.name}` < `${b.type}${b.name}` ? -1 : 1)), outputs };
}

async function resolved<T>(value: pulumi.Input<T>): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  // The unwrapped type of plain data is the data's own.
  pulumi.output(value).apply((plain) => resolve(plain as T));
  return await promise;
}

function unwrap(value: unknown, reveal: boolean): unknown {
  if (Array.isArray(value)) return value.map((entry) => unwrap(entry, reveal));
  if (typeof value !== "object" || value === null) return value;
  if (SECRET_MARK in value && "value" in value) return reveal ? unwrap(value.value, reveal) : "[secret]";
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, unwrap(entry, reveal)]));
}
