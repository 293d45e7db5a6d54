/** Commands that would show the content of files: those with secrets are refused, and computed ones asked about. */

import { isWithin } from "../workspace-path.ts";
import { byProgram, hasOption, type Inspector, type Invocation, operandsOf, optionValue } from "./inspection.ts";
import { absolutePath, readable } from "./paths.ts";
import { isSecretPath, mayBeSecret } from "./secrets.ts";
import type { ShellState } from "./state.ts";
import { COMPUTED, PROCESS, VALUE } from "./values.ts";

/** What they are given they do not read: words, names of files, numbers. */
const NOT_READING = new Set(
  ": [ [[ basename break cd chgrp chmod chown continue dirname du echo exit export expr false file find fd kill let local ls mkdir mktemp mv popd printf pushd realpath readlink return rm rmdir seq set shift sleep stat tee test touch tree true unlink wait wc which md5sum sha1sum sha256sum truncate".split(
    " ",
  ),
);
/** Their first operand is a pattern or a program, unless an option brings one; with options that take the next word. */
const PATTERN_FIRST = byProgram({
  "grep egrep fgrep zgrep": "-A -B -C -m -e -f -d -D",
  "rg ag ack": "-A -B -C -m -e -f -g -t -T --glob",
  "sed gsed": "-e -f -l",
  "awk gawk mawk": "-v -F -f",
  "jq yq perl": "-f",
});
/** Subcommands of git that print file contents, or give them another name. */
const GIT_READERS = new Set(
  "show diff cat-file blame annotate grep difftool log stash archive mv format-patch whatchanged hash-object".split(
    " ",
  ),
);
const GIT_VALUED = "-C -c --git-dir --work-tree --namespace --exec-path";
/** Subcommands of git that are given words of a message or a pattern. */
const GIT_TEXTS = new Set("commit tag notes merge stash log grep blame revert show".split(" "));
/** Programs that pass on what they are given, and run none of it. */
const TEXT_PROGRAMS = new Set(
  "apt apt-get brew cat cp curl dd diff gh glab head install less ln more sort tail".split(" "),
);
export const CONTAINER_TOOLS = new Set("docker docker-compose podman nerdctl".split(" "));
/** Options whose value is text, which no file is read for. */
const TEXT_OPTIONS =
  /^((docker|podman|nerdctl) ((build|buildx) (-t|--tag|--build-arg|--label)|(run|create|exec) (-e|--env|--name|-l|--label))|gh \w+ (-t|--title|-b|--body|-n|--notes)|[gm]?awk .*-v)$/s;
/** Data, headers and users of curl that begin with text of the command: no `@` makes a file of the rest. */
const CURL_TEXT = /^(-d|--data|--data-raw|--json|-H|--header|-u|--user|-A) [^@]/s;

const NETWORK = /^\/dev\/(tcp|udp)\//;
/** A file whose name begins with a dot, or any of the root directory, when a value completes its name. */
const HIDDEN_NAME = new RegExp(`(^|/)\\.[^/]*${VALUE}|^/+${VALUE}`);

/** Whether the program does not run what it is given, whatever that is. */
export function isText(program: string, args: readonly string[]): boolean {
  if (program === "git") return GIT_TEXTS.has(args[0] ?? "");
  return [NOT_READING, PATTERN_FIRST, TEXT_PROGRAMS, CONTAINER_TOOLS].some((names) => names.has(program));
}

export function checkReading(invocation: Invocation, inspector: Inspector): void {
  const { program, args } = invocation;
  if (program === "git") {
    const command = args.indexOf(operandsOf(args, GIT_VALUED)[0] ?? "");
    if (args.slice(0, command + 1).some((arg) => arg.includes(COMPUTED)))
      inspector.ask("what git is called with is computed while it runs");
  }
  for (const path of readPaths(invocation)) checkReadPath(path, invocation.state, inspector);
}

export function checkReadPath(path: string, state: ShellState, inspector: Inspector): void {
  // In the workspace the name says enough.
  const absolute = state.directories.map((from) => absolutePath(path, { ...state, directories: [from] }));
  if (
    isSecretPath(path) ||
    absolute.some((candidate) => !isWithin(inspector.workspace, candidate) && isSecretPath(candidate))
  )
    inspector.refuse(`it reads ${readable(path)}, which holds secrets`);
  else if (path.startsWith(PROCESS)) return;
  else if (NETWORK.test(path)) inspector.refuse("it would open a connection from the shell itself");
  else if (path.includes(COMPUTED)) inspector.ask("what it reads is computed while it runs");
  else if (HIDDEN_NAME.test(path))
    inspector.ask(`${readable(path)} may be a file that holds secrets: a part of its name is computed`);
  else if (absolute.some(mayBeSecret)) inspector.ask(`${readable(path)} may be a file that holds secrets`);
}

/** Words of the command that may be files whose content it shows or passes on. */
function readPaths({ program, args }: Invocation): readonly string[] {
  if (NOT_READING.has(program)) return [];
  if (program === "git") return GIT_READERS.has(operandsOf(args, GIT_VALUED)[0] ?? "") ? args.flatMap(variants) : [];
  if (
    (program === "sed" && hasOption(args, "i", "--in-place")) ||
    (/grep$|^rg$/.test(program) && args.some((arg) => /^(-[^-ef]*[qclL]|--(quiet|count)$)/.test(arg)))
  )
    return [];
  if (program === "cp" || program === "install" || program === "scp" || program === "rsync") {
    const operands = operandsOf(args, COPY_VALUED[program]);
    return optionValue(args, "-t", "--target-directory") === undefined ? operands.slice(0, -1) : operands;
  }
  return withoutTexts(program, withoutPattern(program, args)).flatMap(variants);
}

const COPY_VALUED: Readonly<Record<string, string>> = {
  cp: "-t --target-directory -S",
  install: "-t --target-directory -S -m -o -g",
  rsync: "-e -f -T --exclude --include",
  scp: "-c -F -i -J -l -o -P -S",
};

function withoutPattern(program: string, args: readonly string[]): readonly string[] {
  const valued = PATTERN_FIRST.get(program);
  if (valued === undefined) return args;
  const given = args.some((arg) => /^(-[a-zA-Z]*[ef]|--(regexp|file|expression|source|from-file)(=|$))/.test(arg));
  const first = operandsOf(args, valued)[0] ?? "";
  const pattern = given ? -1 : args.indexOf(first);
  // The word after -e is a pattern too; `--arg name value` of jq is text.
  return args.filter((_, at) => at !== pattern && !/^-[a-zA-Z]*e$/.test(args[at - 1] ?? "") && !isArgument(at));

  function isArgument(at: number): boolean {
    return program === "jq" && [1, 2].some((distance) => /^--arg(json)?$/.test(args[at - distance] ?? ""));
  }
}

/** Without values of options that are no files to be read: exclusions, names of containers, headers. */
function withoutTexts(program: string, args: readonly string[]): readonly string[] {
  return args.filter((arg, at) => {
    const before = args[at - 1] ?? "";
    if (/^--(exclude|ignore|skip)/.test(arg) || /^--(exclude|ignore|skip)[a-z-]*$/.test(before)) return false;
    // Containers are given a file of variables by its name; its content is not shown.
    if ((arg.startsWith("--env-file") || before === "--env-file") && CONTAINER_TOOLS.has(program)) return false;
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
