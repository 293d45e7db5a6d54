import { resolve, sep } from "node:path";
import process from "node:process";
import { Args, Flags } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import type { Mark } from "../../output/terminal.ts";
import { SCAFFOLDED_KINDS, type ScaffoldedPlugin, scaffoldPlugin } from "../../plugins/scaffold.ts";

export default class PluginInit extends BaseCommand<ScaffoldedPlugin> {
  static override description =
    "Write a new plugin\n\n" +
    "Makes a folder of this name with a tool or a hook that works: its manifest, its code in TypeScript, which Node runs as it is, " +
    "and its test. Nothing is ever overwritten.";

  static override hiddenAliases = ["plugins:init"];

  static override examples = [
    "<%= config.bin %> plugin init worldtime",
    "<%= config.bin %> plugin init house-rules --kind hook --in ~/plugins",
  ];

  static override args = {
    name: Args.string({ ignoreStdin: true, required: true, description: "Small letters, digits, - and _" }),
  };

  static override flags = {
    kind: Flags.option({ options: SCAFFOLDED_KINDS, default: "tool", description: "What it is" })(),
    in: Flags.string({ helpValue: "DIR", description: "Directory to make the folder in; default: the current one" }),
  };

  protected async work(): Promise<ScaffoldedPlugin> {
    const { args, flags } = await this.parse(PluginInit);
    const { kind } = flags;
    const { root, version } = this.config;
    // The version of a source tree may be in no registry: npm then installs the tree itself.
    const cairn = root.split(sep).includes("node_modules") ? version : `file:${root}`;
    return scaffoldPlugin(resolve(flags.in ?? process.cwd()), { name: args.name, kind, cairn });
  }

  protected render({ path, kind }: ScaffoldedPlugin, mark: Mark): string {
    return (
      `${mark.good(`Written a ${kind}:`)} ${path}\n` +
      `Try it there with \`npm install\` and \`npm test\`, then run \`cairn plugin add ${path}\`.`
    );
  }
}
