/** Programs that run others for what they find or read: find, xargs and their like. */

import { posix } from "node:path";
import { runText } from "./builtins.ts";
import { type Inspector, type Invocation, operandsOf, optionValue } from "./inspection.ts";
import { deletionReason, writeReason } from "./paths.ts";
import { fork, UNKNOWN } from "./state.ts";
import { NOTHING, type Stream } from "./stream.ts";
import { textsOf } from "./streams.ts";

/** What the program prints, or null when it is none of these. */
export function checkDispatcher(invocation: Invocation, inspector: Inspector): Stream | null {
  const { program, args, input, state } = invocation;
  switch (program) {
    case "find":
    case "gfind":
      return checkFind(invocation, inspector);
    case "fd":
    case "fdfind": {
      const at = args.findIndex((arg) => ["-x", "-X", "--exec", "--exec-batch"].includes(arg));
      // fd PATTERN PATH ... -x COMMAND: what it finds is somewhere below the paths.
      const paths = operandsOf(at === -1 ? args : args.slice(0, at), [
        "-e",
        "-t",
        "-E",
        "-d",
        "--extension",
        "--type",
      ]).slice(1);
      for (const path of at === -1
        ? []
        : paths.length > 0
          ? paths.map((path) => posix.join(path, UNKNOWN))
          : [UNKNOWN]) {
        inspector.command([...args.slice(at + 1), path], fork(state), NOTHING);
      }
      return { kind: "program", program };
    }
    case "xargs":
    case "gxargs":
    case "parallel":
      return checkXargs(invocation, inspector);
    case "watch": {
      const words = operandsFrom(args, ["-n", "--interval", "-q"]);
      return inspector.script(words.join(" "), fork(state), NOTHING);
    }
    case "script":
    case "flock":
    case "su-exec": {
      const text = optionValue(args, "-c", "--command");
      if (text !== undefined) return runText(text, { ...invocation, state: fork(state) }, inspector);
      return program === "flock"
        ? inspector.command(operandsFrom(args, ["-w", "-E", "--timeout"]).slice(1), state, input)
        : null;
    }
    case "man":
      return runOption(invocation, inspector, "-P", "--pager", "-H", "--html");
    case "zip":
      return runOption(invocation, inspector, "-TT", "--unzip-command");
    case "rsync":
      return runOption(invocation, inspector, "-e", "--rsh", "--rsync-path");
    case "ssh":
    case "scp":
    case "sftp": {
      for (const [at, arg] of args.entries()) {
        const option = arg === "-o" ? (args[at + 1] ?? "") : arg.startsWith("-o") ? arg.slice(2) : "";
        const command = /^\s*(?:ProxyCommand|LocalCommand|KnownHostsCommand)[\s=]+(.*)$/is.exec(option)?.[1];
        if (command !== undefined && command !== "none") inspector.script(command, fork(state), NOTHING);
      }
      if (program !== "ssh") return null;
      const remote = operandsFrom(args, [
        "-b",
        "-c",
        "-D",
        "-E",
        "-e",
        "-F",
        "-i",
        "-J",
        "-L",
        "-l",
        "-m",
        "-o",
        "-p",
        "-R",
        "-S",
        "-W",
        "-w",
      ]).slice(1);
      if (remote.length > 0) inspector.script(remote.join(" "), fork(state), input);
      return { kind: "program", program };
    }
    case "git":
      for (const [at, arg] of args.entries()) {
        const [key = "", value = ""] = splitOnce(arg === "-c" ? (args[at + 1] ?? "") : "");
        if (value.startsWith("!")) inspector.script(value.slice(1), fork(state), NOTHING);
        else if (/pager|editor|command|helper|textconv|external/i.test(key))
          inspector.script(value, fork(state), NOTHING);
      }
      return null;
    case "tar":
    case "bsdtar":
    case "gtar":
      for (const arg of args) {
        const command =
          /^--(?:checkpoint-action=exec|to-command|use-compress-program|rmt-command|rsh-command|info-script|new-volume-script)=(.*)$/s.exec(
            arg,
          )?.[1];
        if (command !== undefined) inspector.script(command, fork(state), NOTHING);
      }
      return null;
    default:
      return null;
  }
}

/** An option of the program holds a command line. */
function runOption({ args, state }: Invocation, inspector: Inspector, ...names: readonly string[]): null {
  const command = optionValue(args, ...names);
  if (command !== undefined) inspector.script(command, fork(state), NOTHING);
  return null;
}

