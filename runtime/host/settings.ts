/** What the parts of a node take from its configuration, in the words of those parts. */

import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import type { TurnLimits } from "../app/turn/agents.ts";
import { isPem, type LoadedConfig, parseListen } from "../config/index.ts";
import { ConfigError } from "../contracts/errors.ts";
import { HARNESSES } from "../domain/harnesses/event.ts";
import { harnessPaths } from "../domain/harnesses/paths.ts";
import type { GivenTags } from "../domain/memory-tags.ts";
import type { ChannelRouting } from "../domain/routing.ts";
import { SEARCH_WEIGHTS, type SearchWeights } from "../domain/scoring.ts";
import {
  type CodingSettings,
  type DelegationSettings,
  SHELL_DEFAULTS,
  type ShellSettings,
  type SubagentSettings,
  type WebFetchSettings,
  type WebSearchSettings,
} from "../plugins/tools/index.ts";

const CONTEXT_TOKENS = 4_000;
const MAX_ACTIVE_TURNS = 64;
/** An eighth of the node is always free for the owner; another user gets a quarter of it at most. */
const MAX_TURNS_OF_OTHERS = 56;
const MAX_TURNS_OF_ONE_USER = 16;
/** Queued and running: what a claim ranks, and what one token may keep others waiting for. */
const MAX_OPEN_OF_OTHERS = 1_000;
const MAX_OPEN_OF_ONE_USER = 100;
/** A fifteenth of the owner's: each later turn of the session reads and counts the text again. */
const MAX_TEXT_OF_OTHERS = 65_536;
/** What a request brings along is written to the store at once, and read back with the turn: megabytes hold up all others. */
const MAX_TEXTS_OF_OTHERS = 524_288;
/** While its turn runs an attachment is in memory about six times over, and up to 56 turns run at once. */
const MAX_ATTACHED_OF_OTHERS = 4 * 1024 * 1024;
/** Each one costs the turn another reply, and stays in its prompt. */
const MAX_STEERS_OF_OTHERS = 20;

export function turnLimits({ config: { runtime } }: LoadedConfig): TurnLimits {
  return {
    maxToolIterations: runtime.max_tool_iterations,
    turnTimeoutMs: runtime.turn_timeout,
    leaseMs: runtime.lease,
    contextTokens: CONTEXT_TOKENS,
    timezone: runtime.timezone,
    maxActiveTurns: MAX_ACTIVE_TURNS,
    maxTurnsOfOthers: MAX_TURNS_OF_OTHERS,
    maxTurnsOfOneUser: MAX_TURNS_OF_ONE_USER,
    maxOpenOfOthers: MAX_OPEN_OF_OTHERS,
    maxOpenOfOneUser: MAX_OPEN_OF_ONE_USER,
    maxTextOfOthers: MAX_TEXT_OF_OTHERS,
    maxTextsOfOthers: MAX_TEXTS_OF_OTHERS,
    maxAttachedOfOthers: MAX_ATTACHED_OF_OTHERS,
    maxSteersOfOthers: MAX_STEERS_OF_OTHERS,
  };
}

export function listenAddress({ config, env }: LoadedConfig): { readonly host: string; readonly port: number } {
  // Both were checked when the configuration was read.
  return parseListen(env["SERVICE_LISTEN"] || config.runtime.listen) ?? { host: "127.0.0.1", port: DEFAULT_PORT };
}

/** Of nodes: an address without one, and without a scheme, has it. */
const DEFAULT_PORT = 7433;

