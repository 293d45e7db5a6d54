import { homedir } from "node:os";
import process from "node:process";
import { Args, Flags } from "@oclif/core";
import { userHome } from "../../../runtime/config/directories.ts";
import { EditCommand } from "../../edit-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { type AddedPlugin, addPlugin } from "../../plugins/add.ts";
import { parsePluginSource } from "../../plugins/plugin-source.ts";

export default class PluginAdd extends EditCommand<AddedPlugin> {
  static override description =
    "Add a plugin to cairn.yaml\n\n" +
    "A folder is named where it lies. A package is installed into the home, in exactly the version that is given, and none of its " +
    "scripts is run. The plugin is loaded in a process of its own first: one that the node could not load is refused. A plugin " +
    "runs with the rights of the node, and no sandbox holds it: add code of people whom you trust as much as that.";

  static override hiddenAliases = ["plugins:add"];

  static override examples = [
    "<%= config.bin %> plugin add ./worldtime",
    "<%= config.bin %> plugin add @someone/worldtime@1.2.0",
    "<%= config.bin %> plugin add ./worldtime-1.2.0.tgz --dry-run",
  ];

  static override args = {
    plugin: Args.string({
      ignoreStdin: true,
      required: true,
      description: "Folder (./worldtime), archive of `npm pack`, or package with its version (worldtime@1.2.0)",
    }),
  };

  static override flags = {
    "dry-run": Flags.boolean({ description: "Try the plugin, show what would change, and change nothing" }),
  };

  protected async work({ signal }: Interruption): Promise<AddedPlugin> {
    const { args, flags } = await this.parse(PluginAdd);
    const source = parsePluginSource(args.plugin, process.cwd(), userHome(process.env, homedir()));
    const deployment = await this.beginEdit(flags);
    return addPlugin(deployment, source, { dryRun: this.dryRun, signal });
  }

  protected render(added: AddedPlugin, mark: Mark): string {
    const { plugin, kind, version, provides, replaced } = added;
    const instead = replaced === null ? "" : ` in place of ${replaced}`;
    const done = `Added ${plugin}${version === null ? "" : ` ${visible(version)}`}${instead}.`;
    const edit = this.rendered(added, done, mark);
    return [edit, `${visible(bringsWords(kind, plugin, provides))} ${RIGHTS}`].join("\n");
  }
}

const RIGHTS =
  "It runs with the rights of the node: it reads its files, keys and memory, and no sandbox holds it; what it sends elsewhere nobody checks.";

function bringsWords(kind: AddedPlugin["kind"], plugin: string, provides: readonly string[]): string {
  if (kind === "provider" || kind === "channel") return `An entry of ${kind}s uses it by \`kind: ${plugin}\`.`;
  const who = kind === "tool" ? "for every agent that does not leave it out" : "for every agent";
  return `It brings the ${kind}${provides.length === 1 ? "" : "s"} ${provides.join(", ")}, ${who}.`;
}
