/** Phase 1 of a setup: what this machine has. Everything is probed in parallel, with short deadlines, and nothing is changed. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Environment } from "../../../runtime/config/index.ts";
import type { LocalServer } from "../catalogue.ts";
import {
  detectGateway,
  detectServers,
  type EmbeddingChoice,
  OFFLINE,
  type ProviderChoice,
  providerFromEnvironment,
} from "../detect.ts";
import { detectOwnAddresses, type OwnAddresses } from "./containers.ts";
import { askTool, type ToolAnswer } from "./tool.ts";

export const TOOLS = ["docker", "pulumi", "kubectl", "ssh"] as const;
export type ToolName = (typeof TOOLS)[number];

export interface Facts {
  readonly node: string;
  /** Null where it was not probed or is not there. */
  readonly docker: { readonly version: string | null } | null;
  readonly pulumi: { readonly version: string } | null;
  readonly kubernetes: { readonly current: string | null; readonly contexts: readonly string[] } | null;
  /** Number of keys that the agent holds, and of public keys in `~/.ssh`. */
  readonly ssh: { readonly agentKeys: number; readonly keyFiles: number } | null;
  /** Local model servers that answer. */
  readonly servers: readonly ProviderChoice[];
  /** Models on them that make vectors. */
  readonly embeddings: readonly EmbeddingChoice[];
  /** Where containers reach this machine. */
  readonly own: OwnAddresses;
  /** Model servers that listen and are of no use now, as sentences without their full stops. */
  readonly unusable: readonly string[];
  /** A free address, where something has the usual one and there is no configuration yet. */
  readonly listen?: string | undefined;
  /** Defaults. */
  readonly provider: ProviderChoice;
  readonly timezone: string;
}

export interface FactOptions {
  readonly env: Environment;
  /** Programs that are run; none when empty. */
  readonly tools: readonly ToolName[];
  /** False: a key in the environment says enough. */
  readonly allServers?: boolean;
  readonly localServers?: readonly LocalServer[];
  /** Milliseconds for each model server and each program. */
  readonly serverTimeoutMs?: number;
  readonly toolTimeoutMs?: number;
  readonly timezone?: string;
  readonly signal?: AbortSignal;
}

const TOOL_TIMEOUT_MS = 2_500;

/** Never rejects. */
export async function detectFacts(options: FactOptions): Promise<Facts> {
  const { env, tools, allServers = true } = options;
  const fromEnvironment = providerFromEnvironment(env);
  const wanted = allServers || fromEnvironment === null;
  const has = <T>(tool: ToolName, probe: (options: FactOptions) => Promise<T>): Promise<T | null> =>
    tools.includes(tool) ? probe(options).catch(() => null) : Promise.resolve(null);
  const detect = {
    env,
    ...(options.localServers ? { localServers: options.localServers } : {}),
    ...(options.serverTimeoutMs === undefined ? {} : { timeoutMs: options.serverTimeoutMs }),
    ...(options.signal ? { signal: options.signal } : {}),
  };
  const [gateway, local, docker, pulumi, kubernetes, ssh] = await Promise.all([
    detectGateway(detect),
    wanted ? detectServers(detect) : { servers: [], embeddings: [], unusable: [] },
    has("docker", detectDocker),
    has("pulumi", detectPulumi),
    has("kubectl", detectKubernetes),
    has("ssh", detectSsh),
  ]);
  const servers = [...(gateway === null ? [] : [gateway]), ...local.servers];
  const [first = OFFLINE] = servers;
  const own = await ownAddresses({ docker, servers, embeddings: local.embeddings }, options);
  return {
    node: process.versions.node,
    docker,
    pulumi,
    kubernetes,
    ssh,
    own,
    ...local,
    servers,
    provider: fromEnvironment === null || fromEnvironment.id === gateway?.id ? first : fromEnvironment,
    timezone: options.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
  };
}

/** Where model servers listen by now: who was told that one does not may have mended it meanwhile. Never rejects. */
export async function listenAgain(facts: Facts, options: FactOptions): Promise<Facts> {
  return { ...facts, own: await ownAddresses(facts, options) };
}

function ownAddresses(
  { docker, servers, embeddings }: Pick<Facts, "docker" | "servers" | "embeddings">,
  { env, toolTimeoutMs, signal }: FactOptions,
): Promise<OwnAddresses> {
  return detectOwnAddresses({
    env,
    docker: docker !== null && docker.version !== null,
    servers: [...servers, ...embeddings].flatMap(({ baseUrl }) => baseUrl ?? []),
    timeoutMs: toolTimeoutMs ?? TOOL_TIMEOUT_MS,
    signal,
  });
}

function ask(program: string, args: readonly string[], options: FactOptions): Promise<ToolAnswer | null> {
  const { env, toolTimeoutMs: timeoutMs = TOOL_TIMEOUT_MS, signal } = options;
  return askTool({ program, args, env, timeoutMs, signal });
}

async function detectDocker(options: FactOptions): Promise<Facts["docker"]> {
  const answer = await ask("docker", ["version", "--format", "{{.Server.Version}}"], options);
  if (answer === null) return null;
  const version = answer.stdout.trim();
  return { version: answer.ok && /^[\w.+~-]+$/.test(version) ? version : null };
}

async function detectPulumi(options: FactOptions): Promise<Facts["pulumi"]> {
  const answer = await ask("pulumi", ["version"], {
    ...options,
    env: { ...options.env, PULUMI_SKIP_UPDATE_CHECK: "true" },
  });
  const version = /^v?(\d+\.\d+\.\d+\S*)/.exec(answer?.stdout ?? "")?.[1];
  return version === undefined ? null : { version };
}

const kubeconfig = z.object({
  "current-context": z.string().nullish(),
  contexts: z.array(z.object({ name: z.string() })).nullish(),
});

async function detectKubernetes(options: FactOptions): Promise<Facts["kubernetes"]> {
  const answer = await ask("kubectl", ["config", "view", "-o", "json"], options);
  if (answer === null || !answer.ok) return null;
  const found = kubeconfig.parse(JSON.parse(answer.stdout));
  const contexts = (found.contexts ?? []).map(({ name }) => name);
  return { current: found["current-context"] || null, contexts };
}

async function detectSsh(options: FactOptions): Promise<Facts["ssh"]> {
  const [client, agent, files] = await Promise.all([
    ask("ssh", ["-V"], options),
    options.env["SSH_AUTH_SOCK"] ? ask("ssh-add", ["-l"], options) : null,
    readdir(join(options.env["HOME"] ?? "/nonexistent", ".ssh")).catch(() => []),
  ]);
  if (client === null) return null;
  const agentKeys = agent?.ok ? agent.stdout.split("\n").filter((line) => line !== "").length : 0;
  return { agentKeys, keyFiles: files.filter((name) => name.endsWith(".pub")).length };
}
