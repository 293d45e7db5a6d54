import { BaseCommand } from "../../base-command.ts";
import { type AgentEntry, listAgents } from "../../configuration/agents.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { findDeployment } from "../../service/deployment.ts";

export interface AgentListResult {
  readonly agents: readonly AgentEntry[];
}

export default class AgentList extends BaseCommand<AgentListResult> {
  static override description = "List the configured agents, and what answers for each";

  static override examples = ["<%= config.bin %> agent list", "<%= config.bin %> agent list --json"];

  protected async work({ signal }: Interruption): Promise<AgentListResult> {
    const { flags } = await this.parse(AgentList);
    return { agents: await listAgents(findDeployment(flags), { signal }) };
  }

  protected render({ agents }: AgentListResult, mark: Mark): string {
    if (agents.length === 0) return "No agent is configured. Add one with `cairn agent add NAME`.";
    return agents
      .map((agent) => {
        const model = agent.model === null ? "" : `:${agent.model}`;
        const facts = [
          `${agent.provider}${model}`,
          ...(agent.thinking === "off" ? [] : [`thinking ${agent.thinking}`]),
          ...(agent.node === null ? [] : [`on ${agent.node}`]),
          ...agent.channels,
        ];
        const name = agent.default ? `${mark.name(agent.name)} ${mark.dim("(default)")}` : mark.name(agent.name);
        const about = agent.description === null ? "" : `\n  ${mark.dim(visible(agent.description))}`;
        return `${name}  ${visible(facts.join(", "))}${about}`;
      })
      .join("\n");
  }
}
