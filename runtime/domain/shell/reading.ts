/** Commands that would show the content of files with secrets. */

import { readable } from "./files.ts";
import { hasOption, type Inspector, type Invocation, operandsOf, optionValue } from "./inspection.ts";
import { isSecretPath } from "./secrets.ts";

/** They name files without showing what is in them. */
const NOT_READING = new Set(
  "[ [[ basename chgrp chmod chown dirname du echo export file find fd ls mkdir mktemp mv printf realpath readlink rm rmdir set stat tee test touch tree unlink wc which md5sum sha1sum sha256sum truncate".split(
    " ",
  ),
);
/** Their first operand is a pattern or a program, unless an option brings one. */
const PATTERN_FIRST = new Set("grep egrep fgrep zgrep rg ag ack sed gsed awk gawk mawk jq yq perl".split(" "));
/** Subcommands of git that print file contents. */
const GIT_READERS = new Set("show diff cat-file blame annotate grep difftool log stash archive".split(" "));
const CONTAINER_TOOLS = new Set("docker docker-compose podman nerdctl".split(" "));

export function refuseSecrets(invocation: Invocation, inspector: Inspector): void {
  for (const path of readPaths(invocation)) {
    if (isSecretPath(path)) inspector.refuse(`it reads ${readable(path)}, which holds secrets`);
  }
}

/** Words of the command that may be files whose content it shows or passes on. */
function readPaths({ program, args }: Invocation): readonly string[] {
  if (NOT_READING.has(program)) return [];
  if (program === "git") return GIT_READERS.has(operandsOf(args, ["-C", "-c"])[0] ?? "") ? args.flatMap(variants) : [];
  if (
    (program === "sed" && hasOption(args, "i", "--in-place")) ||
    (/grep$|^rg$/.test(program) && hasOption(args, "qclL", "--quiet", "--count"))
  )
    return [];
  if (program === "cp" || program === "install" || program === "scp" || program === "rsync") {
    const into = optionValue(args, "-t", "--target-directory") !== undefined;
    const operands = operandsOf(args, ["-m", "-o", "-g", "-S", "-i", "-P", "-e", "--exclude", "--include", "-t"]);
    return into ? operands : operands.slice(0, -1);
  }
  return withoutExclusions(program, withoutPattern(program, args)).flatMap(variants);
}

function withoutPattern(program: string, args: readonly string[]): readonly string[] {
  if (
    !PATTERN_FIRST.has(program) ||
    hasOption(args, "", "--regexp", "--file") ||
    args.some((arg) => /^-[a-zA-Z]*[ef]$/.test(arg))
  ) {
    // The word after -e is a pattern too.
    return args.filter((_, at) => !(PATTERN_FIRST.has(program) && /^-[a-zA-Z]*e$/.test(args[at - 1] ?? "")));
  }
  const pattern = operandsOf(args, ["-A", "-B", "-C", "-m", "-g", "-t", "-v", "-F", "--arg", "--glob"])[0];
  const at = pattern === undefined ? -1 : args.indexOf(pattern);
  return at === -1 ? args : args.filter((_, index) => index !== at);
}

function withoutExclusions(program: string, args: readonly string[]): readonly string[] {
  return args.filter((arg, at) => {
    if (/^--(exclude|ignore|skip)/.test(arg) || /^--(exclude|ignore|skip)[a-z-]*$/.test(args[at - 1] ?? ""))
      return false;
    // Containers are given a file of variables by its name; its content is not shown.
    const named = arg.startsWith("--env-file") || args[at - 1] === "--env-file";
    return !(named && CONTAINER_TOOLS.has(program));
  });
}

/** A word unchanged, and what follows in it after `=`, `@` or a revision (`HEAD:.env`). */
function variants(word: string): readonly string[] {
  return [word, ...word.split(/=@?|^@|:/).slice(1)].filter((part) => part !== "" && !/\s/.test(part));
}
