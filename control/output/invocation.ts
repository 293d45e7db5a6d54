/** Commands in printed text, as they have to be typed where the text is read: with the program and the directory of this call. */

import { accessSync, constants, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { expandTilde, userHome } from "../../runtime/config/directories.ts";
import { shellWord } from "../../runtime/contracts/shell-quote.ts";

export interface Invocation {
  /** What starts the command line, as a shell takes it. */
  readonly program: string;
  /** What `--dir` was given as, absolute; undefined where the directory was found without it. */
  readonly dir: string | undefined;
}

interface Call {
  /** The words after the program. */
  readonly argv: readonly string[];
  /** Path of the program, as it was started. */
  readonly script: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** A source tree has no `cairn` on the path: it is called by npm, or by the path of its program. */
export function invocationOf({ argv, script, env, cwd }: Call): Invocation {
  const byNpm = env["npm_lifecycle_event"] === "start" || env["npm_lifecycle_event"] === "cairn";
  return { program: byNpm ? npmProgram(env, cwd) : ownProgram(script, env), dir: dirOf(argv, env, cwd) };
}

/**
 * Replaces each command between backticks. Comments of a file that is shown, such as cairn.yaml in a diff, stay as they are
 * written, and so does a command with "there" behind it: it is typed on another machine.
 */
export function typedCommands(text: string, { program, dir }: Invocation): string {
  if (program === "cairn" && dir === undefined) return text;
  return text.replace(/^.*$/gm, (line) => {
    const [said = "", ...comment] = line.split(/(?=# )/);
    const typed = said.replace(/`cairn\s([^`]+)`(?! there\b)/g, (_all, words: string) => {
      // What comes after `--` is of another program.
      const [own = "", ...others] = words.split(/(?= -- )/);
      const where = dir === undefined || /(^|\s)--(dir|help)\b/.test(own) ? "" : ` --dir ${shellWord(dir)}`;
      return `\`${program} ${own}${where}${others.join("")}\``;
    });
    return typed + comment.join("");
  });
}

/** npm finds its package from the directory in which it is called, or from those above it. */
function npmProgram(env: Call["env"], cwd: string): string {
  const at = env["INIT_CWD"] ?? cwd;
  const inTree = at === cwd || at.startsWith(`${cwd}/`);
  return `npm ${inTree ? "" : `--prefix ${shellWord(cwd)} `}run -s cairn --`;
}

function ownProgram(script: string | undefined, env: Call["env"]): string {
  if (script === undefined || basename(script) !== "cairn.js" || basename(dirname(script)) !== "bin") return "cairn";
  return isOnPath(script, env["PATH"] ?? "") ? "cairn" : shellWord(script);
}

function isOnPath(script: string, path: string): boolean {
  const found = path
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, "cairn"))
    .find((candidate) => isExecutable(candidate));
  try {
    return found !== undefined && realpathSync(found) === realpathSync(script);
  } catch {
    return false;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** As `resolveDirectories` takes it: a shell leaves the tilde of `--dir=~/x` as it is. */
function dirOf(argv: readonly string[], env: Call["env"], cwd: string): string | undefined {
  const words = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv;
  const at = words.findLastIndex((word) => word === "--dir" || word.startsWith("--dir="));
  const given = words[at]?.startsWith("--dir=") ? words[at].slice("--dir=".length) : words[at + 1];
  return at === -1 || !given ? undefined : resolve(cwd, expandTilde(given, userHome(env, homedir())));
}
