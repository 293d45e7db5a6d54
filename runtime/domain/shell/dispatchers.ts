/** Programs that run others for what they find or read, or that an option gives a command: find, xargs and their like. */

import { posix } from "node:path";
import { hasOption, type Invocation, operandsFrom, operandsOf, optionValue } from "./inspection.ts";
import { checkPaths, DELETING, isStandardInput, readingOf, writeTo } from "./paths.ts";
import { printedBy, type Stream } from "./streams.ts";
import { COMPUTED, VALUE } from "./values.ts";

const SSH_VALUED = "-b -c -D -E -e -F -i -J -L -l -m -o -p -R -S -W -w";
const XARGS_VALUED =
  "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-chars -j --jobs -S --sshlogin";

/** What the program prints, or null when it is none of these. */
export function checkDispatcher(invocation: Invocation): Stream | null {
  const { program, args, input, state } = invocation;
  switch (program) {
    case "find":
    case "gfind":
      return checkFind(invocation);
    case "fd":
    case "fdfind": {
      const at = args.findIndex((arg) => /^(-x|-X|--exec|--exec-batch)$/.test(arg));
      if (args.some((arg) => arg.includes(COMPUTED))) state.inspector.ask("what it finds is computed while it runs");
      if (at === -1) return null;
      // fd PATTERN PATH ... -x COMMAND: what it finds is somewhere below the paths, and hidden unless its ending is given.
      const valued = "-e -t -E -d --extension --type";
      const name = hasOption(args.slice(0, at), "e", "--extension") ? VALUE : `.${VALUE}`;
      const paths = operandsOf(args.slice(0, at), valued).slice(1);
      for (const path of paths.length > 0 ? paths : [""])
        state.inspector.command([...args.slice(at + 1), posix.join(path, name)], state);
      return printedBy(program);
    }
    case "xargs":
    case "gxargs":
    case "parallel":
      checkXargs(invocation);
      return printedBy(program);
    case "ssh": {
      const remote = operandsFrom(args, SSH_VALUED).slice(1);
      if (remote.length > 0 || input.from === "command")
        state.inspector.script(remote.length > 0 ? remote.join(" ") : input.text, state, input);
      else askAboutPrinted(input);
      return null;
    }
    case "sqlite3":
      askAboutPrinted(input);
      return null;
    case "make":
    case "gmake": {
      const file = optionValue(args, "-f", "--file", "--makefile");
      const rules = file === undefined || isStandardInput(file) ? input : readingOf(file, state);
      if (file !== undefined && rules.from !== "file") state.inspector.ask("make runs what another command prints");
      return null;
    }
    default:
      return null;
  }

  function askAboutPrinted({ from }: Stream): void {
    if (typeof from === "object") state.inspector.ask(`${program} runs the commands that ${from.program} prints`);
  }
}

const MAX_EXPRESSION = 500;
const NARROWING = /^-(i?name|i?path|i?regex|i?wholename|type|size|[acm](time|min)|newer.*|empty|user|group|perm|inum)$/;

/** The paths that find goes through: its start, and below it the name that it searches. */
function checkFind({ args, state }: Invocation): Stream {
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
  if (args.some((arg, at) => arg.includes(COMPUTED) && !(NARROWING.test(args[at - 1] ?? "") && arg !== COMPUTED)))
    state.inspector.ask("what it finds is computed while it runs");
  if (expression.length > MAX_EXPRESSION) state.inspector.ask("what it finds is too long to be judged");
  for (const [at, arg] of expression.slice(0, MAX_EXPRESSION).entries()) {
    if (arg === "-delete") checkPaths(found, state, DELETING);
    else if (/^-fl?(print[0f]?|s)$/.test(arg)) writeTo([expression[at + 1] ?? ""], state);
    else if (/^-(exec|execdir|ok|okdir)$/.test(arg)) {
      const end = expression.findIndex((word, index) => index > at && (word === ";" || word === "+"));
      const words = expression.slice(at + 1, end === -1 ? undefined : end);
      for (const path of found)
        state.inspector.command(
          words.map((word) => word.replaceAll("{}", path)),
          state,
        );
    }
  }
  const names = args.some((arg) => /^-(printf|exec|execdir|ok|okdir)$/.test(arg))
    ? COMPUTED
    : found.map((path) => `${path}\n`).join("");
  return printedBy("find", names);
}

function checkXargs({ program, args, state, input }: Invocation): void {
  const replace =
    optionValue(args, "-I", "--replace") ?? (program === "parallel" || args.includes("-i") ? "{}" : undefined);
  const words = operandsFrom(args, XARGS_VALUED);
  const listed = words.findIndex((word) => /^:{3,4}\+?$/.test(word));
  const command = listed === -1 ? words : words.slice(0, listed);
  const text = listed === -1 ? input.text : words.slice(listed + 1).join("\n");
  // parallel hands its words to a shell; xargs starts the program itself.
  const run = (line: readonly string[]) =>
    program === "parallel" ? state.inspector.script(line.join(" "), state) : state.inspector.command(line, state);
  if (replace !== undefined && command.some((word) => word.includes(replace))) {
    const lines = text.split(/[\n\0]+/).filter((line) => line.trim() !== "");
    for (const line of lines.length > 0 ? lines.slice(0, 50) : [COMPUTED])
      run(command.map((word) => word.replaceAll(replace, line.trim())));
  } else if (command.length > 0) {
    // -d and quotes change where items end; white space and NUL are the ends that matter.
    const items = text.split(/[\s\0]+/).filter((item) => item !== "");
    const given = items.length > 0 ? items.slice(0, 200) : [COMPUTED];
    run([...command, ...given.map((item) => item.replace(/^(["'])(.*)\1$/, "$2"))]);
  } else if (program === "parallel") state.inspector.script(text === "" ? COMPUTED : text, state);
}
