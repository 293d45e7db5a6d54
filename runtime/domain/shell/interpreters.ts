/** Programs that run text: from an argument, from a file, or from what is piped into them. */

import { runText } from "./builtins.ts";
import { inspectCode } from "./code.ts";
import { isStandardInput, readingOf } from "./files.ts";
import type { Inspector, Invocation } from "./inspection.ts";
import { fork, UNKNOWN } from "./state.ts";
import type { Stream } from "./stream.ts";

interface Interpreter {
  readonly language: "shell" | "code";
  /** Letters of the short option whose value is a program; it may be among others (`-lc`). */
  readonly code: string;
  readonly longCode?: readonly string[];
  /** Options that take the next word with them. */
  readonly valued?: readonly string[];
  /** The first operand is a program, not a file. */
  readonly programFirst?: boolean;
  /** A first word after which the program follows: `deno eval`. */
  readonly verb?: string;
}

const SHELL: Interpreter = {
  language: "shell",
  code: "c",
  longCode: ["--command"],
  valued: ["-o", "+o", "-O", "+O", "--rcfile", "--init-file"],
};
const PYTHON: Interpreter = { language: "code", code: "c", valued: ["-W", "-X", "-m"] };
const NODE: Interpreter = {
  language: "code",
  code: "ep",
  longCode: ["--eval", "--print"],
  valued: ["-r", "--require", "--import", "-C", "--loader"],
};
const PERL: Interpreter = { language: "code", code: "eE", valued: ["-I", "-M"] };
const AWK: Interpreter = {
  language: "code",
  code: "",
  valued: ["-v", "-F", "-f", "--assign", "--field-separator"],
  programFirst: true,
};

const INTERPRETERS: Readonly<Record<string, Interpreter>> = {
  sh: SHELL,
  ash: SHELL,
  bash: SHELL,
  dash: SHELL,
  fish: SHELL,
  ksh: SHELL,
  mksh: SHELL,
  rbash: SHELL,
  zsh: SHELL,
  pwsh: SHELL,
  python: PYTHON,
  pypy: PYTHON,
  node: NODE,
  nodejs: NODE,
  bun: NODE,
  tsx: NODE,
  deno: { ...NODE, verb: "eval" },
  perl: PERL,
  ruby: { ...PERL, code: "e" },
  php: { language: "code", code: "rB", valued: ["-d"] },
  lua: { language: "code", code: "e", valued: ["-l"] },
  luajit: { language: "code", code: "e", valued: ["-l"] },
  rscript: { language: "code", code: "e" },
  osascript: { language: "code", code: "e" },
  tclsh: { language: "code", code: "" },
  expect: { language: "code", code: "c" },
  awk: AWK,
  gawk: AWK,
  mawk: AWK,
  nawk: AWK,
};

/** The interpreter's output, or null when the program is none. */
export function checkInterpreter(invocation: Invocation, inspector: Inspector): Stream | null {
  const { program, args, input, state } = invocation;
  const interpreter = INTERPRETERS[program.replace(/[\d.]+$/, "")];
  if (!interpreter) return null;
  const printed: Stream = { kind: "program", program };
  const { codes, operands, fromInput } = parseArguments(interpreter, args);

  if (codes.length > 0) {
    const outputs = codes.map((code) => runCode(interpreter, code, operands, invocation, inspector));
    return interpreter.language === "shell" ? (outputs.at(-1) ?? printed) : printed;
  }
  const file = operands[0];
  const stream = fromInput || file === undefined || isStandardInput(file) ? input : readingOf(file, state);
  if (interpreter.programFirst) return printed;
  if (stream.kind === "program") {
    inspector.refuse(`${program} runs what ${stream.program} prints without anyone having looked at it`);
  }
  if (stream.kind === "text") {
    const positional = fromInput ? operands : operands.slice(1);
    for (const text of stream.texts) runCode(interpreter, text, ["", ...positional], invocation, inspector);
  }
  return printed;
}

function runCode(
  interpreter: Interpreter,
  text: string,
  operands: readonly string[],
  invocation: Invocation,
  inspector: Inspector,
): Stream {
  const state = fork(invocation.state);
  // `sh -c text name first second`: the first operand is $0.
  state.positional = operands.slice(1);
  if (operands[0] !== undefined) state.variables.set("0", [operands[0]]);
  if (interpreter.language === "shell") return runText(text, { ...invocation, state }, inspector);
  if (text.trim() === UNKNOWN)
    inspector.refuse(`${invocation.program} runs text that is computed while the command runs`);
  else inspectCode(text, state, inspector);
  return { kind: "program", program: invocation.program };
}

interface ParsedArguments {
  readonly codes: readonly string[];
  readonly operands: readonly string[];
  /** `-s`, or `-` in the place of a file. */
  readonly fromInput: boolean;
}

function parseArguments(interpreter: Interpreter, args: readonly string[]): ParsedArguments {
  const codes: string[] = [];
  let fromInput = false;
  let at = 0;
  if (interpreter.verb !== undefined && args[0] === interpreter.verb) {
    const code = args.slice(1).find((arg) => !arg.startsWith("-"));
    return { codes: code === undefined ? [] : [code], operands: [], fromInput: false };
  }
  for (; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    if (arg === "--") {
      at += 1;
      break;
    }
    const long = interpreter.longCode?.find((name) => arg === name || arg.startsWith(`${name}=`));
    if (long !== undefined) {
      codes.push(arg === long ? (args[at + 1] ?? "") : arg.slice(long.length + 1));
      if (arg === long) at += 1;
    } else if (interpreter.valued?.includes(arg)) {
      // A module (`python -m x`) is a program of its own: what follows are its arguments.
      if (arg === "-m") return { codes, operands: ["-m"], fromInput: false };
      at += 1;
    } else if (/^[-+][^-]/.test(arg)) {
      const letter = [...arg.slice(1)].findIndex((option) => interpreter.code.includes(option));
      if (letter === -1) {
        if (interpreter.language === "shell" && arg.includes("s")) fromInput = true;
        continue;
      }
      // For a shell the text is the next word; for the others also what follows in the same one.
      const attached = interpreter.language === "code" ? arg.slice(letter + 2) : "";
      const rest = attached !== "" && !/^[a-z]$/i.test(attached) ? attached : undefined;
      if (interpreter.language === "shell") {
        const next = args.slice(at + 1).findIndex((word) => !/^[-+][^-]/.test(word) && word !== "--");
        codes.push(args[at + 1 + next] ?? "");
        at += 1 + Math.max(0, next);
      } else {
        codes.push(rest ?? args[at + 1] ?? "");
        if (rest === undefined) at += 1;
      }
      if (interpreter.language === "shell") {
        at += 1;
        break;
      }
    } else if (!arg.startsWith("--")) break;
  }
  const operands = args.slice(at);
  if (interpreter.programFirst && codes.length === 0 && operands[0] !== undefined && !args.includes("-f")) {
    return { codes: [operands[0]], operands: operands.slice(1), fromInput: false };
  }
  return { codes, operands, fromInput };
}