/** The URL under which others reach this node; null when none is configured. */
export function advertisedUrl({ config: { mesh, runtime } }: LoadedConfig): string | null {
  if (mesh.advertise === undefined) return null;
  if (/^https?:\/\//.test(mesh.advertise)) return mesh.advertise;
  const [, host = "", path = ""] = /^([^/]*)(.*)$/.exec(mesh.advertise) ?? [];
  const port = /:\d+$/.test(host) ? "" : `:${DEFAULT_PORT}`;
  return `${runtime.tls === "off" ? "http" : "https"}://${host}${port}${path}`;
}

/** `mesh.seeds` as URLs: nodes of a mesh serve TLS. */
export function seedUrls({ config: { mesh } }: LoadedConfig): readonly string[] {
  return mesh.seeds.map((seed) => (/^https?:\/\//.test(seed) ? seed : `https://${seed}`));
}

/** The name in it; empty when none is configured. */
export function advertisedHost(loaded: LoadedConfig): string {
  return URL.parse(advertisedUrl(loaded) ?? "")?.hostname ?? "";
}

/** The certificate that `runtime.tls` names or holds; null where it does neither. CONFIG_UNREADABLE when it is not there. */
export async function givenCertificate({
  config,
}: LoadedConfig): Promise<{ readonly cert: Buffer; readonly key: Buffer } | null> {
  const { tls } = config.runtime;
  if (typeof tls === "string") return null;
  try {
    const [cert, key] = await Promise.all([readPem(tls.cert), readPem(tls.key)]);
    return { cert, key };
  } catch (cause) {
    throw new ConfigError("CONFIG_UNREADABLE", "The certificate of runtime.tls cannot be read.", { cause });
  }
}

async function readPem(value: string): Promise<Buffer> {
  return isPem(value) ? Buffer.from(value) : readFile(value);
}

export function shellSettings({ config, env }: LoadedConfig): ShellSettings {
  const { sandbox, timeout, max_output, network, network_for_others, env: names, ...bounds } = config.tools.shell;
  const given = names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  return {
    ...SHELL_DEFAULTS,
    // A default deadline above the longest one raises that, too.
    maxTimeoutMs: Math.max(SHELL_DEFAULTS.maxTimeoutMs, timeout),
    sandbox,
    timeoutMs: timeout,
    maxOutputBytes: max_output,
    network,
    networkForOthers: network_for_others,
    maxProcesses: bounds.max_processes,
    maxMemoryBytes: bounds.max_memory,
    env: Object.fromEntries(given),
  };
}

export function delegationSettings({ config: { tools, agents } }: LoadedConfig): DelegationSettings {
  const { timeout, max_depth: maxDepth } = tools.delegate_task;
  const described = Object.entries(agents).map(([name, { description = null }]) => ({ name, description }));
  return { timeoutMs: timeout, maxDepth, agents: described };
}

export function subagentSettings({ config: { tools } }: LoadedConfig): SubagentSettings {
  const { timeout, max_depth: maxDepth, max_running: maxRunning, max_tokens: maxTokens } = tools.subagent_spawn;
  return { timeoutMs: timeout, maxDepth, maxRunning, maxTokens };
}

export function codingSettings({ config: { tools, agents } }: LoadedConfig): CodingSettings {
  const { timeout, check_timeout, max_rounds: maxRounds, max_tokens: maxTokens } = tools.coding_pipeline;
  const checks = new Map(
    Object.entries(agents).flatMap(([name, agent]) => (agent.checks ? [[name, agent.checks]] : [])),
  );
  return { timeoutMs: timeout, checkTimeoutMs: check_timeout, maxRounds, maxTokens, checks };
}

export function webFetchSettings({ config }: LoadedConfig): WebFetchSettings {
  const { allow_hosts: allowHosts, timeout: timeoutMs, max_bytes: maxBytes } = config.tools.web_fetch;
  return { allowHosts, timeoutMs, maxBytes };
}

/** Null without a backend: the tool is off. */
export function webSearchSettings({ config }: LoadedConfig): WebSearchSettings | null {
  const {
    backend,
    base_url: baseUrl = null,
    api_key: apiKey = null,
    max_results: maxResults,
  } = config.tools.web_search;
  return backend === undefined ? null : { backend, baseUrl, apiKey, maxResults };
}

/** Where workspace files come from and go to; null outside of containers. */
export function workspaceSeed({
  config: { runtime, agents },
  env,
}: LoadedConfig): { readonly seed: string; readonly root: string; readonly workspaces: readonly string[] } | null {
  const { SERVICE_WORKSPACE_SEED: seed, SERVICE_WORKSPACE_ROOT: root } = env;
  if (!seed || !root) return null;
  const own = Object.values(agents).flatMap(({ workspace }) => (workspace === undefined ? [] : [workspace]));
  return { seed, root, workspaces: [runtime.workspace, ...own] };
}

/** Where memory_get_full may follow disk pointers to. */
export function sessionRoots({ config, env }: LoadedConfig): readonly string[] {
  const { session_roots: given } = config.memory;
  if (given !== undefined) return given;
  const home = env["HOME"] || homedir();
  return HARNESSES.flatMap((harness) => harnessPaths(harness, env, home).sessions);
}

/** Tags of rows that the write tools store, for calls that leave them out; null where those tools are not enabled. */
export function writeTags({ env }: LoadedConfig): GivenTags | null {
  if (env["SERVICE_MCP_ENABLE_MEMORY_WRITE"] !== "1") return null;
  const { SERVICE_MEMORY_SOURCE: source, SERVICE_MEMORY_AGENT: agent } = env;
  const { SERVICE_MEMORY_CHANNEL: channel, SERVICE_MEMORY_PERSONA: persona } = env;
  return { source, agent, channel, persona };
}

export function isDisabled(loaded: LoadedConfig, tool: string): boolean {
  const { config } = loaded;
  if (tool === "web_search" && webSearchSettings(loaded) === null) return true;
  const settings: Readonly<Record<string, { readonly enabled: boolean } | undefined>> = config.tools;
  return settings[tool]?.enabled === false;
}

/** The static bindings of a channel (specification, "Message lifecycle"). */
export function channelRouting({ config }: LoadedConfig): (channel: string) => ChannelRouting {
  return (channel) => ({
    channelBindings: config.channels[channel]?.channel_bindings ?? {},
    defaultAgent: config.runtime.default_agent,
  });
}

/** What the configuration leaves out has the tuned weight. */
export function searchWeights({ config }: LoadedConfig): { readonly weights?: SearchWeights } {
  const { weights } = config.memory.search;
  if (!weights) return {};
  const { fts, semantic, temporal, importance } = weights;
  return {
    weights: {
      fts: fts ?? SEARCH_WEIGHTS.fts,
      semantic: semantic ?? SEARCH_WEIGHTS.semantic,
      temporal: temporal ?? SEARCH_WEIGHTS.temporal,
      importance: importance ?? SEARCH_WEIGHTS.importance,
    },
  };
}
