/** Commands of the shell itself: those that change its directory or its variables, and those that run text. */

import { hasOption, type Invocation, operandsOf, optionValue } from "./inspection.ts";
import { runStream, runText } from "./interpreters.ts";
import { absolutePath, isStandardInput, readingOf } from "./paths.ts";
import { checkReadPath } from "./reading.ts";
import { SILENCE, type Stream } from "./streams.ts";
import { COMPUTED, HOME } from "./values.ts";
import { COMMAND_IN_INDEX, define, HIDDEN_IN_INDEX } from "./variables.ts";

/** Builtins that take names of variables, which may have an index, or that count. */
const COUNTING = new Set("[ declare export let local mapfile printf read readonly test typeset unset wait".split(" "));

/** What the builtin prints; null when the command is none of these. */
export function readBuiltin(invocation: Invocation): Stream | null {
  const { program, args, input, state } = invocation;
  if (COUNTING.has(program) && args.some((arg) => COMMAND_IN_INDEX.test(arg))) state.inspector.ask(HIDDEN_IN_INDEX);
  switch (program) {
    case "cd":
    case "pushd":
    case "popd": {
      const target = operandsOf(args)[0] ?? (program === "popd" ? "-" : HOME);
      const back = program === "cd" ? state.previous : COMPUTED;
      const reached = target === "-" ? back : target.includes(COMPUTED) ? COMPUTED : absolutePath(target, state);
      state.previous = state.directory;
      state.directory = reached;
      return SILENCE;
    }
    case "pwd":
      return { text: state.directory, from: "program" };
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
        define(definition, state);
        // Other letters or keys than those that are written; `local x` hides what `x` was.
        if (hasOption(args, "aAlu") || (program === "local" && !definition.includes("=")))
          compute(definition.replace(/\+?=.*/s, ""));
      }
      return SILENCE;
    case "set":
      if (args.includes("--") || (args.length > 0 && !/^[-+]/.test(args[0] ?? ""))) compute("@");
      return SILENCE;
    case "shift":
      compute("@");
      return SILENCE;
    case "read": {
      const [name = "REPLY", ...others] = operandsOf(args, "-d -i -n -N -p -t -u -a");
      // The names of a listing, one after another; what is read of anything else is computed.
      const isListing =
        input.from === "program" && others.length === 0 && !hasOption(args, "ua") && !/\s/.test(input.text);
      state.variables.set(name, isListing ? input.text : COMPUTED, [program, ...args, input.text].join(" "));
      for (const other of [...others, optionValue(args, "-a")]) if (other !== undefined) compute(other);
      return SILENCE;
    }
    case "unset":
    case "mapfile":
    case "readarray":
    case "getopts":
      for (const name of operandsOf(args, "-d -n -O -s -u -C -c")) compute(name);
      return null;
    case "printf": {
      const variable = optionValue(args.slice(0, 2), "-v");
      if (variable !== undefined) compute(variable);
      return null;
    }
    default:
      return null;
  }

  function compute(name: string): void {
    const isComputed = name.includes(COMPUTED);
    if (isComputed) state.inspector.ask("which variable it sets is computed while it runs");
    state.variables.set(isComputed ? "*" : name, COMPUTED, [program, ...args].join(" "));
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
  // It may set any variable.
  state.variables.set("*", COMPUTED, path);
  return SILENCE;
}
