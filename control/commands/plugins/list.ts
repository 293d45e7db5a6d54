import { Flags } from "@oclif/core";
import { PLUGIN_KINDS, type PluginKind } from "../../../runtime/contracts/plugin.ts";
import { BaseCommand } from "../../base-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { installedPlugins } from "../../plugins/installed.ts";
import { listPlugins, type PluginEntry } from "../../plugins/plugins.ts";
import { findDeployment } from "../../service/deployment.ts";

export interface PluginListResult {
  readonly plugins: readonly PluginEntry[];
}

export default class PluginsList extends BaseCommand<PluginListResult> {
  static override description =
    "List the plugins: those that come with Cairn, and those of plugin_dirs, which the node loads";

  static override hiddenAliases = ["plugin:list"];

  static override examples = [
    "<%= config.bin %> plugins list",
    "<%= config.bin %> plugins list --kind provider --json",
  ];

  static override flags = {
    kind: Flags.option({ options: PLUGIN_KINDS, description: "Only plugins of this kind" })(),
  };

  protected async work({ signal }: Interruption): Promise<PluginListResult> {
    const { flags } = await this.parse(PluginsList);
    const installed = await installedPlugins(findDeployment(flags), signal);
    const plugins = await listPlugins(installed, this.config.version);
    return { plugins: plugins.filter(({ kind }) => flags.kind === undefined || kind === flags.kind) };
  }

  protected render({ plugins }: PluginListResult, mark: Mark): string {
    const groups: readonly (PluginKind | null)[] = [...PLUGIN_KINDS, null];
    return groups
      .flatMap((kind) => {
        const own = plugins.filter((plugin) => plugin.kind === kind);
        if (own.length === 0) return [];
        return [
          mark.title(kind === null ? "not usable" : `${kind}s`.replace("memorys", "memory")),
          ...own.map((one) => line(one, mark)),
        ];
      })
      .join("\n");
  }
}

function line({ name, about, problem, state, used_by: uses, path }: PluginEntry, mark: Mark): string {
  const words = problem === null ? visible(about) : mark.error(visible(problem));
  const off = state === "off" ? mark.dim(" (off)") : "";
  const used = uses.length === 0 ? "" : mark.dim(` (${uses.join(", ")})`);
  return `  ${mark.name(visible(name).padEnd(18))} ${words}${off}${used}${path === null ? "" : mark.dim(` ${path}`)}`;
}
