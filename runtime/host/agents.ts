/** From `agents` in the configuration to what the turn code knows of them. */

import { join } from "node:path";
import type { Agent } from "../app/turn/agents.ts";
import { agentWorkspace, type Config } from "../config/index.ts";
import type { Logger } from "../contracts/ports.ts";
import type { Tool } from "../contracts/tool.ts";
import { selectAgentTools } from "../domain/tool-selection.ts";

/** Room for a reply where the provider's `max_tokens` says nothing. */
const REPLY_TOKENS = 8_192;

export interface AgentsInput {
  readonly config: Config;
  readonly tools: readonly Tool[];
  /** Directory for the workspaces of users who are not the owner. */
  readonly workspacesOfOthers: string;
  readonly logger: Logger;
}

export function createAgents({ config, tools, workspacesOfOthers, logger }: AgentsInput): Map<string, Agent> {
  return new Map(
    Object.entries(config.agents).map(([name, agent]) => {
      const provider = config.providers[agent.provider];
      const { owner, others } = selectAgentTools(tools, agent.tools);
      if (owner.unknown.length > 0) {
        logger.warn({ agent: name, unknown: owner.unknown }, "an agent names tools that do not exist");
      }
      if (others.unknown.length > 0) {
        logger.warn({ agent: name, unknown: others.unknown }, "tools.others names tools that the agent does not have");
      }
      return [
        name,
        {
          name,
          provider: agent.provider,
          ...(agent.model === undefined ? {} : { model: agent.model }),
          fallbacks: agent.fallbacks,
          thinking: agent.default_thinking,
          workspace: agentWorkspace(config, name),
          workspacesOfOthers: join(workspacesOfOthers, name),
          tools: byName(owner.tools),
          toolsOfOthers: byName(others.tools),
          contextWindow: provider?.context_window ?? 128_000,
          replyTokens: provider?.max_tokens ?? REPLY_TOKENS,
          ...(agent.node === undefined ? {} : { node: agent.node }),
        },
      ];
    }),
  );
}

function byName(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}
