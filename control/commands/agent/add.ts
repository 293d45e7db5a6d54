import { Args, Flags } from "@oclif/core";
import { type AddedAgent, addAgent } from "../../configuration/agents.ts";
import { DRY_RUN, EditCommand } from "../../edit-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";

export default class AgentAdd extends EditCommand<AddedAgent> {
  static override description =
    "Add an agent to cairn.yaml\n\n" +
    "The file is changed in place: its comments and references stay. A workspace of its own is filled with the templates.";

  static override examples = [
    "<%= config.bin %> agent add researcher --provider anthropic --thinking high",
    "<%= config.bin %> agent add writer --workspace agents/writer --default",
  ];

  static override args = {
    name: Args.string({ ignoreStdin: true, required: true, description: "Name of the agent" }),
  };

  static override flags = {
    provider: Flags.string({ helpValue: "ID", description: "Provider (default: the default agent's)" }),
    model: Flags.string({ helpValue: "NAME", description: "Model (default: the provider's)" }),
    thinking: Flags.string({ options: ["off", "low", "medium", "high"], description: "How long the model thinks" }),
    description: Flags.string({ helpValue: "TEXT", description: "What the agent is for; `agent list` shows it" }),
    node: Flags.string({ helpValue: "NAME", description: "The node that hosts it (default: any)" }),
    workspace: Flags.string({ helpValue: "DIR", description: "A workspace of its own (default: the common one)" }),
    default: Flags.boolean({
      description: "Make it the default agent, which commands talk to that name none",
    }),
    "dry-run": DRY_RUN,
  };

  protected async work({ signal }: Interruption): Promise<AddedAgent> {
    const { args, flags } = await this.parse(AgentAdd);
    const deployment = await this.beginEdit(flags);
    const { provider, model, thinking, description, node, workspace } = flags;
    const request = { name: args.name, provider, model, thinking, description, node, workspace };
    return addAgent(deployment, { ...request, makeDefault: flags.default }, { dryRun: this.dryRun, signal });
  }

  protected render(added: AddedAgent, mark: Mark): string {
    const { length } = added.workspaceFiles;
    const files = length === 0 ? "" : ` ${length} files were written into its workspace.`;
    return this.rendered(added, `Added ${added.agent}.${files}`, mark);
  }
}
