/** Commands that would show the content of files: those with secrets are refused, and computed ones asked about. */

import { isWithin } from "../workspace-path.ts";
import { byProgram, hasOption, type Invocation, operandsOf, optionValue, type ShellState } from "./inspection.ts";
import { absolutePath, readable } from "./paths.ts";
import { isSecretPath, mayBeSecret } from "./secrets.ts";
import { COMPUTED, PROCESS, VALUE } from "./values.ts";

/** What they are given they do not read: words, names of files, numbers. */
const NOT_READING =
  /^(:|\[\[?|basename|break|cd|ch(grp|mod|own)|continue|dirname|du|echo|exit|export|expr|false|file|find|fd|kill|let|local|ls|mkdir|mktemp|mv|popd|printf|pushd|realpath|readlink|return|rm|rmdir|seq|set|shift|sleep|stat|tee|test|touch|tree|true|unlink|wait|wc|which|(md5|sha1|sha256)sum|truncate)$/;
/** Programs that pass on what they are given, and run none of it; of git, subcommands that are given words of a message. */
const TEXT_PROGRAMS =
  /^(apt|apt-get|brew|cat|cp|curl|dd|diff|gh|glab|head|install|less|ln|more|sort|tail|docker(-compose)?|podman|nerdctl|git (commit|tag|notes|merge|stash|log|grep|blame|revert|show))$/;
/** Their first operand is a pattern or a program, unless an option brings one; with options that take the next word. */
const PATTERN_FIRST = byProgram({
  "grep egrep fgrep zgrep": "-A -B -C -m -e -f -d -D",
  "rg ag ack": "-A -B -C -m -e -f -g -t -T --glob",
  "sed gsed": "-e -f -l",
  "awk gawk mawk": "-v -F -f",
  "jq yq perl": "-f",
});
/** Subcommands of git that print file contents, or give them another name. */
const GIT_READERS =
  /^(show|diff|cat-file|blame|annotate|grep|difftool|log|stash|archive|mv|format-patch|whatchanged|hash-object)$/;
export const GIT_VALUED = "-C -c --git-dir --work-tree --namespace --exec-path";
/** Programs that read all operands but the last one, with options that take the next word. */
const COPY_VALUED = byProgram({
  cp: "-t --target-directory -S",
  install: "-t --target-directory -S -m -o -g",
  rsync: "-e -f -T --exclude --include",
  scp: "-c -F -i -J -l -o -P -S",
});
/** Options whose value is text, which no file is read for. */
const TEXT_OPTIONS =
  /^((docker|podman|nerdctl) ((build|buildx) (-t|--tag|--build-arg|--label)|(run|create|exec) (-e|--env|--name|-l|--label))|gh \w+ (-t|--title|-b|--body|-n|--notes)|[gm]?awk .*-v)$/s;
/** Data, headers and users of curl that begin with text of the command: no `@` makes a file of the rest. */
const CURL_TEXT = /^(-d|--data|--data-raw|--json|-H|--header|-u|--user|-A) [^@]/s;
/** A file whose name begins with a dot, or any of the root directory, when a value completes its name. */
const HIDDEN_NAME = new RegExp(`(^|/)\\.[^/]*${VALUE}|^/+${VALUE}`);

/** Whether the program does not run what it is given, whatever that is. */
export function isText(program: string, args: readonly string[]): boolean {
  const name = program === "git" ? `git ${args[0]}` : program;
  return NOT_READING.test(name) || TEXT_PROGRAMS.test(name) || PATTERN_FIRST.has(name);
}

export function checkReading(invocation: Invocation): void {
  const { program, args, state } = invocation;
  const verb = program === "git" ? args.indexOf(operandsOf(args, GIT_VALUED)[0] ?? "") : -1;
  if (args.slice(0, verb + 1).some((arg) => arg.includes(COMPUTED)))
    state.inspector.ask("what git is called with is computed while it runs");
  for (const arg of args) {
    if (/^file:.*[%{[]/is.test(arg)) state.inspector.ask("the address of a file is written so that it hides a path");
    const list = /^--files0?-from=?(.*)$/s.exec(arg)?.[1];
    if (list === undefined || list === "-") continue;
    checkReadPath(list, state);
    state.inspector.ask("which files it reads stands in another file");
  }
  for (const path of readPaths(invocation)) checkReadPath(path, state);
}

export function checkReadPath(path: string, state: ShellState): void {
  const { ask, refuse, workspace } = state.inspector;
  // In the workspace the name says enough.
  const absolute = absolutePath(path, state);
  if (isSecretPath(path) || (!isWithin(workspace, absolute) && isSecretPath(absolute)))
    refuse(`it reads ${readable(path)}, which holds secrets`);
  else if (path.startsWith(PROCESS)) return;
  else if (/^\/dev\/(tcp|udp)\//.test(path)) refuse("it would open a connection from the shell itself");
  else if (path.includes(COMPUTED)) ask("what it reads is computed while it runs");
  else if (HIDDEN_NAME.test(path))
    ask(`${readable(path)} may be a file that holds secrets: a part of its name is computed`);
  else if (mayBeSecret(absolute)) ask(`${readable(path)} may be a file that holds secrets`);
}

/** Words of the command that may be files whose content it shows or passes on. */
function readPaths({ program, args }: Invocation): readonly string[] {
  if (NOT_READING.test(program)) return [];
  if (program === "git") return GIT_READERS.test(operandsOf(args, GIT_VALUED)[0] ?? "") ? args.flatMap(variants) : [];
  if (program === "sed" && hasOption(args, "i", "--in-place")) return [];
  if (/grep$|^rg$/.test(program) && args.some((arg) => /^(-[^-ef]*[qclL]|--(quiet|count)$)/.test(arg))) return [];
  const copied = COPY_VALUED.get(program);
  if (copied !== undefined)
    return operandsOf(args, copied).slice(
      0,
      optionValue(args, "-t", "--target-directory") === undefined ? -1 : undefined,
    );
  return withoutTexts(program, withoutPattern(program, args)).flatMap(variants);
}

function withoutPattern(program: string, args: readonly string[]): readonly string[] {
  const valued = PATTERN_FIRST.get(program);
  if (valued === undefined) return args;
  const isGiven = args.some((arg) => /^(-[a-zA-Z]*[ef]|--(regexp|file|expression|source|from-file)(=|$))/.test(arg));
  const pattern = isGiven ? -1 : args.indexOf(operandsOf(args, valued)[0] ?? "");
  // The word after -e is a pattern too; `--arg name value` of jq is text.
  const isArgument = (at: number) =>
    program === "jq" && [1, 2].some((distance) => /^--arg(json)?$/.test(args[at - distance] ?? ""));
  return args.filter((_, at) => at !== pattern && !/^-[a-zA-Z]*e$/.test(args[at - 1] ?? "") && !isArgument(at));
}

/** Without values of options that are no files to be read: exclusions, names of containers, headers. */
function withoutTexts(program: string, args: readonly string[]): readonly string[] {
  return args.filter((arg, at) => {
    const before = args[at - 1] ?? "";
    if (/^--(exclude|ignore|skip)/.test(arg) || /^--(exclude|ignore|skip)[a-z-]*$/.test(before)) return false;
    // Containers are given a file of variables by its name; its content is not shown.
    if (/^(docker|podman|nerdctl)/.test(program) && (arg.startsWith("--env-file") || before === "--env-file"))
      return false;
    if (!arg.includes(COMPUTED)) return true;
    const start = arg.slice(0, arg.indexOf(COMPUTED));
    if (program === "curl") return !/^https?:\/\//.test(start) && !CURL_TEXT.test(`${before} ${start}`);
    return !TEXT_OPTIONS.test(`${program} ${operandsOf(args)[0] ?? ""} ${before}`);
  });
}

/** A word unchanged, and what follows in it after `=`, `@` or a revision (`HEAD:.env`). */
function variants(word: string): readonly string[] {
  return [word, ...word.split(/[=@<;:]|^-[a-zA-Z]@?/).slice(1)].filter((part) => part !== "" && !/\s/.test(part));
}
