import { glob, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "@oclif/core";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const FOLDER = join(ROOT, "control/commands");
/** Whatever a person reads: what the program says, what it writes, and its documentation. */
const READ = ["control", "runtime", "infra", "templates", "scripts", "bin"].map((room) => `${room}/**/*`);
const DOCUMENTS = ["README.md", "CHANGELOG.md", "docs/**/*.md", "docs/examples/**/*"];

/** A command line as a sentence quotes it, in source text maybe within a template. */
const QUOTED = /`cairn((?: (?:\$\{[^}]*\}|[^`\\])+)?)\\?`/g;
/** A command line of its own in an example of a document or a script. */
const OWN_LINE = /^(?:\s{4})?(?:\$ )?(?:npm run -s cairn -- |cairn )([^#\n]*)/gm;
/** A script of package.json that a page tells to run, alone or behind another command. */
const NPM_LINE = /(?:^|&& |`)npm (?:run (?:-s )?)?([a-z][a-z-]*)/gm;
/** npm's own words, which need no script. */
const NPM_OWN = new Set(["install", "pack", "ci", "view", "exec", "i"]);
const EXAMPLE = /<%= config\.bin %> ([^"`|]*)/g;

interface Named {
  readonly file: string;
  readonly words: readonly string[];
}

const commands = new Map<string, typeof Command>();
for await (const file of glob("**/*.ts", { cwd: FOLDER })) {
  const id = file
    .replace(/\.ts$/, "")
    .replace(/(^|\/)index$/, "")
    .replaceAll("/", " ");
  const { default: command }: { default: typeof Command } = await import(join(FOLDER, file));
  commands.set(id, command);
}
const isTopic = (word: string): boolean => [...commands.keys()].some((id) => id.startsWith(`${word} `));

/** What is wrong with a command line; null when the command and its flags are there. */
function wrongWith(words: readonly string[]): string | null {
  const [first, second] = words;
  const deepest = [3, 2].map((count) => words.slice(0, count).join(" ")).find((id) => commands.has(id));
  // `cairn` itself, or a name that is known only when it runs.
  if (first === undefined || first.startsWith("-") || isVariable(first)) return null;
  const id = deepest ?? first;
  const command = commands.get(id);
  if (command === undefined) {
    const whole = second === undefined || isVariable(second) || second.startsWith("-");
    return isTopic(first) && whole ? null : `there is no command ${words.slice(0, 2).join(" ")}`;
  }
  const rest = words.slice(id.split(" ").length);
  const flags: Readonly<Record<string, Flag>> = { ...command.baseFlags, ...command.flags };
  for (const [index, word] of rest.entries()) {
    // What follows is another program's.
    if (["|", "&&", "||", ">", "<", ";", "--"].includes(word)) break;
    const name = /^--([a-z][a-z-]*)/.exec(word)?.[1];
    if (name === undefined || name === "json" || name === "help") continue;
    const flag = flags[name] ?? negated(flags, name);
    if (flag === undefined) return `${id} has no flag --${name}`;
    const value = rest[index + 1];
    if (flag.options === undefined || value === undefined || isVariable(value)) continue;
    if (!flag.options.includes(value)) return `--${name} of ${id} does not take ${value}`;
  }
  if (rest[0] && isTopic(id) && Object.keys(command.args).length === 0 && /^[a-z]/.test(rest[0])) {
    return `there is no command ${words.slice(0, 2).join(" ")}`;
  }
  return null;
}

interface Flag {
  readonly allowNo?: boolean;
  readonly options?: readonly string[];
}

function negated(flags: Readonly<Record<string, Flag>>, name: string): Flag | undefined {
  const flag = name.startsWith("no-") ? flags[name.slice(3)] : undefined;
  return flag?.allowNo ? flag : undefined;
}

/** Written in capitals, or filled in when the text is made. */
function isVariable(word: string): boolean {
  return word.includes("${") || /^[[<]?[A-Z]/.test(word);
}

async function named(): Promise<readonly Named[]> {
  const all: Named[] = [];
  for await (const file of glob([...READ, ...DOCUMENTS], { cwd: ROOT })) {
    if (!(await stat(join(ROOT, file))).isFile()) continue;
    const text = await readFile(join(ROOT, file), "utf8");
    const examples = /\.(?:md|sh)$/.test(file) || file.startsWith("docs/examples/") ? [OWN_LINE] : [];
    for (const pattern of [QUOTED, EXAMPLE, ...examples]) {
      for (const [, line = ""] of text.matchAll(pattern)) {
        // A variable may have blanks in it.
        const flat = line.replaceAll(/\$\{[^}]*\}/g, "${}").trim();
        all.push({ file, words: flat === "" ? [] : flat.split(/\s+/) });
      }
    }
  }
  return all;
}

it.each([
  ["mesh dance", "no command"],
  ["memory search-all", "no command"],
  ["infra", null],
  ["infra ${}", null],
  ["doctor --only ${} --timeout 30", null],
  ["doctor --ownly database", "no flag --ownly"],
  ["update --no-restart", null],
  ["memory retry-failed --task embedd", "does not take embedd"],
  ["logs --level warn | head --lines 3", null],
])("`cairn %s` is judged: %s", (line, wrong) => {
  const found = wrongWith(line.split(" "));
  if (wrong === null) expect(found).toBeNull();
  else expect(found).toContain(wrong);
});

describe("every command line that a hint, a fix, a sentence or a document names", async () => {
  const all = await named();

  it.each(["control/", "runtime/", "docs/", "README.md"])("is looked at in %s", (room) => {
    expect(all.filter(({ file }) => file.startsWith(room))).not.toHaveLength(0);
  });

  it("of npm is a script that package.json has", async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
    const wrong: string[] = [];
    for await (const file of glob(["*.md", "docs/**/*.md"], { cwd: ROOT })) {
      for (const [line, name = ""] of (await readFile(join(ROOT, file), "utf8")).matchAll(NPM_LINE)) {
        if (!(name in scripts) && !NPM_OWN.has(name)) wrong.push(`${file}: ${line}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it("is a command that exists, with flags that it has", () => {
    const wrong = all.flatMap(({ file, words }) => {
      const why = wrongWith(words);
      return why === null ? [] : [`${file}: \`cairn ${words.join(" ")}\`: ${why}`];
    });
    expect(wrong).toEqual([]);
  });
});
