/** What can be typed after `cairn`, as the shells' scripts need it: made of the commands themselves. */

/** The part of oclif's description of a command that completion needs. */
export interface CommandDescription {
  /** `memory:search`. */
  readonly id: string;
  readonly summary?: string | undefined;
  readonly description?: string | undefined;
  readonly hidden?: boolean | undefined;
  readonly args?: Readonly<
    Record<string, { readonly options?: readonly string[] | undefined; readonly description?: string | undefined }>
  >;
  readonly flags: Readonly<
    Record<
      string,
      {
        readonly name: string;
        readonly char?: string | undefined;
        readonly type: string;
        readonly description?: string | undefined;
        readonly summary?: string | undefined;
        readonly hidden?: boolean | undefined;
        readonly helpValue?: string | string[] | undefined;
        readonly options?: readonly string[] | undefined;
        readonly allowNo?: boolean | undefined;
      }
    >
  >;
}

export interface FlagWord {
  /** Without its dashes. */
  readonly name: string;
  readonly char: string | null;
  readonly about: string;
  /** What follows: nothing, one of these, a file, a directory, or anything. */
  readonly value: "none" | "file" | "directory" | "any" | readonly string[];
}

export interface CommandNode {
  /** Words behind `cairn` that lead here; empty at the top. */
  readonly path: readonly string[];
  readonly next: readonly { readonly word: string; readonly about: string }[];
  readonly flags: readonly FlagWord[];
}

/** Every place at which something can be completed, sorted by its words. */
export function completionPlaces(
  commands: readonly CommandDescription[],
  topics: Readonly<Record<string, string>>,
): readonly CommandNode[] {
  const shown = commands.filter(({ hidden }) => hidden !== true).sort((a, b) => (a.id < b.id ? -1 : 1));
  const byPath = new Map(shown.map((command) => [command.id.replaceAll(":", " "), command]));
  const paths = new Set<string>([""]);
  for (const path of byPath.keys()) {
    const words = path.split(" ");
    for (let length = 1; length <= words.length; length += 1) paths.add(words.slice(0, length).join(" "));
  }
  return [...paths].sort().map((path) => {
    const words = path === "" ? [] : path.split(" ");
    const next = [...paths]
      .filter((other) => other !== "" && other.split(" ").slice(0, -1).join(" ") === path)
      .sort()
      .map((other) => ({ word: other.split(" ").at(-1) ?? other, about: aboutOf(byPath.get(other), topics[other]) }));
    const command = byPath.get(path);
    return { path: words, next: [...next, ...choicesOf(command)], flags: flagsOf(command) };
  });
}

function aboutOf(command: CommandDescription | undefined, topic: string | undefined): string {
  return firstLine(command?.summary ?? command?.description ?? topic ?? "");
}

/** What an argument may be, where that is known. */
function choicesOf(command: CommandDescription | undefined): CommandNode["next"] {
  return Object.values(command?.args ?? {}).flatMap(({ options = [], description = "" }) =>
    options.map((word) => ({ word, about: firstLine(description) })),
  );
}

function flagsOf(command: CommandDescription | undefined): FlagWord[] {
  const flags = Object.values(command?.flags ?? {}).filter(({ hidden }) => hidden !== true);
  const words = flags.flatMap((flag): FlagWord[] => {
    const about = firstLine(flag.summary ?? flag.description ?? "");
    const word = { name: flag.name, char: flag.char ?? null, about, value: valueKind(flag) };
    return flag.allowNo ? [word, { ...word, name: `no-${flag.name}`, char: null }] : [word];
  });
  const help: FlagWord = { name: "help", char: null, about: "Show the help of the command", value: "none" };
  return [...words, help].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function valueKind(flag: CommandDescription["flags"][string]): FlagWord["value"] {
  if (flag.type === "boolean") return "none";
  if (flag.options !== undefined) return flag.options;
  if (flag.helpValue === "FILE") return "file";
  return flag.helpValue === "DIR" ? "directory" : "any";
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0]?.trim() ?? "";
}
