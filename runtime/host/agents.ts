/** From `agents` in the configuration to what the turn code needs of them, with the providers, tools and hooks that they use. */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createBackground } from "../app/background.ts";
import { createHookPipeline, type HookPipeline } from "../app/hooks.ts";
import type { TodoLists } from "../app/todo-lists.ts";
import { ToolRegistry } from "../app/tool-registry.ts";
import type { Agent } from "../app/turn/agents.ts";
import { agentWorkspace, type Config } from "../config/index.ts";
import { LIMITS } from "../contracts/health-report.ts";
import type { Clock, Logger, NewId } from "../contracts/ports.ts";
import type { Provider } from "../contracts/provider.ts";
import type { Tool } from "../contracts/tool.ts";
import { serverOf } from "../domain/mcp/tool-names.ts";
import type { ModelWindow } from "../domain/model-window.ts";
import { selectAgentTools } from "../domain/tool-selection.ts";
import { autoActions } from "../plugins/hooks/auto-actions/manifest.ts";
import { type AuditFile, type AuditLog, createAuditLog } from "../plugins/hooks/safety/index.ts";
import { safety } from "../plugins/hooks/safety/manifest.ts";
import { sessionSummary } from "../plugins/hooks/session-summary/manifest.ts";
import { createCommandRunner, createSystemNetwork, createWorkspaceGate } from "../plugins/tools/index.ts";
import type { ToolNeeds } from "../plugins/tools/manifest.ts";
import { TOOLS } from "../plugins/tools/manifests.ts";
import type { MemoryParts } from "./memory.ts";
import type { HostOptions } from "./options.ts";
import { loadPlugins, type PluginParts } from "./plugins.ts";
import { createProviders, windowsOf } from "./providers.ts";
import { serviceFiles } from "./service-files.ts";
import type { Service } from "./services.ts";
import {
  codingSettings,
  delegationSettings,
  isDisabled,
  shellSettings,
  subagentSettings,
  webFetchSettings,
  webSearchSettings,
} from "./settings.ts";
import { composeSkills, type SkillParts } from "./skills.ts";

const HOOKS_DRAIN_MS = 10_000;

export interface AgentHostDeps {
  readonly options: HostOptions;
  /** Of the node's end. */
  readonly stopping: AbortSignal;
  readonly memory: Pick<MemoryParts, "memory" | "tools" | "summarize">;
  readonly todoLists: TodoLists;
  /** Directory for the workspaces of users who are not the owner. */
  readonly workspacesOfOthers: string;
  readonly auditFile: AuditFile;
  readonly clock: Clock;
  readonly newId: NewId;
}

export interface AgentParts {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly tools: ToolRegistry;
  readonly providers: ReadonlyMap<string, Provider>;
  /** By provider. */
  readonly windows: ReadonlyMap<string, ModelWindow>;
  readonly hooks: HookPipeline;
  /** Null where the configuration has switched it off for tool calls. */
  readonly audit: AuditLog | null;
  readonly skills: SkillParts;
  readonly plugins: PluginParts;
  /** What hooks do in the background. */
  readonly service: Service;
}

