import { Args, Flags } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import { removeAgent } from "../../configuration/agents.ts";
import type { Edit } from "../../configuration/edit.ts";
import type { Interruption } from "../../output/interruption.ts";
import { renderEdit } from "../../output/render-edit.ts";
import type { Mark } from "../../output/terminal.ts";
import { applyCommand } from "../../service/deployed-node.ts";
import { findDeployment } from "../../service/deployment.ts";

export interface RemovedAgent extends Edit {
  readonly agent: string;
  /** Its files; they stay. */
  readonly workspace: string;
}

export default class AgentRemove extends BaseCommand<RemovedAgent> {
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
    "dry-run": Flags.boolean({ description: "Show what would change, and change nothing" }),
  };

  #dryRun = false;
  #apply = "";

  protected async work({ signal }: Interruption): Promise<RemovedAgent> {
    const { args, flags } = await this.parse(AgentRemove);
    this.#dryRun = flags["dry-run"];
    const deployment = findDeployment(flags);
    this.#apply = await applyCommand(deployment);
    return removeAgent(deployment, args.name, { dryRun: this.#dryRun, signal });
  }

  protected render(removed: RemovedAgent, mark: Mark): string {
    const done = `Removed ${removed.agent}. Its workspace ${removed.workspace} and its memory stay.`;
    return renderEdit(removed, done, mark, { dryRun: this.#dryRun, apply: this.#apply });
  }
}
