/** Programs that run others for what they find or read, or that an option gives a command: find, xargs and their like. */

import { posix } from "node:path";
import { hasOption, type Invocation, operandsFrom, operandsOf, optionValue } from "./inspection.ts";
import { checkPaths, DELETING, isStandardInput, readingOf, writeTo } from "./paths.ts";
import { PRINTED, SILENCE, type Stream } from "./streams.ts";
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
      // fd PATTERN PATH -x COMMAND: what it finds is below the path, and hidden unless its ending is given.
      const options = args.slice(0, at);
      const name = hasOption(options, "e", "--extension") ? VALUE : `.${VALUE}`;
      const path = operandsOf(options, "-e -t -E -d --extension --type")[1] ?? "";
      state.inspector.command([...args.slice(at + 1), posix.join(path, name)], state);
      return PRINTED;
    }
    case "xargs":
    case "gxargs":
    case "parallel":
      checkXargs(invocation);
      return PRINTED;
    case "ssh":
    case "sqlite3": {
      const remote = program === "ssh" ? operandsFrom(args, SSH_VALUED).slice(1) : [];
      if (remote.length > 0) state.inspector.script(remote.join(" "), state, input);
      else if (input !== SILENCE && input.from !== "file")
        state.inspector.ask(`${program} runs the commands that it reads`);
      return null;
    }
    case "make":
    case "gmake": {
      const file = optionValue(args, "-f", "--file", "--makefile");
      const rules = file !== undefined && !isStandardInput(file) ? readingOf(file, state) : input;
      if (file !== undefined && rules.from !== "file") state.inspector.ask("make runs what another command prints");
      return null;
    }
    default:
      return null;
  }
}

const MAX_EXPRESSION = 500;
const MAX_ITEMS = 100;
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
  const isListing = !args.some((arg) => /^-(printf|exec|execdir|ok|okdir)$/.test(arg));
  return isListing ? { text: found.join("\n"), from: "program" } : PRINTED;
}

/** What is read, or listed behind `:::`, is put where `{}` stands, or behind the words. parallel is a shell for them. */
function checkXargs({ program, args, state, input }: Invocation): void {
  const isParallel = program === "parallel";
  const replace = optionValue(args, "-I", "--replace") ?? (isParallel || args.includes("-i") ? "{}" : "\0");
  const words = operandsFrom(args, XARGS_VALUED);
  const end = words.findIndex((word) => /^:{3,4}\+?$/.test(word));
  const command = end === -1 ? words : words.slice(0, end);
  const given = end === -1 ? input.text.split(/[\s\0]+/) : words.slice(end + 1);
  const items = given.filter((item) => item !== "").map((item) => item.replace(/^(["'])(.*)\1$/, "$2"));
  if (items.length === 0) items.push(COMPUTED);
  if (items.length > MAX_ITEMS) state.inspector.ask("what it is given is too much to be judged");
  const lines = command.some((word) => word.includes(replace))
    ? items.slice(0, MAX_ITEMS).map((item) => command.map((word) => word.replaceAll(replace, item)))
    : [[...command, ...items.slice(0, MAX_ITEMS)]];
  for (const line of lines)
    if (isParallel) state.inspector.script(line.join(" "), state);
    else if (command.length > 0) state.inspector.command(line, state);
}
