import { Args } from "@oclif/core";
import { DRY_RUN, EditCommand } from "../../edit-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { type RemovedPlugin, removePlugin } from "../../plugins/remove.ts";

export default class PluginRemove extends EditCommand<RemovedPlugin> {
  static override description =
    "Remove a plugin from cairn.yaml, with its settings\n\n" +
    "A folder of yours stays where it is; one that `plugin add` has installed is deleted by the next command that installs or " +
    "removes a package. Refused while a provider, a channel or an agent names it.";

  static override hiddenAliases = ["plugins:remove"];

  static override examples = [
    "<%= config.bin %> plugin remove worldtime",
    "<%= config.bin %> plugin remove worldtime --dry-run",
  ];

  static override args = {
    id: Args.string({ ignoreStdin: true, required: true, description: "As `plugins list` shows it" }),
  };

  static override flags = {
    "dry-run": DRY_RUN,
  };

  protected async work({ signal }: Interruption): Promise<RemovedPlugin> {
    const { args, flags } = await this.parse(PluginRemove);
    const deployment = await this.beginEdit(flags);
    return removePlugin(deployment, args.id, { dryRun: this.dryRun, signal });
  }

  protected render(removed: RemovedPlugin, mark: Mark): string {
    const { plugin, path, installed } = removed;
    if (path === null) return `Nothing to change: no directory of plugin_dirs has a plugin ${visible(plugin)}.`;
    const folder = installed
      ? `The next \`plugin add\` or \`plugin remove\` of a package deletes its folder ${visible(path)}.`
      : `Its folder ${visible(path)} stays.`;
    const done = `Removed ${visible(plugin)}. ${folder}`;
    return this.rendered(removed, done, mark);
  }
}
