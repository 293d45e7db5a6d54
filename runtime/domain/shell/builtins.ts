/** Commands of the shell itself: those that change what is known about it, and those that run text. */

import { hasOption, type Inspector, type Invocation, operandsOf, optionValue } from "./inspection.ts";
import { runText } from "./interpreters.ts";
import { absolutePath, isStandardInput, readingOf } from "./paths.ts";
import { checkReadPath } from "./reading.ts";
import { assign, valuesOf } from "./state.ts";
import { SILENCE, type Stream, textStream, textsOf } from "./streams.ts";
import { bounded, COMPUTED, HOME, PROCESS, VALUE } from "./values.ts";
import { COMMAND_IN_INDEX, define, HIDDEN_IN_INDEX, splitAssignment } from "./variables.ts";

/** Builtins that take names of variables, which may have an index, or that count. */
const COUNTING = new Set("[ declare export let local mapfile printf read readonly test typeset unset wait".split(" "));

/** What the builtin prints; null when the command is no builtin that is followed. */
export function readBuiltin(invocation: Invocation, inspector: Inspector): Stream | null {
  const { program, args, input, state } = invocation;
  if (COUNTING.has(program) && args.some((arg) => COMMAND_IN_INDEX.test(arg))) inspector.ask(HIDDEN_IN_INDEX);
  switch (program) {
    case "cd":
    case "pushd":
    case "popd": {
      const target = operandsOf(args)[0] ?? (program === "popd" ? "-" : HOME);
      const back = program === "cd" ? valuesOf(state, "OLDPWD").map((from) => from || COMPUTED) : [COMPUTED];
      const reached = state.directories.map((from) =>
        target.includes(COMPUTED) ? COMPUTED : absolutePath(target, { ...state, directories: [from] }),
      );
      const next = target === "-" ? back : reached;
      state.variables.set("OLDPWD", state.directories);
      state.directories = bounded(next);
      return SILENCE;
    }
    case "pwd":
      return textStream(...state.directories.map((directory) => `${directory}\n`));
    case "eval":
      return runText((args[0] === "--" ? args.slice(1) : args).join(" "), invocation, inspector);
    case "source":
    case ".":
      return sourceFile(invocation, inspector);
    case "trap": {
      const code = operandsOf(args)[0];
      if (code !== undefined && code !== "-") inspector.later(() => inspector.script(code, state, input));
      return SILENCE;
    }
    case "alias":
    case "hash":
    case "shopt":
      if (args.some((arg) => /=|^(-p|expand_aliases|lastpipe)$/.test(arg)))
        inspector.ask(`${program} gives a word another meaning`);
      return SILENCE;
    case "export":
    case "declare":
    case "typeset":
    case "local":
    case "readonly":
      if (hasOption(args, "n")) inspector.ask("a reference is another name of a variable");
      for (const definition of operandsOf(args)) {
        const [name] = splitAssignment(definition);
        if (/^(local|declare|typeset)$/.test(program) && !hasOption(args, "g") && state.locals?.has(name) === false)
          state.locals.set(name, state.variables.get(name));
        define(definition, state, inspector);
        // Other letters, keys or numbers than those that are written.
        if (hasOption(args, "aAilu") && state.variables.has(name))
          setComputed(name, [hasOption(args, "i") ? VALUE : COMPUTED]);
      }
      return SILENCE;
    case "unset":
      for (const name of operandsOf(args)) {
        state.shadowed.add(name);
        state.variables.delete(name);
      }
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
      const isWhole =
        names.length < 2 && !hasOption(args, "u") && (hasOption(args, "r") || !textsOf(input).join("").includes("\\"));
      const lines = isWhole ? textsOf(input).flatMap((text) => text.trim().split("\n")) : [COMPUTED];
      for (const name of [...names, optionValue(args, "-a") ?? "REPLY"]) setComputed(name, bounded(lines));
      return SILENCE;
    }
    case "mapfile":
    case "readarray":
    case "getopts":
      for (const name of operandsOf(args, "-d -n -O -s -u -C -c")) setComputed(name, [COMPUTED]);
      return null;
    case "printf": {
      const variable = optionValue(args.slice(0, 2), "-v");
      if (variable === undefined) return null;
      setComputed(variable, [COMPUTED]);
      return SILENCE;
    }
    default:
      return null;
  }

  function setComputed(name: string, values: readonly string[]): void {
    if (name.includes(COMPUTED)) define(name, state, inspector);
    else assign(state, name, values);
  }
}

function sourceFile(invocation: Invocation, inspector: Inspector): Stream {
  const { args, input, state } = invocation;
  const path = args.find((arg) => arg !== "--");
  if (path === undefined) return SILENCE;
  checkReadPath(path, state, inspector);
  const stream = isStandardInput(path) ? input : readingOf(path, state);
  if (stream.kind === "program")
    inspector.refuse(`it runs what ${stream.program} prints without anyone having looked at it`);
  if (stream.kind === "text")
    for (const text of stream.texts) runText(text, { ...invocation, program: "source" }, inspector);
  if (stream.kind === "file" && !path.startsWith(PROCESS)) state.sourced = true;
  return SILENCE;
}
