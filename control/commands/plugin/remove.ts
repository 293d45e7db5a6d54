import { Args, Flags } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { renderEdit } from "../../output/render-edit.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { type RemovedPlugin, removePlugin } from "../../plugins/remove.ts";
import { applyCommand } from "../../service/deployed-node.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class PluginRemove extends BaseCommand<RemovedPlugin> {
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
    "dry-run": Flags.boolean({ description: "Show what would change, and change nothing" }),
  };

  #dryRun = false;
  #apply = "";

  protected async work({ signal }: Interruption): Promise<RemovedPlugin> {
    const { args, flags } = await this.parse(PluginRemove);
    this.#dryRun = flags["dry-run"];
    const deployment = findDeployment(flags);
    this.#apply = await applyCommand(deployment);
    return removePlugin(deployment, args.id, { dryRun: this.#dryRun, signal });
  }

  protected render(removed: RemovedPlugin, mark: Mark): string {
    const { plugin, path, installed } = removed;
    if (path === null) return `Nothing to change: no directory of plugin_dirs has a plugin ${visible(plugin)}.`;
    const folder = installed
      ? `The next \`plugin add\` or \`plugin remove\` of a package deletes its folder ${visible(path)}.`
      : `Its folder ${visible(path)} stays.`;
    const done = `Removed ${visible(plugin)}. ${folder}`;
    return renderEdit(removed, done, mark, { dryRun: this.#dryRun, apply: this.#apply });
  }
}
