/** `agent add | remove | list`: who there is, as cairn.yaml says. */

import { cp, mkdir, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { agentWorkspace, type Config } from "../../runtime/config/index.ts";
import { ConfigError, RuntimeError } from "../../runtime/contracts/errors.ts";
import type { Deployment } from "../service/deployment.ts";
import { exists } from "../wizard/files.ts";
import { templateDirectory } from "../wizard/templates.ts";
import { loadedConfig, unknownAgent } from "./current.ts";
import { type Edit, type EditOptions, editConfiguration } from "./edit.ts";
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

/** The configured agents, by name. Errors as `inspectConfig`'s. */
export async function listAgents(deployment: Deployment, signal?: AbortSignal): Promise<readonly AgentEntry[]> {
  const { config } = await loadedConfig(deployment, signal);
  return Object.entries(config.agents).map(([name, agent]) => ({
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
  const { config } = await loadedConfig(deployment, options.signal);
  if (Object.hasOwn(config.agents, request.name)) {
    throw new ConfigError("CONFIG_EXISTS", `There is an agent ${request.name} already.`, {
      hint: "Choose another name, or change it with `cairn provider` and `cairn model`.",
    });
  }
  const provider = request.provider ?? config.agents[config.runtime.default_agent]?.provider;
  if (provider === undefined) {
    throw new ConfigError("CONFIG_INVALID", "No provider is configured.", { hint: "Pass --provider." });
  }
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
      if (request.makeDefault) setOwn(document, ["runtime", "default_agent"], request.name);
    },
    options,
  );
  const workspaceFiles =
    request.workspace === undefined || options.dryRun
      ? []
      : await seedWorkspace(resolve(deployment.dir, request.workspace));
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
  const reasons = [
    ...(name === config.runtime.default_agent ? ["it is runtime.default_agent"] : []),
    ...bindingsOf(config, name).map((binding) => `${binding} is bound to it`),
  ];
  if (reasons.length > 0) {
    throw new RuntimeError("RUNTIME_CONFLICT", `${name} cannot be removed: ${reasons.join("; ")}.`, {
      hint: "Let them lead to another agent first, for example with `cairn agent add NAME --default`.",
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

function bindingsOf(config: Config, agent: string): string[] {
  return Object.entries(config.channels).flatMap(([channel, { channel_bindings: bindings }]) =>
    Object.entries(bindings ?? {}).flatMap(([id, bound]) => (bound === agent ? [`${channel}/${id}`] : [])),
  );
}

/** The template's files, where the workspace does not have them. */
async function seedWorkspace(workspace: string): Promise<string[]> {
  const source = join(templateDirectory(), "workspace");
  const written: string[] = [];
  await mkdir(workspace, { recursive: true });
  for (const name of (await readdir(source)).sort()) {
    const target = join(workspace, name);
    if (await exists(target)) continue;
    await cp(join(source, name), target, { force: false, errorOnExist: false });
    written.push(target);
  }
  return written;
}

function defined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
