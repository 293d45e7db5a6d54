/**
 * What commands print, where their words say it (`echo`), where it hides nothing (`date`), or where they list names
 * (`find`). What any other prints is computed: there are no decoders here, and no filters that change text.
 */

import { posix } from "node:path";
import { isWithin } from "../workspace-path.ts";
import { hasOption, type Invocation, operandsOf } from "./inspection.ts";
import { readingOf } from "./paths.ts";
import { isSecretPath } from "./secrets.ts";
import { FILE, PRINTED, type Stream } from "./streams.ts";
import { COMPUTED, VALUE } from "./values.ts";

/** They print numbers, dates or names of the machine, with arguments of this form (a blank stands before each). */
const VALUES = [
  /^(arch|hostname|nproc|uname|whoami)( -\S+)*$/,
  // Any letters may be the name of a time zone.
  /^date( \+%[a-mo-su-zA-Y](%[a-mo-su-zA-Y]|[-_:.T ]%[a-mo-su-zA-Y])*| [^+]\S*)*$/,
  /^(id|pidof) |^id$|^jobs( -p)?$|^seq( -?\d+)+$|^wc( -[clmwL]+)*$/,
  /^lsof( (-ti?\S*|-i\S*|:\d+))*$/,
  /^pgrep( (?!-\w*[ald]|--(list|del))\S+)*$/,
];
/** The same for git: revisions and names of the project. */
const GIT_VALUES = [
  // What it does not find it prints as it is written, and a branch may have any name.
  /^git rev-parse( (--short(=\d+)?|--verify|-q|(HEAD|@|[\da-f]{4,40})([~^@][\d~^{}]*)?))+$/,
  /^git (merge-base|write-tree)( |$)/,
  /^git (rev-list|ls-files|describe|tag|diff(?=.* --name-only)|log(?=.* --(format|pretty)=))( (-[zlmodu]+|-\d+|--|--(all|count|max-count=\d+|tags|abbrev=\d+|always|long|dirty|exact-match|list|merged|sort=[\w:.-]+|name-only|cached|staged|diff-filter=\w+|others|modified|deleted|exclude-standard|first-parent|no-merges|(format|pretty)=(format:)?%[hHtT])|[^-\s]\S*))*$/,
];

export function outputOf(invocation: Invocation): Stream {
  const { program, args, input, state } = invocation;
  if (program === "echo" && !args.some((arg) => /^-[neE]|\\/.test(arg)))
    return { text: args.join(" "), from: "command" };
  if (program === "cat" && !args.some((arg) => arg.startsWith("-"))) {
    if (args.length === 0) return input;
    return args.every((file) => readingOf(file, state) === FILE) ? FILE : PRINTED;
  }
  if (args.some((arg) => arg.includes(COMPUTED))) return PRINTED;
  return { text: namesOf(invocation) ?? COMPUTED, from: "program" };
}

/** Names, or a value that hides nothing; undefined where the output may be anything. */
function namesOf({ program, args, input, state }: Invocation): string | undefined {
  const operands = operandsOf(args);
  const [only = ""] = operands;
  const listed = input.from === "program" && !input.text.includes(COMPUTED) ? input.text : undefined;
  const text = [program, ...args].join(" ").replaceAll(VALUE, "x");
  // Nothing leads git and npm elsewhere.
  const isInProject = !state.variables.namesProject && isWithin(state.inspector.workspace, state.directory);
  switch (program) {
    case ":":
    case "true":
    case "test":
      return "";
    case "ls": {
      // The names of what is there: everything, or what the operands name.
      const named = operandsOf(args, "-I -w -T").filter((path) => path !== "." && path !== "./");
      const hidden = hasOption(args, "aAf", "--all", "--almost-all") ? [".*"] : [];
      return [...(named.length > 0 ? named : ["*"]), ...hidden].join("\n");
    }
    case "mktemp":
      // A template may lead elsewhere.
      return /^mktemp( -[dqu]+| --(directory|quiet))*$/.test(text) ? `/tmp/${VALUE}` : undefined;
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
    case "cut":
      return listed === VALUE ? VALUE : undefined;
    case "grep":
    case "rg":
      return grepped(args, listed);
    case "head":
    case "tail":
    case "sort":
    case "uniq":
      // By characters (-c) they print parts of names.
      return /( -\w*c| --b)/.test(text) || operandsOf(args, "-n -k -t").length > 0 ? undefined : listed;
  }
  if (/^(npm (root|prefix)|git rev-parse --show-toplevel)$/.test(text) && isInProject)
    return state.inspector.workspace + (only === "root" ? "/node_modules" : "");
  if (VALUES.some((form) => form.test(text))) return VALUE;
  return GIT_VALUES.some((form) => form.test(text)) && args.every(isInside) ? VALUE : undefined;
}

/** Names of files below the directory, or those of a listing that the search leaves. */
function grepped(args: readonly string[], listed: string | undefined): string | undefined {
  // With some options it prints text of its own, or parts of names.
  if (args.some((arg) => /^-\w*o|^--(l|o|only|replace|path|context|null)/.test(arg))) return undefined;
  if (args.every(isInside) && hasOption(args, "lL", "--files", "--files-with-matches", "--files-without-match"))
    return VALUE;
  // A search may choose one name of all; not a secret one, though, where all have the same ordinary ending.
  const isOrdinary = listed?.split("\n").every((name) => name === VALUE || /^[^*?[]*\*\.\w+$/.test(name));
  return isOrdinary || hasOption(args, "v", "--invert-match") ? listed : undefined;
}

/** A word that names nothing outside of the directory, and no secret. */
function isInside(word: string): boolean {
  return !/^[/~]|(^|\/)\.\.(\/|$)/.test(word) && !isSecretPath(word);
}