/** The paths that find goes through: its start, and below it the name that it searches. */
function checkFind(invocation: Invocation, inspector: Inspector): Stream {
  const { args, state } = invocation;
  const first = args.findIndex((arg) => /^[-(!]/.test(arg) && !/^-[HLPDO]/.test(arg));
  const starts = (first === -1 ? args : args.slice(0, first)).filter((arg) => !arg.startsWith("-"));
  const expression = first === -1 ? [] : args.slice(first);
  const roots = starts.length > 0 ? starts : ["."];
  const name = optionValue(expression, "-name", "-iname", "-path", "-wholename");
  const narrowed =
    expression.some((arg) =>
      /^-(i?name|i?path|i?regex|i?wholename|type|size|[acm](time|min)|newer.*|empty|user|group|perm|inum)$/.test(arg),
    ) && !/^[*?]+$/.test(name ?? "");
  const onlyFiles = optionValue(expression, "-type") === "f" && name === undefined;
  // Without a narrowing test the start itself is among the results; `-type f` narrows, but empties it all the same.
  const found = roots.map((root) =>
    narrowed && !onlyFiles ? posix.join(root, posix.basename(name ?? UNKNOWN)) : root,
  );
  // Below its start, whatever its name is: nothing is computed about where.
  const specific = roots.map((root) => (narrowed && !onlyFiles ? `${root}/${UNKNOWN}` : root));

  for (const [at, arg] of expression.entries()) {
    if (arg === "-delete") {
      for (const path of specific) {
        const reason = deletionReason(path, state.directories, inspector.workspace);
        if (reason) inspector.refuse(reason);
      }
    } else if (/^-(exec|execdir|ok|okdir)$/.test(arg)) {
      const end = expression.findIndex((word, index) => index > at && (word === ";" || word === "+"));
      const words = expression.slice(at + 1, end === -1 ? undefined : end);
      const deletes = ["rm", "rmdir", "unlink", "shred"].includes(posix.basename(words[0] ?? ""));
      for (const path of deletes ? specific : found)
        inspector.command(
          words.map((word) => word.replaceAll("{}", path)),
          fork(state),
          NOTHING,
        );
    } else if (/^-fl?(print[0f]?|s)$/.test(arg)) {
      const reason = writeReason(expression[at + 1] ?? "", state.directories, inspector.workspace);
      if (reason) inspector.refuse(reason);
    }
  }
  return { kind: "program", program: "find", names: found.map((path) => `${path}\n`).join("") };
}

const XARGS_VALUED = [
  "-a",
  "-d",
  "-E",
  "-I",
  "-L",
  "-n",
  "-P",
  "-s",
  "-i",
  "--arg-file",
  "--delimiter",
  "--replace",
  "--max-lines",
  "--max-args",
  "--max-procs",
  "--max-chars",
  "-j",
  "--jobs",
  "-S",
  "--sshlogin",
];

function checkXargs(invocation: Invocation, inspector: Inspector): Stream {
  const { program, args, state } = invocation;
  const replace =
    optionValue(args, "-I", "--replace") ?? (program === "parallel" || args.includes("-i") ? "{}" : undefined);
  const words = operandsFrom(args, XARGS_VALUED);
  const listed = words.findIndex((word) => /^:{3,4}\+?$/.test(word));
  const command = listed === -1 ? words : words.slice(0, listed);
  const inputs = listed === -1 ? textsOf(invocation.input) : [words.slice(listed + 1).join("\n")];
  for (const text of inputs) {
    // -d and quotes change where items end; white space and NUL are the ends that matter.
    const items = text
      .split(/[\s\0]+/)
      .filter((item) => item !== "")
      .map((item) => item.replace(/^(["'])(.*)\1$/, "$2"));
    const given = items.length > 0 ? items.slice(0, 200) : [UNKNOWN];
    if (replace !== undefined && command.some((word) => word.includes(replace))) {
      const lines = text
        .split(/[\n\0]+/)
        .map((line) => line.trim())
        .filter((line) => line !== "");
      for (const line of lines.length > 0 ? lines.slice(0, 50) : [UNKNOWN])
        run(command.map((word) => word.replaceAll(replace, line)));
    } else if (command.length > 0) run([...command, ...given]);
    else if (program === "parallel") inspector.script(text === "" ? UNKNOWN : text, fork(state), NOTHING);
  }
  return { kind: "program", program };

  function run(words: readonly string[]): void {
    // parallel hands its words to a shell; xargs starts the program itself.
    if (program === "parallel") inspector.script(words.join(" "), fork(state), NOTHING);
    else inspector.command(words, fork(state), NOTHING);
  }
}

/** Everything from the first operand on: options of the wrapped command are not the wrapper's. */
function operandsFrom(args: readonly string[], valued: readonly string[]): readonly string[] {
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    if (arg === "--") return args.slice(at + 1);
    if (valued.includes(arg)) at += 1;
    else if (!arg.startsWith("-") || arg === "-") return args.slice(at);
  }
  return [];
}

function splitOnce(text: string): [string, string] {
  const at = text.indexOf("=");
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
