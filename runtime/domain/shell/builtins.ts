/** Commands of the shell itself: those that change what is known about it, and those that run text. */

import { absolutePath, isStandardInput, readable, readingOf } from "./files.ts";
import { type Inspector, type Invocation, operandsOf, optionValue } from "./inspection.ts";
import { lookupOutput, printfOutput } from "./output.ts";
import { isSecretPath } from "./secrets.ts";
import { assign, bounded, changeDirectory, fork, HOME, PROCESS, UNKNOWN } from "./state.ts";
import { NOTHING, SILENCE, type Stream, textStream } from "./stream.ts";
import { textsOf } from "./streams.ts";
import { checkVariable } from "./variables.ts";

/** What the builtin prints; null when the command is no builtin that is followed. */
export function readBuiltin(invocation: Invocation, inspector: Inspector): Stream | null {
  const { program, args, input, state } = invocation;
  switch (program) {
    case "cd":
    case "pushd": {
      const target = operandsOf(args)[0] ?? HOME;
      changeDirectory(
        state,
        target === "-"
          ? [UNKNOWN]
          : bounded(state.directories.map((from) => absolutePath(target, { ...state, directories: [from] }))),
      );
      return SILENCE;
    }
    case "popd":
      changeDirectory(state, [UNKNOWN]);
      return SILENCE;
    case "pwd":
      return textStream(...state.directories.map((directory) => `${directory}\n`));
    case "eval": {
      const text = args[0] === "--" ? args.slice(1).join(" ") : args.join(" ");
      return runText(text, invocation, inspector);
    }
    case "source":
    case ".":
      return sourceFile(invocation, inspector);
    case "trap": {
      const code = operandsOf(args)[0];
      if (code !== undefined && code !== "-") inspector.later(() => inspector.script(code, fork(state), input));
      return SILENCE;
    }
    case "alias":
      for (const definition of operandsOf(args)) {
        const [, text = ""] = splitAssignment(definition);
        inspector.script(text, fork(state), input);
      }
      return SILENCE;
    case "export":
    case "declare":
    case "typeset":
    case "local":
    case "readonly":
      for (const definition of operandsOf(args)) {
        const [name, value] = splitAssignment(definition);
        if (value === undefined) continue;
        checkVariable(name, value, state, inspector);
        assign(state, name, [value]);
      }
      return SILENCE;
    case "compgen":
    case "complete": {
      const code = optionValue(args, "-C");
      if (code !== undefined) inspector.script(code, fork(state), NOTHING);
      return SILENCE;
    }
    case "unset":
      for (const name of operandsOf(args)) assign(state, name, [""]);
      return SILENCE;
    case "set": {
      const end = args.indexOf("--");
      if (end !== -1) state.positional = args.slice(end + 1);
      else if (args.length > 0 && !/^[-+]/.test(args[0] ?? "")) state.positional = args;
      return SILENCE;
    }
    case "shift":
      state.positional = state.positional?.slice(Number(args[0] ?? 1) || 1) ?? null;
      return SILENCE;
    case "read": {
      const names = operandsOf(args, ["-d", "-i", "-n", "-N", "-p", "-t", "-u", "-a"]);
      const lines = textsOf(input).flatMap((text) =>
        text.split("\n").filter((line, index) => line !== "" || index === 0),
      );
      for (const [index, name] of (names.length > 0 ? names : ["REPLY"]).entries()) {
        assign(state, name, bounded(lines.map((line) => fieldOf(line, index, names.length))));
      }
      return SILENCE;
    }
    case "mapfile":
    case "readarray":
    case "getopts":
      for (const name of operandsOf(args, ["-d", "-n", "-O", "-s", "-u", "-C", "-c"])) {
        assign(state, name, [UNKNOWN]);
        state.arrays.set(
          name,
          textsOf(input).flatMap((text) => text.split("\n")),
        );
      }
      return SILENCE;
    case "printf": {
      const variable = optionValue(args.slice(0, 2), "-v");
      if (variable === undefined) return null;
      assign(state, variable, [printfOutput(args.slice(args[0] === "-v" ? 2 : 1))]);
      return SILENCE;
    }
    case "command":
    case "type":
      // `command -v rm` prints a path; without the option it runs the rest.
      if (program === "command" && !/^-[vV]/.test(args[0] ?? "")) return null;
      return textStream(lookupOutput(args));
    default:
      return null;
  }
}

/** Text that becomes a command: inspected where it is known, refused where it is unknown. */
export function runText(text: string, invocation: Invocation, inspector: Inspector): Stream {
  const { program, state, input } = invocation;
  if (text.trimStart().startsWith(UNKNOWN)) {
    inspector.refuse(`${program} runs text that is computed while the command runs`);
    return { kind: "program", program };
  }
  return inspector.script(text, state, input);
}

function sourceFile(invocation: Invocation, inspector: Inspector): Stream {
  const { args, input, state } = invocation;
  const path = args.find((arg) => arg !== "--");
  if (path === undefined) return SILENCE;
  if (isSecretPath(path)) inspector.refuse(`it reads ${readable(path)}, which holds secrets`);
  const stream = isStandardInput(path) ? input : readingOf(path, state);
  if (stream.kind === "program")
    inspector.refuse(`it runs what ${stream.program} prints without anyone having looked at it`);
  if (stream.kind === "text")
    for (const text of stream.texts) runText(text, { ...invocation, program: "source" }, inspector);
  if (stream.kind === "file" && !path.startsWith(PROCESS)) state.sourced = true;
  return SILENCE;
}

function splitAssignment(definition: string): [name: string, value: string | undefined] {
  const at = definition.indexOf("=");
  return at === -1 ? [definition, undefined] : [definition.slice(0, at).replace(/\+$/, ""), definition.slice(at + 1)];
}

/** The part of a line that `read` puts into its nth variable; the last one takes the rest. */
function fieldOf(line: string, index: number, variables: number): string {
  if (line.includes(UNKNOWN)) return UNKNOWN;
  const fields = line.trim().split(/\s+/);
  return index >= variables - 1 ? fields.slice(index).join(" ") : (fields[index] ?? "");
}
