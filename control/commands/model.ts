import { Args, Flags } from "@oclif/core";
import { type AgentEntry, listAgents } from "../configuration/agents.ts";
import { type Switched, switchProvider } from "../configuration/providers.ts";
import { doubted } from "../configuration/unlisted-model.ts";
import { DRY_RUN, EditCommand } from "../edit-command.ts";
import type { Interruption } from "../output/interruption.ts";
import type { Mark } from "../output/terminal.ts";

export type ModelResult = { readonly models: readonly Pick<AgentEntry, "name" | "provider" | "model">[] } | Switched;

export default class Model extends EditCommand<ModelResult> {
  static override description =
    "Show which model answers for each agent, or change it\n\n" +
    "The model is written at the agent where its provider answers for others too, else at the provider. For one " +
    "conversation alone use /model in a chat.";

  static override examples = [
    "<%= config.bin %> model",
    "<%= config.bin %> model claude-opus-5",
    "<%= config.bin %> model gpt-5.5 --agent researcher",
  ];

  static override args = {
    model: Args.string({ ignoreStdin: true, description: "Model to use" }),
  };

  static override flags = {
    agent: Flags.string({ helpValue: "NAME", description: "Agent to change (default: the default agent)" }),
    "dry-run": DRY_RUN,
  };

  protected async work({ signal }: Interruption): Promise<ModelResult> {
    const { args, flags } = await this.parse(Model);
    const deployment = await this.beginEdit(flags);
    if (args.model !== undefined) {
      const request = { model: args.model, agent: flags.agent };
      const switched = await switchProvider(deployment, request, { dryRun: this.dryRun, signal });
      return doubted(deployment, switched, signal);
    }
    const agents = await listAgents(deployment, { agent: flags.agent, signal });
    return { models: agents.map(({ name, provider, model }) => ({ name, provider, model })) };
  }

  protected render(result: ModelResult, mark: Mark): string {
    if (!("models" in result)) {
      return this.rendered(result, `${result.agent} uses ${result.model ?? "its provider's model"}.`, mark);
    }
    return result.models
      .map(({ name, provider, model }) => `${mark.name(name)}  ${provider}${model === null ? "" : `:${model}`}`)
      .join("\n");
  }
}
