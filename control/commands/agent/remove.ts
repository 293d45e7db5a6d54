import { Args } from "@oclif/core";
import { removeAgent } from "../../configuration/agents.ts";
import type { Edit } from "../../configuration/edit.ts";
import { DRY_RUN, EditCommand } from "../../edit-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";

export interface RemovedAgent extends Edit {
  readonly agent: string;
  /** Its files; they stay. */
  readonly workspace: string;
}

export default class AgentRemove extends EditCommand<RemovedAgent> {
  static override description =
    "Remove an agent from cairn.yaml\n\n" +
    "Its workspace and its memory stay. The default agent, and one that a channel is bound to, are refused.";

  static override examples = [
    "<%= config.bin %> agent remove writer",
    "<%= config.bin %> agent remove writer --dry-run",
  ];

  static override args = {
    name: Args.string({ ignoreStdin: true, required: true, description: "Name of the agent" }),
  };

  static override flags = {
    "dry-run": DRY_RUN,
  };

  protected async work({ signal }: Interruption): Promise<RemovedAgent> {
    const { args, flags } = await this.parse(AgentRemove);
    const deployment = await this.beginEdit(flags);
    return removeAgent(deployment, args.name, { dryRun: this.dryRun, signal });
  }

  protected render(removed: RemovedAgent, mark: Mark): string {
    const done = `Removed ${removed.agent}. Its workspace ${removed.workspace} and its memory stay.`;
    return this.rendered(removed, done, mark);
  }
}
