/** The help pages: the first line once, what most people need first, and only the flags that one needs at first. */

import type { Command } from "@oclif/core/command";
import { CommandHelp, Help } from "@oclif/core/help";

/** The commands in the order in which they are needed; what is in no group is in the last one. */
const GROUPS: readonly { readonly title: string; readonly names: readonly string[] }[] = [
  { title: "START HERE", names: ["init", "start", "chat", "status", "doctor", "stop"] },
  {
    title: "AGENTS AND MODELS",
    names: ["agent", "provider", "model", "login", "skills", "skill", "plugins", "plugin", "usage"],
  },
  { title: "MEMORY", names: ["memory", "capture", "mcp"] },
  {
    title: "THE NODE",
    names: ["config", "restart", "logs", "test", "service", "token", "backup", "restore", "update"],
  },
  { title: "DEPLOYMENTS", names: ["infra", "build", "exec"] },
];
const REST = "MORE";

/** A command with more flags than these describes its own alone; the others are named, and described with `--all`. */
const MOST_DESCRIBED = 24;
const INDENT = 2;

class Page extends CommandHelp {
  protected override defaultUsage(): string {
    const { args, flags, id, strict } = this.command;
    const shown = Object.values(args).filter(({ hidden }) => !hidden);
    const words = shown.map(({ name, required, multiple }) => {
      const word = `${name.toUpperCase()}${multiple || strict === false ? "..." : ""}`;
      return required ? word : `[${word}]`;
    });
    const needed = Object.values(flags)
      .filter(({ required, hidden }) => required && !hidden)
      .map((flag) => `--${flag.name} ${flag.type === "option" ? (flag.helpValue ?? "VALUE") : ""}`.trim());
    return [id, ...words, ...needed, "[FLAGS]"].join(" ");
  }

  /** Without the summary, which stands above everything. */
  protected override description(): string | undefined {
    const { summary, description = "" } = this.command;
    const text = summary ? description : description.split("\n").slice(1).join("\n");
    return text.trim() === "" ? undefined : this.wrap(text.trim());
  }

  protected override examples(examples: Command.Example[] | string[] | undefined | string): string | undefined {
    return super.examples(examples)?.replaceAll(/\n\n+/g, "\n");
  }

  protected override flags(flags: Command.Flag.Any[]): [string, string | undefined][] | undefined {
    return super
      .flags(flags)
      ?.map(([label, words]) => [
        label.replace(/<(?:value|option)>/, "VALUE"),
        words?.replace("Format output as json.", JSON_WORDS),
      ]);
  }

  protected override sections() {
    return super.sections().map((section) => {
      if (section.header !== "FLAGS") return section;
      return {
        header: section.header,
        generate: ({ flags }: { flags: Command.Flag.Any[] }, header: string) => this.#flagSections(flags, header),
      };
    });
  }

  /** The command's own first, what all commands have last; of very many only the names, unless all are wanted. */
  #flagSections(flags: Command.Flag.Any[], header: string) {
    const { mainFlags, flagGroups } = this.groupFlags(flags);
    const { GLOBAL: shared = [], ...groups } = flagGroups;
    const isLong = flags.length > MOST_DESCRIBED && !this.opts.all;
    const described = (name: string, own: Command.Flag.Any[]) => ({ header: name, body: this.flags(own) ?? "" });
    const more = isLong
      ? [{ header: `MORE ${header}`, body: this.#names(groups) }]
      : Object.entries(groups).map(([name, own]) => described(`${name} ${header}`, own));
    const sections = [described(header, mainFlags), ...more, described(`GLOBAL ${header}`, shared)];
    return sections.filter(({ body }) => body !== "");
  }

  #names(groups: Readonly<Record<string, readonly Command.Flag.Any[]>>): string {
    const lines = Object.entries(groups).map(([name, flags]) => {
      const all = [...new Set(flags.map((flag) => familyOf(flag.name, flags)))].map((flag) => `--${flag}`);
      return this.wrap(`${name.toLowerCase()}: ${all.join(", ")}`);
    });
    return `${lines.join("\n")}\nAll with their words: ${this.config.bin} ${this.command.id} --help --all`;
  }
}

/** Flags of one target share a prefix: `proxmox-*`. Pure. */
function familyOf(name: string, flags: readonly { readonly name: string }[]): string {
  const [prefix = name] = name.split("-", 1);
  const family = flags.filter((flag) => flag.name.startsWith(`${prefix}-`));
  return family.length > 2 && name !== prefix ? `${prefix}-*` : name;
}

const JSON_WORDS = "Print the result as one JSON document";

/** Loaded by oclif, which finds it by `helpClass` of package.json. */
export default class CairnHelp extends Help {
  protected override CommandHelpClass = Page;

  override async showHelp(argv: string[]): Promise<void> {
    if (argv.includes("--all")) this.opts.all = true;
    await super.showHelp(argv.filter((word) => word !== "--all"));
  }

  protected override async showRootHelp(): Promise<void> {
    const topics = this.sortedTopics.filter(({ name }) => !name.includes(":"));
    const commands = this.sortedCommands.filter(({ id }) => id !== "" && !id.includes(":"));
    // A name that is a command and a topic is one line.
    const all = new Map<string, string>([
      ...topics.map(({ name, description = "" }): [string, string] => [name, description.split("\n", 1)[0] ?? ""]),
      ...commands
        .filter(({ id }) => !topics.some(({ name }) => name === id))
        .map((command): [string, string] => [command.id, this.summary(command) ?? ""]),
    ]);
    const grouped = new Set(GROUPS.flatMap(({ names }) => names));
    const rest = [...all.keys()].filter((name) => !grouped.has(name)).sort();
    const { description = "" } = this.config.pjson;
    this.log(`${description}\n`);
    this.log(`${this.section("USAGE", `$ ${this.config.bin} COMMAND [FLAGS]`)}\n`);
    for (const { title, names } of [...GROUPS, { title: REST, names: rest }]) {
      const rows = names.flatMap((name): [string, string][] => {
        const words = all.get(name);
        return words === undefined ? [] : [[name.padEnd(NAME_WIDTH), words]];
      });
      if (rows.length === 0) continue;
      const body = this.renderList(rows, {
        indentation: INDENT,
        spacer: "\n",
        stripAnsi: this.opts.stripAnsi ?? false,
      });
      this.log(`${this.section(title, body)}\n`);
    }
    this.log(`Each has its own help: ${this.config.bin} COMMAND --help. The version: ${this.config.bin} -v.`);
  }
}

const NAME_WIDTH = 10;
