/** Proxmox plans for tests, and the Proxmox target run on the mock engine. */

import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import type { ProxmoxNodePlan, ProxmoxPlan, SecretValues, StackOutputs } from "../../../infra/plan/types.ts";
import { target } from "../../../infra/targets/proxmox.ts";
import { dependencies } from "../infra/dependencies.ts";
import { TLS_PEM, TLS_WORDS } from "../postgres-tls.ts";

export const WORDS = {
  token: "token 'with' $signs",
  password: "pass/word?'1",
  registry: "registry-word",
  tls: TLS_WORDS.key,
} as const;
export const HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";

export function nodePlan(name: string, more: Partial<ProxmoxNodePlan> = {}): ProxmoxNodePlan {
  return {
    name,
    agents: [name],
    image: { id: `sha256:${"1".repeat(64)}`, digest: null, reference: "cairn:0.1.0", version: "0.1.0", revision: null },
    files: [{ path: "/etc/cairn/cairn.yaml", content: "version: 1\n" }],
    secretVariables: ["SERVICE_API_TOKEN", "SERVICE_PG_URL"],
    environment: { SERVICE_CONTAINER: "1", SERVICE_LISTEN: "0.0.0.0:7433" },
    limits: { memoryBytes: 1024 ** 3, cpus: 1.5 },
    stopTimeoutS: 90,
    publish: { address: "127.0.0.1", port: 7433 },
    tls: false,
    vmid: 701,
    pveNode: null,
    address: "192.168.1.41/24",
    ...more,
  };
}

export function proxmoxPlan(more: Partial<ProxmoxPlan> = {}): ProxmoxPlan {
  return {
    schema: 1,
    target: "proxmox",
    stack: "fleet",
    version: "0.1.0",
    nodes: [nodePlan("alpha")],
    postgres: { image: "pgvector/pgvector:pg17", limits: { memoryBytes: null, cpus: null }, publish: null },
    sharedStorage: false,
    ssh: { host: "pve.example", port: 22, user: "root", hostKey: HOST_KEY, identityFile: null },
    template: "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst",
    storage: "local-lvm",
    diskBytes: 16 * 1024 ** 3,
    bridge: "vmbr0",
    vlan: null,
    gateway: "192.168.1.1",
    nameserver: null,
    unprivileged: true,
    dataDir: "/var/lib/cairn",
    postgresVmid: 700,
    postgresAddress: "192.168.1.40/24",
    ...more,
  };
}

export interface Declared {
  readonly name: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly options: Readonly<Record<string, unknown>>;
  /** Names of the resources that have to be there before it. */
  readonly after: readonly string[];
}

export interface Declaration {
  readonly resources: readonly Declared[];
  readonly outputs: StackOutputs;
}

/** With an identity file of its own, whose text is `privateKey` in what is declared. `reveal`: show what is encrypted. */
export async function declare(plan: ProxmoxPlan, choice: { readonly reveal?: boolean } = {}): Promise<Declaration> {
  const inputs = new Map<string, Record<string, unknown>>();
  const options = new Map<string, Record<string, unknown>>();
  const folder = mkdtempSync(join(tmpdir(), "cairn-key-"));
  const identityFile = join(folder, "key");
  const { privateKey } = generateKeyPairSync("ed25519");
  writeFileSync(identityFile, privateKey.export({ format: "pem", type: "pkcs8" }));
  await pulumi.runtime.setMocks(
    {
      call: () => ({}),
      newResource: ({ type, name, inputs: given }) => {
        if (type === "command:remote:Command") inputs.set(name, given);
        return { id: `${name}-id`, state: given };
      },
    },
    "cairn",
    plan.stack,
    false,
  );
  const { order, after } = dependencies();
  // Mocks are not told of options: a transformation on the root is.
  const seen: pulumi.ResourceTransformation = (args) => {
    if (args.type === "command:remote:Command") options.set(args.name, shown(args.opts));
    order(args);
    return undefined;
  };
  const parent = new pulumi.ComponentResource("cairn:index:Stack", plan.stack, {}, { transformations: [seen] });
  const secrets: SecretValues = {
    variables: { SERVICE_API_TOKEN: WORDS.token, SERVICE_PG_URL: "postgres://mine@here/db" },
    registry: { server: "registry.example", username: "ops", password: WORDS.registry },
  };
  try {
    const result = target({
      plan: { ...plan, ssh: { ...plan.ssh, identityFile } },
      secrets,
      postgresSecrets: plan.postgres === null ? null : pulumi.secret({ password: WORDS.password, tls: TLS_PEM }),
      adopt: new Set(),
      parent,
    });
    const outputs = await new Promise<StackOutputs>((resolve) => {
      // What a target gives is plain data with outputs in it: resolved it is its own type.
      pulumi.output(result).apply((value) => resolve(value as StackOutputs));
    });
    await pulumi.runtime.disconnect();
    const resources = [...inputs].map(([name, given]) => ({
      name,
      // Inputs of a resource are a record, whatever is in them.
      inputs: unwrap(given, choice.reveal === true) as Record<string, unknown>,
      options: options.get(name) ?? {},
      after: after(`command:remote:Command ${name}`),
    }));
    return { resources: resources.sort((a, b) => a.name.localeCompare(b.name)), outputs };
  } finally {
    await pulumi.runtime.disconnect();
    rmSync(folder, { recursive: true, force: true });
  }
}

const SECRET_MARK = "4dabf18193072939515e22adb298388d";

function unwrap(value: unknown, reveal: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => unwrap(item, reveal));
  if (typeof value !== "object" || value === null) return value;
  if (SECRET_MARK in value && "value" in value) return reveal ? unwrap(value.value, reveal) : "[secret]";
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unwrap(item, reveal)]));
}

const SHOWN = [
  "protect",
  "retainOnDelete",
  "deleteBeforeReplace",
  "replaceOnChanges",
  "additionalSecretOutputs",
] as const;

function shown(opts: pulumi.ResourceOptions): Record<string, unknown> {
  const given: Record<string, unknown> = { ...opts };
  return Object.fromEntries(SHOWN.filter((key) => given[key] !== undefined).map((key) => [key, given[key]]));
}