export async function composeAgents(deps: AgentHostDeps): Promise<AgentParts> {
  const { options, stopping, todoLists, workspacesOfOthers, auditFile, clock, newId } = deps;
  const { memory, tools: memoryTools, summarize } = deps.memory;
  const { loaded, redact, hide } = options;
  const { logger } = options.log;
  const { config, env, home } = loaded;
  const plugins = await loadPlugins(options, stopping);
  const providers = await createProviders(config, {
    inContainer: env["SERVICE_CONTAINER"] === "1",
    memory,
    timezone: config.runtime.timezone,
    brought: plugins.providers,
    logger,
    home,
    clock,
    hide,
  });
  const protectedPaths = serviceFiles(loaded);
  const workspaces = Object.keys(config.agents).map((name) => agentWorkspace(config, name));
  const gate = createWorkspaceGate({ protectedPaths, workspaces });
  const skills = composeSkills(config, () => hooks, logger);
  const enabled = TOOLS.filter(({ id }) => !isDisabled(loaded, id));
  const needs: ToolNeeds = {
    memoryTools,
    todoLists,
    skills: skills.use,
    skillLibrary: skills.library,
    gate,
    shell: shellSettings(loaded),
    delegation: delegationSettings(loaded),
    subagents: subagentSettings(loaded),
    coding: codingSettings(loaded),
    webFetch: webFetchSettings(loaded),
    webSearch: webSearchSettings(loaded),
    webNetwork: createSystemNetwork(),
    container: env["SERVICE_CONTAINER"] === "1",
    protectedPaths,
    stateDirectory: home,
    hostEnv: env,
    clock,
    newId,
    logger,
  };
  const builtIn = await Promise.all(enabled.map((manifest) => manifest.create(needs)));
  const audit = config.runtime.safety.audit ? createAuditLog({ file: auditFile, redact }) : null;
  const runCommand = createCommandRunner({ ...needs, settings: needs.shell });
  const background = createBackground(logger);
  const ending = new AbortController();
  const ofActions = { runCommand, gate, audit, background, stopping: ending.signal, clock, logger };
  const hooks = createHookPipeline(
    [
      ...(await safety.create({ settings: config.runtime.safety, gate, auditFile, redact, logger })),
      ...(await autoActions.create({ settings: config.runtime.auto_actions, ...ofActions })),
      ...(await sessionSummary.create({ summarize })),
      ...plugins.hooks,
    ],
    logger,
  );
  const all = [...builtIn, ...plugins.tools];
  warnOfUnknownTools(config, all, logger);
  const tools = new ToolRegistry(all);
  const service: Service = {
    name: "background work of hooks",
    drain: () => Promise.race([background.idle(), sleep(HOOKS_DRAIN_MS, undefined, { ref: false })]),
    async stop() {
      ending.abort();
      await background.idle();
    },
  };
  const agents = createAgents(config, workspacesOfOthers);
  return { agents, tools, providers, windows: windowsOf(config), hooks, audit, skills, plugins, service };
}

function createAgents(config: Config, workspacesOfOthers: string): Map<string, Agent> {
  return new Map(
    Object.entries(config.agents).map(([name, agent]) => [
      name,
      {
        name,
        provider: agent.provider,
        ...(agent.model === undefined ? {} : { model: agent.model }),
        fallbacks: agent.fallbacks,
        thinking: agent.default_thinking,
        workspace: agentWorkspace(config, name),
        workspacesOfOthers: join(workspacesOfOthers, name),
        tools: agent.tools,
        ...(agent.node === undefined ? {} : { node: agent.node }),
        ...budgetOf(agent.budget),
      },
    ]),
  );
}

function budgetOf(budget: Config["agents"][string]["budget"]): Pick<Agent, "budget"> {
  if (budget === undefined) return {};
  const limits = LIMITS.flatMap((limit) => {
    const max = budget[limit];
    return max === undefined ? [] : [[limit, max] as const];
  });
  return limits.length === 0 ? {} : { budget: { limits: Object.fromEntries(limits), onLimit: budget.on_limit } };
}

function warnOfUnknownTools(config: Config, tools: readonly Tool[], logger: Logger): void {
  for (const [agent, { tools: selection }] of Object.entries(config.agents)) {
    const selected = selectAgentTools(tools, selection);
    // Tools of MCP servers come later, and go.
    const isUnknown = (name: string) => !Object.hasOwn(config.mcp.servers, serverOf(name) ?? "");
    const unknown = selected.owner.unknown.filter(isUnknown);
    const unknownOfOthers = selected.others.unknown.filter(isUnknown);
    if (unknown.length > 0) logger.warn({ agent, unknown }, "an agent names tools that do not exist");
    if (unknownOfOthers.length > 0) {
      logger.warn({ agent, unknown: unknownOfOthers }, "tools.others names tools that the agent does not have");
    }
  }
}
