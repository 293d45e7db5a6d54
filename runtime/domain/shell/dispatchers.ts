/** Programs that run others for what they find or read, or that an option gives a command: find, xargs and their like. */

import { posix } from "node:path";
import { type Inspector, type Invocation, operandsFrom, operandsOf, optionValue } from "./inspection.ts";
import { checkPaths, deletionReason, isStandardInput, readingOf, writeReason } from "./paths.ts";
import { type Stream, textsOf } from "./streams.ts";
import { COMPUTED, VALUE } from "./values.ts";

const SSH_VALUED = "-b -c -D -E -e -F -i -J -L -l -m -o -p -R -S -W -w";
const XARGS_VALUED =
  "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-chars -j --jobs -S --sshlogin";

/** What the program prints, or null when it is none of these. */
export function checkDispatcher(invocation: Invocation, inspector: Inspector): Stream | null {
  const { program, args, input, state } = invocation;
  const printed: Stream = { kind: "program", program };
  switch (program) {
    case "find":
    case "gfind":
      return checkFind(invocation, inspector);
    case "fd":
    case "fdfind": {
      const at = args.findIndex((arg) => /^(-x|-X|--exec|--exec-batch)$/.test(arg));
      if (args.some((arg) => arg.includes(COMPUTED))) inspector.ask("what it finds is computed while it runs");
      if (at === -1) return null;
      // fd PATTERN PATH ... -x COMMAND: what it finds is somewhere below the paths.
      const paths = operandsOf(args.slice(0, at), "-e -t -E -d --extension --type").slice(1);
      for (const path of paths.length > 0 ? paths : [""])
        inspector.command([...args.slice(at + 1), posix.join(path, VALUE)], state);
      return printed;
    }
    case "xargs":
    case "gxargs":
    case "parallel":
      checkXargs(invocation, inspector);
      return printed;
    case "ssh": {
      const remote = operandsFrom(args, SSH_VALUED).slice(1);
      if (remote.length > 0) inspector.script(remote.join(" "), state, input);
      return null;
    }
    case "make":
    case "gmake": {
      const file = optionValue(args, "-f", "--file", "--makefile");
      const rules = file === undefined ? undefined : isStandardInput(file) ? input : readingOf(file, state);
      if (rules && rules.kind !== "file") inspector.ask("make runs what another command prints");
      return null;
    }
    default:
      return null;
  }
}

const NARROWING = /^-(i?name|i?path|i?regex|i?wholename|type|size|[acm](time|min)|newer.*|empty|user|group|perm|inum)$/;

/** The paths that find goes through: its start, and below it the name that it searches. */
function checkFind({ args, state }: Invocation, inspector: Inspector): Stream {
  const first = args.findIndex((arg) => /^[-(!]/.test(arg) && !/^-[HLPDO]/.test(arg));
  const starts = (first === -1 ? args : args.slice(0, first)).filter((arg) => !arg.startsWith("-"));
  const expression = first === -1 ? [] : args.slice(first);
  const roots = starts.length > 0 ? starts : ["."];
  const name = optionValue(expression, "-name", "-iname", "-path", "-wholename");
  const narrowed = expression.some((arg) => NARROWING.test(arg)) && !/^[*?]+$/.test(name ?? "");
  const onlyFiles = optionValue(expression, "-type") === "f" && name === undefined;
  // Without a narrowing test the start itself is among the results; `-type f` narrows, but empties it all the same.
  const isBelow = narrowed && !onlyFiles;
  const found = roots.map((root) => (isBelow ? posix.join(root, posix.basename(name ?? VALUE)) : root));
  // Below its start, whatever its name is: nothing is computed about where.
  const specific = roots.map((root) => (isBelow ? `${root}/${VALUE}` : root));

  if (args.some((arg, at) => arg.includes(COMPUTED) && !(NARROWING.test(args[at - 1] ?? "") && arg !== COMPUTED)))
    inspector.ask("what it finds is computed while it runs");
  for (const [at, arg] of expression.entries()) {
    if (arg === "-delete") checkPaths(specific, state, inspector, deletionReason);
    else if (/^-fl?(print[0f]?|s)$/.test(arg)) checkPaths([expression[at + 1] ?? ""], state, inspector, writeReason);
    else if (/^-(exec|execdir|ok|okdir)$/.test(arg)) {
      const end = expression.findIndex((word, index) => index > at && (word === ";" || word === "+"));
      const words = expression.slice(at + 1, end === -1 ? undefined : end);
      const deletes = /^(rm|rmdir|unlink|shred)$/.test(posix.basename(words[0] ?? ""));
      for (const path of deletes ? specific : found)
        inspector.command(
          words.map((word) => word.replaceAll("{}", path)),
          state,
        );
    }
  }
  const names = args.some((arg) => /^-(printf|exec|execdir|ok|okdir)$/.test(arg))
    ? COMPUTED
    : found.map((path) => `${path}\n`).join("");
  return { kind: "program", program: "find", names };
}

function checkXargs({ program, args, state, input }: Invocation, inspector: Inspector): void {
  const replace =
    optionValue(args, "-I", "--replace") ?? (program === "parallel" || args.includes("-i") ? "{}" : undefined);
  const words = operandsFrom(args, XARGS_VALUED);
  const listed = words.findIndex((word) => /^:{3,4}\+?$/.test(word));
  const command = listed === -1 ? words : words.slice(0, listed);
  // parallel hands its words to a shell; xargs starts the program itself.
  const run = (line: readonly string[]) =>
    program === "parallel" ? inspector.script(line.join(" "), state) : inspector.command(line, state);
  for (const text of listed === -1 ? textsOf(input) : [words.slice(listed + 1).join("\n")]) {
    // -d and quotes change where items end; white space and NUL are the ends that matter.
    const items = text.split(/[\s\0]+/).filter((item) => item !== "");
    if (replace !== undefined && command.some((word) => word.includes(replace))) {
      const lines = text.split(/[\n\0]+/).filter((line) => line.trim() !== "");
      for (const line of lines.length > 0 ? lines.slice(0, 50) : [COMPUTED])
        run(command.map((word) => word.replaceAll(replace, line.trim())));
    } else if (command.length > 0)
      run([
        ...command,
        ...(items.length > 0 ? items.slice(0, 200) : [COMPUTED]).map((item) => item.replace(/^(["'])(.*)\1$/, "$2")),
      ]);
    else if (program === "parallel") inspector.script(text === "" ? COMPUTED : text, state);
  }
}
