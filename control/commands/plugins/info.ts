import { Args } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { installedPlugins } from "../../plugins/installed.ts";
import { listPlugins, type PluginEntry, pluginInfo } from "../../plugins/plugins.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class PluginsInfo extends BaseCommand<PluginEntry> {
  static override description = "Show what one plugin is, where it is configured and what uses it";

  static override hiddenAliases = ["plugin:info"];

  static override examples = [
    "<%= config.bin %> plugins info anthropic",
    "<%= config.bin %> plugins info shell --json",
  ];

  static override args = {
    name: Args.string({ ignoreStdin: true, required: true, description: "Name of the plugin" }),
  };

  protected async work({ signal }: Interruption): Promise<PluginEntry> {
    const { args, flags } = await this.parse(PluginsInfo);
    const installed = await installedPlugins(findDeployment(flags), signal);
    return pluginInfo(await listPlugins(installed, this.config.version), args.name);
  }

  protected render(plugin: PluginEntry, mark: Mark): string {
    const rows: readonly (readonly [string, string | null])[] = [
      ["Kind", plugin.kind],
      ["About", plugin.about === "" ? null : plugin.about],
      ["Version", plugin.version],
      ["From", plugin.path ?? "comes with Cairn"],
      ["Settings", plugin.configuration],
      // Tools and hooks are there for every agent that does not leave them out.
      [
        "Used by",
        plugin.kind !== "tool" && plugin.kind !== "hook" ? plugin.used_by.join(", ") || "nothing in cairn.yaml" : null,
      ],
      ["State", plugin.state === null ? null : `${plugin.state}, as the running node says`],
      ["Problem", plugin.problem],
    ];
    const lines = rows.flatMap(([label, value]) =>
      value === null ? [] : [`  ${mark.dim(label.padEnd(9))} ${visible(value)}`],
    );
    return [mark.name(visible(plugin.name)), ...lines].join("\n");
  }
}
