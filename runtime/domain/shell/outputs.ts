/**
 * What commands print, where their words say it (`echo`), where it hides nothing (`date`), or where they list names
 * (`find`). What any other prints is computed: there are no decoders here, and no filters that change text.
 */

import { posix } from "node:path";
import { isWithin } from "../workspace-path.ts";
import { hasOption, type Invocation, operandsOf } from "./inspection.ts";
import { isStandardInput, readingOf } from "./paths.ts";
import { isSecretPath } from "./secrets.ts";
import type { ShellState } from "./state.ts";
import { concatenate, SILENCE, type Stream, textStream } from "./streams.ts";
import { COMPUTED, VALUE } from "./values.ts";
import { noteWrittenFiles } from "./written-files.ts";

/** Programs that print numbers, dates, revisions or names of the project, when each of their arguments is of this form. */
const VALUES: Readonly<Record<string, RegExp>> = {
  arch: /^-/,
  // Any letters may be the name of a time zone.
  date: /^(\+%[a-mo-su-zA-Y](%[a-mo-su-zA-Y]|[-_:.T ]%[a-mo-su-zA-Y])*|[^+].*)$/s,
  hostname: /^-/,
  id: /./s,
  jobs: /^-p$/,
  lsof: /^(-ti?\S*|-i\S*|:\d+)$/,
  nproc: /^--/,
  pgrep: /^(?!-\w*[ald]|--(list|del))/,
  pidof: /./s,
  seq: /^-?\d+$/,
  uname: /^-/,
  wc: /^-[clmwL]+$/,
  whoami: /^-/,
};
/** The same for git, by all that it is called with. */
const GIT_VALUES: readonly RegExp[] = [
  // What it does not find it prints as it is written, and a branch may have any name.
  /^rev-parse( (--short(=\d+)?|--verify|-q|(HEAD|@|[\da-f]{4,40})([~^@][\d~^{}]*)?))+$/,
  /^(merge-base|write-tree)( |$)/,
  /^(rev-list|ls-files|describe|tag|diff(?=.* --name-only)|log(?=.* --(format|pretty)=))( (-[zlmodu]+|-\d+|--|--(all|count|max-count=\d+|tags|abbrev=\d+|always|long|dirty|exact-match|list|merged|sort=[\w:.-]+|name-only|cached|staged|diff-filter=\w+|others|modified|deleted|exclude-standard|first-parent|no-merges|(format|pretty)=(format:)?%[hHtT])|[^-\s]\S*))*$/,
];
/** They print names; which ones, their words say. */
const NAMING = new Set(
  "ls mktemp which command basename dirname realpath readlink npm git cut grep rg head tail sort uniq".split(" "),
);
/** They print some of the names that they read, unchanged. */
const SELECTORS = new Set(["head", "tail", "sort", "uniq"]);
/** They print nothing that anyone would run. */
const PRINT_NOTHING = new Set(["true", "false", ":", "test", "[", "mkdir", "touch", "sleep"]);

export function outputOf(invocation: Invocation, workspace: string): Stream {
  const { program, args, input, state } = invocation;
  if (PRINT_NOTHING.has(program)) return SILENCE;
  if (program === "echo") return textStream(...echoed(args));
  if (program === "printf") return textStream(formatted(args[0] === "--" ? args.slice(1) : args));
  if (program === "cat") {
    const files = args.filter((arg) => arg === "-" || !arg.startsWith("-"));
    return files.length > 0
      ? files.map((file) => (isStandardInput(file) ? input : readingOf(file, state))).reduce(concatenate)
      : input;
  }
  noteWrittenFiles(invocation);
  if (program === "tee") return input;
  const printed: Stream = { kind: "program", program };
  const names = args.some((arg) => arg.includes(COMPUTED)) ? undefined : namesOf(invocation, workspace);
  return names === undefined ? printed : { ...printed, names: `${names}\n` };
}

/** What `echo` prints. */
function echoed(args: readonly string[]): readonly string[] {
  const first = args.findIndex((arg) => !/^-[neE]+$/.test(arg));
  const [options, words] = first === -1 ? [args, []] : [args.slice(0, first), args.slice(first)];
  const text = words.join(" ");
  // Some shells read escapes without the option, too.
  if (/\\[0cxuU]/.test(text) || (text.includes("\\") && options.some((option) => option.includes("e"))))
    return [COMPUTED];
  const ended = options.some((option) => option.includes("n")) ? text : `${text}\n`;
  return [...new Set([ended, ended.replaceAll("\\n", "\n")])];
}

