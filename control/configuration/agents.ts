/** `agent add | remove | list`: the agents of cairn.yaml. */

import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { agentWorkspace, type Config } from "../../runtime/config/index.ts";
import { mapAt, type TreeMap, valueAt } from "../../runtime/config/tree.ts";
import { ConfigError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { systemWords } from "../../runtime/contracts/system-errors.ts";
import { createAtomically, temporaryName } from "../../runtime/files/atomic-write.ts";
import { openRoot } from "../../runtime/files/directory.ts";
import type { Deployment } from "../service/deployment.ts";
import { templateDirectory } from "../wizard/templates.ts";
import { loadedConfig, unknownAgent, writtenTree } from "./current.ts";
import { type Edit, type EditOptions, editConfiguration } from "./edit.ts";
import { requireName } from "./names.ts";
import { deleteOwn, setOwn } from "./own-nodes.ts";
import { ensureProvider } from "./providers.ts";

export interface AgentEntry {
  readonly name: string;
  readonly description: string | null;
  readonly default: boolean;
  readonly provider: string;
  readonly model: string | null;
  readonly thinking: string;
  readonly fallbacks: readonly string[];
  readonly workspace: string;
  /** The node that hosts it; null: any. */
  readonly node: string | null;
  /** `<channel>/<id>` for each binding. */
  readonly channels: readonly string[];
}

export interface AgentRequest {
  readonly name: string;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly thinking?: string | undefined;
  readonly description?: string | undefined;
  readonly node?: string | undefined;
  /** A workspace of its own, relative to the deployment directory. */
  readonly workspace?: string | undefined;
  readonly makeDefault: boolean;
}

export interface AddedAgent extends Edit {
  readonly agent: string;
  /** Files that were written into a workspace of its own; those that were there are left alone. */
  readonly workspaceFiles: readonly string[];
}

const DEFAULT_AGENT = ["runtime", "default_agent"] as const;

/** The configured agents, by name, or one of them. RUNTIME_NOT_FOUND where there is no such agent; errors as `inspectConfig`'s. */
export async function listAgents(
  deployment: Deployment,
  { agent: only, signal }: { readonly agent?: string | undefined; readonly signal?: AbortSignal } = {},
): Promise<readonly AgentEntry[]> {
  const { config } = await loadedConfig(deployment, signal);
  if (only !== undefined && !Object.hasOwn(config.agents, only)) throw unknownAgent(only, config);
  const asked = Object.entries(config.agents).filter(([name]) => only === undefined || name === only);
  return asked.map(([name, agent]) => ({
    name,
    description: agent.description ?? null,
    default: name === config.runtime.default_agent,
    provider: agent.provider,
    model: agent.model ?? config.providers[agent.provider]?.model ?? null,
    thinking: agent.default_thinking,
    fallbacks: agent.fallbacks,
    workspace: agentWorkspace(config, name),
    node: agent.node ?? null,
    channels: bindingsOf(config, name),
  }));
}

/** CONFIG_EXISTS when there is such an agent; else as `editConfiguration`. */
export async function addAgent(
  deployment: Deployment,
  request: AgentRequest,
  options: EditOptions = {},
): Promise<AddedAgent> {
  requireName(request.name, "an agent's name");
  // Of a file that has no agent yet, too: it is valid once it has one.
  const tree = await writtenTree(deployment, options.signal);
  if (Object.hasOwn(mapAt(tree, "agents"), request.name)) {
    throw new ConfigError("CONFIG_EXISTS", `There is an agent ${request.name} already.`, {
      hint: "Choose another name, or change it with `cairn provider` and `cairn model`.",
    });
  }
  const provider = request.provider ?? usualProvider(tree);
  if (provider === undefined) {
    throw new ConfigError("CONFIG_INVALID", "No provider is configured.", { hint: "Pass --provider." });
  }
  const { workspace } = request;
  let workspaceFiles: readonly string[] = [];
  const edit = await editConfiguration(
    deployment,
    (document) => {
      const entry = defined({
        description: request.description,
        provider,
        model: request.model,
        default_thinking: request.thinking,
        node: request.node,
        workspace: request.workspace,
      });
      ensureProvider(document, provider, undefined);
      setOwn(document, ["agents", request.name], document.createNode(entry));
      const before = valueAt(tree, DEFAULT_AGENT);
      if (request.makeDefault) setOwn(document, DEFAULT_AGENT, request.name);
      // An agent that is the default implicitly (the only one, or none is called main) stays the default.
      else if (before !== undefined && before !== "main" && !document.hasIn(DEFAULT_AGENT))
        setOwn(document, DEFAULT_AGENT, before);
    },
    {
      ...options,
      prepare: async () => {
        if (workspace !== undefined) workspaceFiles = await seedWorkspace(resolve(deployment.dir, workspace));
      },
    },
  );
  return { ...edit, agent: request.name, workspaceFiles };
}

/** RUNTIME_NOT_FOUND for an unknown agent, RUNTIME_CONFLICT while something still leads to it. Files and memory stay. */
export async function removeAgent(
  deployment: Deployment,
  name: string,
  options: EditOptions = {},
): Promise<Edit & { readonly agent: string; readonly workspace: string }> {
  const { config } = await loadedConfig(deployment, options.signal);
  if (!Object.hasOwn(config.agents, name)) throw unknownAgent(name, config);
  const ties = tiesOf(config, name);
  if (ties.length > 0) {
    throw new RuntimeError("RUNTIME_CONFLICT", `${name} cannot be removed: ${ties.map(({ tie }) => tie).join("; ")}.`, {
      hint: `First: ${ties.map(({ remedy }) => remedy).join(", ")}.`,
    });
  }
  const edit = await editConfiguration(
    deployment,
    (document) => {
      deleteOwn(document, ["agents", name]);
    },
    options,
  );
  return { ...edit, agent: name, workspace: agentWorkspace(config, name) };
}

/** What leads to an agent, and how it is led to another one. */
function tiesOf(config: Config, name: string): { readonly tie: string; readonly remedy: string }[] {
  const others = Object.keys(config.agents).filter((other) => other !== name);
  const order = [...others, name].map((other) => `--agent ${other}`).join(" ");
  const other = others.length > 0 ? `\`cairn config --yes ${order}\`` : "`cairn agent add NAME --default`";
  return [
    ...(name === config.runtime.default_agent ? [{ tie: "it is runtime.default_agent", remedy: other }] : []),
    ...bindingsOf(config, name).map((binding) => ({
      tie: `${binding} is bound to it`,
      remedy: `\`cairn config --yes --bind ${/\s/.test(binding) ? `"${binding}=AGENT"` : `${binding}=AGENT`}\``,
    })),
  ];
}

function bindingsOf(config: Config, agent: string): string[] {
  return Object.entries(config.channels).flatMap(([channel, { channel_bindings: bindings }]) =>
    Object.entries(bindings ?? {}).flatMap(([id, bound]) => (bound === agent ? [`${channel}/${id}`] : [])),
  );
}

function usualProvider(tree: TreeMap): string | undefined {
  const chosen = valueAt(tree, DEFAULT_AGENT);
  const provider = typeof chosen === "string" ? valueAt(tree, ["agents", chosen, "provider"]) : undefined;
  const [only, ...others] = Object.keys(mapAt(tree, "providers"));
  if (typeof provider === "string") return provider;
  return others.length === 0 ? only : undefined;
}

/** The template's files, where the workspace does not have them. CONFIG_UNWRITABLE. */
async function seedWorkspace(workspace: string): Promise<string[]> {
  try {
    return await copyTemplates(workspace);
  } catch (error) {
    const { reason } = systemWords(error);
    throw new ConfigError("CONFIG_UNWRITABLE", `The workspace ${workspace} cannot be written (${reason}).`, {
      cause: error,
      hint: "Nothing was changed in cairn.yaml. Choose another directory with --workspace.",
    });
  }
}

/** The directory may be one that agents write to already: whatever has a file's name stays, be it a link to nothing. */
async function copyTemplates(workspace: string): Promise<string[]> {
  const source = join(templateDirectory(), "workspace");
  const written: string[] = [];
  await mkdir(workspace, { recursive: true });
  await using directory = await openRoot(workspace);
  for (const name of (await readdir(source)).sort()) {
    const temporary = temporaryName(randomUUID());
    const content = await readFile(join(source, name));
    if (await createAtomically(directory, name, content, { temporary, mode: 0o644 }))
      written.push(join(workspace, name));
  }
  return written;
}

function defined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
