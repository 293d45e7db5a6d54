/**
 * What of a provider's or a script's words is for a person: one sentence, and the last lines of the program itself. Scripts, stack
 * traces and source positions are for the log alone. Pure.
 */

import { stripVTControlCharacters } from "node:util";
import { ERROR_CODES, type ErrorCode, type InfraError } from "../../../runtime/contracts/errors.ts";

export interface FailureReport {
  /** One line that ends as a sentence does; empty where nothing was said. */
  readonly sentence: string;
  /** Oldest first. */
  readonly lastWords: readonly string[];
  /** That a script of ours gave itself; null: none did. */
  readonly code: InfraError["code"] | null;
}

/** Lines and characters of a line that are shown; the log has all. */
export const MOST_WORDS = 15;
const LONGEST_LINE = 300;
/** Characters of a line that are looked at: some of the patterns take the square of its length. */
const LONGEST_READ = 2_000;

/** How the command provider reports: `STATUS: running "SCRIPT":` with the script as a string of Go, then what it wrote. */
const COMMAND = /^(.*?): running "(?:[^"\\]|\\.)*":(?:\n|$)/s;
/** The one line that `fail` of our scripts writes (infra/components/proxmox/shell.ts). */
const OWN = /^cairn: (INFRA_[A-Z_]+): (.*)$/;
/** Positions in the source of a program, and what stands before them. */
const POSITION = /(?:[\w.@-]+\/)*[\w.-]+\.(?:go|js|ts|py|c|cc|rs):\d+(?::\d+)?:\s*/g;
/** What libraries put before the words of the one who speaks. */
const WRAPPINGS =
  /^(?:error: |sdk\.\w+: |rpc error: code = \w+ desc = |\d+ errors? occurred:\s*|\* |\(Plugin SDK\) |provider error: )+/;
/** What libraries put after them. */
const TRAILER = /: provider=[\w-]+@[\w.+-]+$/;
/** A line of a stack trace. */
const STACK =
  /^\s*at .*(?:\)|:\d+:\d+)$|^goroutine \d+ \[|^\s*\S+\.go:\d+(?: \+0x[0-9a-f]+)?$|^\s*File ".*line \d+|^Traceback |^node:internal|^\s*\^+\s*$|^Node\.js v\d/;

/** In the words of the target, for what only its provider's author understands. */
const PLAINLY: readonly (readonly [RegExp, string])[] = [
  [/^container failed to be in healthy state$/i, "the container did not become healthy"],
  [/^(?:Process exited with status|exit status) (\d+)$/i, "a command on the target ended with status $1"],
];

export function reportOf(said: string): FailureReport {
  const text = stripVTControlCharacters(said).replaceAll("\r\n", "\n").trim();
  const command = COMMAND.exec(text);
  const lines = (command === null ? text : text.slice(command[0].length)).split("\n").map(cut);
  const own = lines.map((line) => OWN.exec(line)).findLast((found) => found !== null);
  const spoken = programWords(lines.filter((line) => !OWN.test(line)));
  if (own !== undefined) {
    const [, code = "", words = ""] = own;
    return { sentence: sentenceOf(words), lastWords: lastOf(spoken), code: isInfraCode(code) ? code : null };
  }
  // A command has said why in its last line; everything else begins with the reason.
  if (command !== null) {
    const last = spoken.at(-1);
    return { sentence: sentenceOf(last ?? command[1] ?? ""), lastWords: lastOf(spoken.slice(0, -1)), code: null };
  }
  const [first = "", ...rest] = spoken;
  return { sentence: sentenceOf(first), lastWords: lastOf(rest), code: null };
}

/** Of anything that a program wrote: without empty lines, stack traces and source positions. */
export function programWords(lines: readonly string[]): string[] {
  return lines
    .map(cut)
    .filter((line) => !STACK.test(line))
    .map((line) => line.replace(POSITION, "").trim().replace(WRAPPINGS, "").replace(TRAILER, ""))
    .filter((line) => line !== "")
    .map((line) => (line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}...` : line));
}

function cut(line: string): string {
  return line.slice(0, LONGEST_READ);
}

export function lastOf(lines: readonly string[]): string[] {
  return lines.slice(-MOST_WORDS);
}

/** Without what only its author understands; it ends as a sentence does. */
function sentenceOf(words: string): string {
  const line = words.trim();
  const [pattern, plain] = PLAINLY.find(([one]) => one.test(line)) ?? [];
  const said = pattern === undefined || plain === undefined ? line : line.replace(pattern, plain);
  return said === "" || /[.!?]$/.test(said) ? said : `${said}.`;
}

function isInfraCode(code: string): code is InfraError["code"] {
  // The table is asked, so that a line of another program cannot invent a code.
  return Object.hasOwn(ERROR_CODES, code as ErrorCode) && code.startsWith("INFRA_");
}
