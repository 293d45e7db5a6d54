import { Args, Flags } from "@oclif/core";
import { listProviders, type ProviderEntry, type Switched, switchProvider } from "../configuration/providers.ts";
import { doubted } from "../configuration/unlisted-model.ts";
import { DRY_RUN, EditCommand } from "../edit-command.ts";
import type { Interruption } from "../output/interruption.ts";
import type { Mark } from "../output/terminal.ts";

export type ProviderResult = { readonly providers: readonly ProviderEntry[] } | Switched;

export default class Provider extends EditCommand<ProviderResult> {
  static override description =
    "Show the providers, or let another one answer for an agent\n\n" +
    "Without a name: the configured providers, and whether each has its key. With a name: the agent is switched to it; a " +
    "well-known provider that cairn.yaml does not have yet is added, with a reference to its usual key variable.";

  static override examples = [
    "<%= config.bin %> provider",
    "<%= config.bin %> provider openai --model gpt-5.5",
    "<%= config.bin %> provider local --base-url http://127.0.0.1:8080/v1 --model qwen3 --agent researcher",
  ];

  static override args = {
    provider: Args.string({ ignoreStdin: true, description: "Provider to switch to" }),
  };

  static override flags = {
    agent: Flags.string({ helpValue: "NAME", description: "Agent to switch (default: the default agent)" }),
    model: Flags.string({ helpValue: "NAME", description: "Model of that provider" }),
    "base-url": Flags.string({ helpValue: "URL", description: "Address of its API" }),
    "dry-run": DRY_RUN,
  };

  protected async work({ signal }: Interruption): Promise<ProviderResult> {
    const { args, flags } = await this.parse(Provider);
    const deployment = await this.beginEdit(flags);
    const { agent, model, "base-url": baseUrl } = flags;
    if (args.provider === undefined && agent === undefined && model === undefined && baseUrl === undefined) {
      return { providers: await listProviders(deployment, signal) };
    }
    const request = { provider: args.provider, agent, model, baseUrl };
    const switched = await switchProvider(deployment, request, { dryRun: this.dryRun, signal });
    return doubted(deployment, switched, signal);
  }

  protected render(result: ProviderResult, mark: Mark): string {
    if (!("providers" in result)) {
      const model = result.model === null ? "" : `, model ${result.model}`;
      return this.rendered(result, `${result.agent} is answered by ${result.provider}${model}.`, mark);
    }
    if (result.providers.length === 0) return "No provider is configured. Choose one with `cairn provider ID`.";
    return result.providers
      .map(({ id, kind, model, base_url: address, key, agents }) => {
        const facts = [kind, model, ...(address === null ? [] : [address]), ...(key === "missing" ? ["no key"] : [])];
        const who = agents.length === 0 ? "" : mark.dim(` (${agents.join(", ")})`);
        return `${mark.name(id)}  ${facts.join(", ")}${who}`;
      })
      .join("\n");
  }
}
