/** Docker plans for tests, and the Docker target run on the mock engine. */

import * as pulumi from "@pulumi/pulumi";
import type { DockerNodePlan, DockerPlan, StackOutputs } from "../../infra/plan/types.ts";
import { target } from "../../infra/targets/docker.ts";
import { dependencies } from "./infra/dependencies.ts";
import { TLS_PEM, TLS_WORDS } from "./postgres-tls.ts";

export const IMAGE_ID = `sha256:${"1".repeat(64)}`;

export function nodePlan(name: string, more: Partial<DockerNodePlan> = {}): DockerNodePlan {
  return {
    name,
    host: "local",
    agents: [name],
    image: { id: IMAGE_ID, digest: null, reference: "cairn:0.1.0", version: "0.1.0", revision: null },
    files: [
      { path: "/etc/cairn/cairn.yaml", content: "version: 1\n" },
      { path: "/etc/cairn/seed/workspace/EMPTY.md", content: "" },
    ],
    secretVariables: ["API_KEY", "SERVICE_PG_URL"],
    environment: { SERVICE_LISTEN: "0.0.0.0:7433", SERVICE_CONTAINER: "1" },
    limits: { memoryBytes: 512 * 1024 * 1024, cpus: 1.5 },
    stopTimeoutS: 90,
    publish: { address: "127.0.0.1", port: 7433 },
    tls: false,
    ...more,
  };
}

export function dockerPlan(more: Partial<DockerPlan> = {}): DockerPlan {
  return {
    schema: 1,
    target: "docker",
    stack: "fleet",
    version: "0.1.0",
    host: "local",
    network: "fleet",
    pids: 512,
    logMaxBytes: 10_000_000,
    logMaxFiles: 3,
    sharedStorage: false,
    postgres: { image: "pgvector/pgvector:pg17", limits: { memoryBytes: null, cpus: null }, publish: null },
    nodes: [nodePlan("alpha")],
    ...more,
  };
}

export const SECRET_WORDS = {
  key: 'a key\'with "all" kinds #of $signs',
  password: "pass/word?'1",
  tls: TLS_WORDS.key,
} as const;

export interface Declared {
  readonly type: string;
  readonly name: string;
  /** Values that the engine encrypts are `[secret]`, unless they are revealed. */
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Of the options, what a resource was given. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Names of the resources that have to be there before it. */
  readonly after: readonly string[];
}

export interface Declaration {
  readonly resources: readonly Declared[];
  readonly outputs: StackOutputs;
}

export async function declare(
  plan: DockerPlan,
  choice: { readonly reveal?: boolean; readonly adopt?: readonly string[]; readonly password?: null } = {},
): Promise<Declaration> {
  const inputs = new Map<string, Readonly<Record<string, unknown>>>();
  const options = new Map<string, Readonly<Record<string, unknown>>>();
  await pulumi.runtime.setMocks(
    {
      call: () => ({}),
      newResource: ({ type, name, inputs: given }) => {
        inputs.set(`${type} ${name}`, given);
        return {
          id: `${name}-id`,
          state: { ...given, ...(type.includes("remoteImage") ? { imageId: "sha256:pg" } : {}) },
        };
      },
    },
    "cairn",
    plan.stack,
    false,
  );
  const { order, after } = dependencies();
  // Mocks are not told of options: a transformation on the root is.
  const seen: pulumi.ResourceTransformation = (args) => {
    options.set(`${args.type} ${args.name}`, shown(args.opts));
    order(args);
    return undefined;
  };
  const parent = new pulumi.ComponentResource("cairn:index:Stack", plan.stack, {}, { transformations: [seen] });
  const outputs = await run(plan, choice, parent);
  const resources = [...inputs].flatMap(([key, given]): Declared[] => {
    const [type = "", name = ""] = key.split(" ");
    const option = options.get(key);
    if (!option || type.startsWith("cairn:")) return [];
    return [{ type, name, inputs: plain(given, choice.reveal === true), options: option, after: after(key) }];
  });
  return { resources: resources.sort((a, b) => `${a.type}${a.name}`.localeCompare(`${b.type}${b.name}`)), outputs };
}

/** Ends with the program's last registration, also when the target throws: none must reach the next test's engine. */
async function run(
  plan: DockerPlan,
  choice: { readonly adopt?: readonly string[]; readonly password?: null },
  parent: pulumi.Resource,
): Promise<StackOutputs> {
  try {
    const result = target({
      plan,
      secrets: { variables: { API_KEY: SECRET_WORDS.key, SERVICE_PG_URL: "postgres://mine@here/db" }, registry: null },
      postgresSecrets:
        choice.password === null || !plan.postgres
          ? null
          : pulumi.secret({ password: SECRET_WORDS.password, tls: TLS_PEM }),
      adopt: new Set(choice.adopt ?? []),
      parent,
    });
    return await new Promise<StackOutputs>((resolve) => {
      // What a target gives is plain data with outputs in it: resolved it is its own type.
      pulumi.output(result).apply((value) => resolve(value as StackOutputs));
    });
  } finally {
    await pulumi.runtime.disconnect();
  }
}

export function find({ resources }: Declaration, type: string, name: string): Declared {
  const found = resources.find((resource) => resource.type.endsWith(`:${type}`) && resource.name === name);
  if (found) return found;
  throw new Error(`${type} ${name} was not declared: ${resources.map((r) => `${r.type} ${r.name}`).join(", ")}`);
}

const SECRET_MARK = "4dabf18193072939515e22adb298388d";

function plain(value: unknown, reveal: boolean): Record<string, unknown> {
  // Inputs of a resource are a record, whatever is in them.
  return unwrap(value, reveal) as Record<string, unknown>;
}

function unwrap(value: unknown, reveal: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => unwrap(item, reveal));
  if (typeof value !== "object" || value === null) return value;
  if (SECRET_MARK in value && "value" in value) return reveal ? unwrap(value.value, reveal) : "[secret]";
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unwrap(item, reveal)]));
}

const SHOWN = [
  "protect",
  "retainOnDelete",
  "ignoreChanges",
  "deleteBeforeReplace",
  "import",
  "replaceOnChanges",
] as const;

function shown(opts: pulumi.ResourceOptions): Record<string, unknown> {
  const given: Record<string, unknown> = { ...opts };
  return Object.fromEntries(SHOWN.filter((key) => given[key] !== undefined).map((key) => [key, given[key]]));
}
