/** Commands of the shell itself: those that change what is known about it, and those that run text. */

import { hasOption, type Invocation, operandsOf, optionValue } from "./inspection.ts";
import { runStream, runText } from "./interpreters.ts";
import { absolutePath, isStandardInput, readingOf } from "./paths.ts";
import { checkReadPath } from "./reading.ts";
import { assign, directoryOf, variableOf } from "./state.ts";
import { SILENCE, type Stream, textStream } from "./streams.ts";
import { COMPUTED, DIRECTORY, HOME, PROCESS, VALUE } from "./values.ts";
import { COMMAND_IN_INDEX, define, HIDDEN_IN_INDEX, splitAssignment } from "./variables.ts";

/** Builtins that take names of variables, which may have an index, or that count. */
const COUNTING = new Set("[ declare export let local mapfile printf read readonly test typeset unset wait".split(" "));

/** What the builtin prints; null when the command is no builtin that is followed. */
export function readBuiltin(invocation: Invocation): Stream | null {
  const { program, args, input, state } = invocation;
  if (COUNTING.has(program) && args.some((arg) => COMMAND_IN_INDEX.test(arg))) state.inspector.ask(HIDDEN_IN_INDEX);
  switch (program) {
    case "cd":
    case "pushd":
    case "popd": {
      const target = operandsOf(args)[0] ?? (program === "popd" ? "-" : HOME);
      const back = (program === "cd" && variableOf(state, "OLDPWD")) || COMPUTED;
      const from = directoryOf(state);
      state.variables.set("OLDPWD", [from]);
      const reached = target === "-" ? back : target.includes(COMPUTED) ? COMPUTED : absolutePath(target, state);
      state.variables.set(DIRECTORY, [reached]);
      return SILENCE;
    }
    case "pwd":
      return textStream(`${directoryOf(state)}\n`);
    case "eval":
      return runText((args[0] === "--" ? args.slice(1) : args).join(" "), invocation);
    case "source":
    case ".":
      return sourceFile(invocation);
    case "trap": {
      const code = operandsOf(args)[0];
      if (code !== undefined && code !== "-") state.inspector.later(() => state.inspector.script(code, state, input));
      return SILENCE;
    }
    case "alias":
    case "hash":
    case "shopt":
      if (args.some((arg) => /=|^(-p|expand_aliases|lastpipe)$/.test(arg)))
        state.inspector.ask(`${program} gives a word another meaning`);
      return SILENCE;
    case "export":
    case "declare":
    case "typeset":
    case "local":
    case "readonly":
      if (hasOption(args, "n")) state.inspector.ask("a reference is another name of a variable");
      for (const definition of operandsOf(args)) {
        const [name] = splitAssignment(definition);
        if (/^(local|declare|typeset)$/.test(program) && !hasOption(args, "g") && state.locals?.has(name) === false)
          state.locals.set(name, state.variables.get(name));
        define(definition, state);
        // Other letters, keys or numbers than those that are written.
        if (hasOption(args, "aAilu") && state.variables.has(name)) set(name, hasOption(args, "i") ? VALUE : COMPUTED);
      }
      return SILENCE;
    case "unset":
      for (const name of operandsOf(args)) state.variables.delete(name);
      return SILENCE;
    case "set": {
      const end = args.indexOf("--");
      if (end !== -1) state.positional = args.slice(end + 1);
      else if (args.length > 0 && !/^[-+]/.test(args[0] ?? "")) state.positional = args;
      return SILENCE;
    }
    case "shift":
      state.positional = state.positional.slice(Number(args[0] ?? 1) || 1);
      return SILENCE;
    case "read": {
      const names = operandsOf(args, "-d -i -n -N -p -t -u -a");
      // One variable takes whole lines; which part of a line several take is left to a run, as other descriptors are.
      const isWhole = names.length < 2 && !hasOption(args, "u") && (hasOption(args, "r") || !input.text.includes("\\"));
      const lines = isWhole ? input.text.trim().split("\n") : [COMPUTED];
      for (const name of [...names, optionValue(args, "-a") ?? "REPLY"]) set(name, ...lines);
      return SILENCE;
    }
    case "mapfile":
    case "readarray":
    case "getopts":
      for (const name of operandsOf(args, "-d -n -O -s -u -C -c")) set(name, COMPUTED);
      return null;
    case "printf": {
      const variable = optionValue(args.slice(0, 2), "-v");
      if (variable === undefined) return null;
      set(variable, COMPUTED);
      return SILENCE;
    }
    default:
      return null;
  }

  function set(name: string, ...values: readonly string[]): void {
    if (name.includes(COMPUTED)) define(name, state);
    else assign(state, name, values);
  }
}

function sourceFile(invocation: Invocation): Stream {
  const { args, input, state } = invocation;
  const path = args.find((arg) => arg !== "--");
  if (path === undefined) return SILENCE;
  checkReadPath(path, state);
  const stream = isStandardInput(path) ? input : readingOf(path, state);
  runStream(stream, { ...invocation, program: "source" }, (text) => {
    runText(text, { ...invocation, program: "source" });
  });
  if (stream.from === "file" && !path.startsWith(PROCESS)) state.sourced = true;
  return SILENCE;
}
