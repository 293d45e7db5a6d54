/** From `agents` in the configuration to what the turn code knows of them. */

import type { Agent } from "../app/turn/agents.ts";
import { agentWorkspace, type Config } from "../config/index.ts";
import type { Logger } from "../contracts/ports.ts";
import type { Tool } from "../contracts/tool.ts";
import { selectTools } from "../domain/tool-selection.ts";

/** Room for a reply where the provider's `max_tokens` says nothing. */
const REPLY_TOKENS = 8_192;

export function createAgents(config: Config, tools: readonly Tool[], logger: Logger): Map<string, Agent> {
  return new Map(
    Object.entries(config.agents).map(([name, agent]) => {
      const provider = config.providers[agent.provider];
      const selection = selectTools(tools, {
        ...(agent.tools.include ? { include: agent.tools.include } : {}),
        exclude: agent.tools.exclude,
      });
      if (selection.unknown.length > 0) {
        logger.warn({ agent: name, unknown: selection.unknown }, "an agent names tools that do not exist");
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
          tools: new Map(selection.tools.map((tool) => [tool.name, tool])),
          contextWindow: provider?.context_window ?? 128_000,
          replyTokens: provider?.max_tokens ?? REPLY_TOKENS,
          ...(agent.node === undefined ? {} : { node: agent.node }),
        },
      ];
    }),
  );
}