/** What `printf` prints for a format of plain text, or of `%s` alone. */
function formatted([format = "", ...values]: readonly string[]): string {
  const plain = format.replaceAll("\\n", "\n").replaceAll("\\t", "\t");
  if (/^%s\n?$/.test(plain)) return values.map((value) => plain.replace("%s", () => value)).join("");
  return /[%\\]/.test(plain) ? COMPUTED : plain;
}

/** Names, or a value that hides nothing; undefined where the output may be anything. */
function namesOf({ program, args, input, state }: Invocation, workspace: string): string | undefined {
  if (!NAMING.has(program) && !VALUES[program]) return undefined;
  const operands = operandsOf(args);
  const [only = ""] = operands;
  const listed = input.kind === "program" ? input.names?.trim() : undefined;
  const text = args.join(" ").replaceAll(VALUE, "x");
  switch (program) {
    case "ls": {
      // The names of what is there: everything, or what the operands name.
      const named = operandsOf(args, "-I -w -T").filter((path) => path !== "." && path !== "./");
      return named.length > 0 ? named.join("\n") : "*";
    }
    case "mktemp":
      // A template may lead elsewhere.
      return args.every((arg) => /^-[dqu]+$|^--(directory|quiet)$/.test(arg)) ? `/tmp/${VALUE}` : undefined;
    case "which":
    case "command":
      return `/usr/bin/${posix.basename(operands.at(-1) ?? "")}`;
    case "basename":
      return operands.length === args.length && args.length < 3 ? posix.basename(only, args[1]) : undefined;
    case "dirname":
      return args.length === 1 ? posix.dirname(only) : undefined;
    case "realpath":
    case "readlink":
      return operands.length === 1 ? only : undefined;
    case "npm":
      if (!isInProject(state, workspace)) return undefined;
      return /^(root|prefix)$/.test(text) ? (only === "root" ? `${workspace}/node_modules` : workspace) : undefined;
    case "git":
      if (text === "rev-parse --show-toplevel") return isInProject(state, workspace) ? workspace : undefined;
      return GIT_VALUES.some((form) => form.test(text)) && args.every(isInside) ? VALUE : undefined;
    case "cut":
      return listed === VALUE ? VALUE : undefined;
    case "grep":
    case "rg":
      return grepped(args, listed);
  }
  // By characters (-c) they print parts of names.
  const whole = !args.some((arg) => /^-\w*c|^--b/.test(arg)) && operandsOf(args, "-n -k -t").length === 0;
  if (SELECTORS.has(program)) return whole ? listed : undefined;
  return args.every((arg) => VALUES[program]?.test(arg) ?? false) && VALUES[program] ? VALUE : undefined;
}

/** Names of files below the directory, or those of a listing that the search leaves. */
function grepped(args: readonly string[], listed: string | undefined): string | undefined {
  // With some options it prints text of its own, or parts of names.
  if (args.some((arg) => /^-\w*o|^--(l|o|only|replace|path|context|null)/.test(arg))) return undefined;
  if (args.every(isInside) && hasOption(args, "lL", "--files", "--files-with-matches", "--files-without-match"))
    return VALUE;
  // A search may choose one name of all; not a secret one, though, where all have the same ordinary ending.
  const ordinary = listed?.split("\n").every((name) => name === VALUE || /^[^*?[]*\*\.\w+$/.test(name));
  return ordinary || hasOption(args, "v", "--invert-match") ? listed : undefined;
}

/** A word that names nothing outside of the directory, and no secret. */
function isInside(word: string): boolean {
  return !/^[/~]|(^|\/)\.\.(\/|$)/.test(word) && !isSecretPath(word);
}

/** Whether git and npm find the project of the workspace: nothing leads them elsewhere. */
function isInProject(state: ShellState, workspace: string): boolean {
  const led = [...state.variables.keys()].some((name) => /^(GIT_|npm_config_)/i.test(name));
  return !led && state.directories.every((directory) => isWithin(workspace, directory));
}
