/** What the parser of flags and arguments refuses, in our words: its own speak of arguments as a program sees them. Pure. */

import { JOIN_TOKEN_PREFIX } from "../../runtime/contracts/join-token.ts";

/** `message`: of the parser. What is not known stays as it is, on one line. */
export function parseWords(message: string): string {
  const text = message.replace(/\n\s*See more help with --help\s*$/, "").trim();
  for (const [pattern, words] of WORDS) {
    const found = pattern.exec(text);
    if (found) return words(found);
  }
  const line = text.replace(/\s*\n\s*/g, " ");
  return /[.!?]$/.test(line) ? line : `${line}.`;
}

type Words = (found: RegExpExecArray) => string;

const WORDS: readonly (readonly [RegExp, Words])[] = [
  [/^Nonexistent flags?: (.+)$/s, ([, flags = ""]) => `There is no flag ${list(flags.split(", "))} here.`],
  [/^Unexpected arguments?: (.+)$/s, ([, words = ""]) => tooMany(words)],
  [
    /^Missing \d+ required args?:\n(.+?)(?:\n\nNote:.*)?$/s,
    ([, rows = ""]) => `An argument is missing: ${rows.split("\n").map(argumentOf).join("; ")}.`,
  ],
  [/^Missing required flag (\S+)$/s, ([, flag = ""]) => `--${flag.replace(/^--/, "")} is needed.`],
  [
    /^Parsing (--\S+)\s+Expected an integer(?: (greater|less) than or equal to (\S+))? but received: (.*)$/s,
    ([, flag, side, bound, given]) => `${flag} takes a whole number${boundOf(side, bound)}, not ${given || "nothing"}.`,
  ],
  [/^Parsing (--\S+)\s+(.+)$/s, ([, flag, why = ""]) => `${flag} is not valid: ${sentence(why)}`],
  [
    /^Expected (--[^=\s]+)=(.*) to be one of: (.+)$/s,
    ([, flag, given, options = ""]) => `${flag} does not take ${given || "nothing"}: it is ${choice(options)}.`,
  ],
  [
    /^Expected (.+) to be one of: (.+)$/s,
    ([, given, options = ""]) => `${given} is not possible: choose ${choice(options)}.`,
  ],
  [
    /^Flag (--\S+) expects (?:a value|one of these values: (.+))$/s,
    ([, flag, options]) => `${flag} needs a value${options ? `: ${choice(options)}` : ""}.`,
  ],
  [/^Flag (--\S+) can only be specified once$/s, ([, flag]) => `${flag} can be given only once.`],
  [/^The following errors? occurred:\s+(.+)$/s, ([, reasons = ""]) => reasons.split(/\n\s*/).map(reasonOf).join(" ")],
];

/** A token for joining is not repeated: what commands print may be kept. */
function tooMany(words: string): string {
  if (!words.includes(JOIN_TOKEN_PREFIX)) return `This is one argument too many: ${words}.`;
  return "A token for joining is no argument: other users of this machine can see it there. Pass --token-file FILE.";
}

function reasonOf(reason: string): string {
  const exclusive = /^(--\S+?)(?:=.*)? cannot also be provided when using (--\S+)$/s.exec(reason);
  if (exclusive) return `${exclusive[1]} and ${exclusive[2]} exclude each other.`;
  const needs = /^All of the following must be provided when using (--[^:\s]+): (.+)$/s.exec(reason);
  if (needs) return `${needs[1]} needs ${list(needs[2]?.split(", ") ?? [])}, too.`;
  const missing = /^Missing required flag (?:--)?(\S+)$/.exec(reason);
  return missing ? `--${missing[1]} is needed.` : sentence(reason);
}

/** `query  What to look for`, as the parser lists it. */
function argumentOf(row: string): string {
  const [, name = row.trim(), what = ""] = /^(\S+)\s+(.+)$/.exec(row.trim()) ?? [];
  return what === "" ? name.toUpperCase() : `${name.toUpperCase()} (${what})`;
}

function boundOf(side: string | undefined, bound: string | undefined): string {
  if (side === undefined) return "";
  return side === "greater" ? `, ${bound} or more` : `, ${bound} or less`;
}

function choice(options: string): string {
  return list(options.split(/\||,\s*/), "or");
}

function list(words: readonly string[], joint = "and"): string {
  return words.length < 2 ? (words[0] ?? "") : `${words.slice(0, -1).join(", ")} ${joint} ${words.at(-1)}`;
}

function sentence(text: string): string {
  const line = text.trim().replace(/\s*\n\s*/g, " ");
  return /[.!?]$/.test(line) ? line : `${line}.`;
}
