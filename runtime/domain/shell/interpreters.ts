/** Programs that run text: from an argument, from a file, or from what is piped into them. */

import { inspectCode } from "./code.ts";
import { type Inspector, type Invocation, operandsFrom, optionValue } from "./inspection.ts";
import { isStandardInput, readingOf } from "./paths.ts";
import { fork } from "./state.ts";
import type { Stream } from "./streams.ts";
import { COMPUTED, VALUE } from "./values.ts";

interface Interpreter {
  readonly language: "shell" | "code";
  /** Letters of the short option whose value is a program; it may be among others (`-lc`). */
  readonly code: string;
  readonly longCode?: RegExp;
  /** Options that take the next word with them. */
  readonly valued?: string;
  /** Options whose value is a file with a program. */
  readonly files?: string;
  /** The first operand is a program, not a file. */
  readonly programFirst?: boolean;
}

const SHELL: Interpreter = {
  language: "shell",
  code: "c",
  longCode: /^--command(?:=(.*))?$/s,
  valued: "-o +o -O +O --rcfile --init-file",
  files: "--rcfile --init-file",
};
const PYTHON: Interpreter = { language: "code", code: "c", valued: "-W -X" };
const NODE: Interpreter = {
  language: "code",
  code: "ep",
  longCode: /^(?:eval$|--(?:eval|print)(?:=(.*))?$)/s,
  valued: "-r --require --import -C --loader",
};
const AWK: Interpreter = {
  language: "code",
  code: "",
  longCode: /^--source(?:=(.*))?$/s,
  valued: "-v -F -f --assign --field-separator --file",
  files: "-f --file",
  programFirst: true,
};
const INTERPRETERS: readonly [names: string, interpreter: Interpreter][] = [
  ["sh ash bash csh dash fish ksh mksh rbash tcsh zsh pwsh", SHELL],
  ["python pypy", PYTHON],
  ["node nodejs bun tsx deno", NODE],
  ["perl", { language: "code", code: "eE", valued: "-I -M" }],
  ["ruby", { language: "code", code: "e", valued: "-I -M" }],
  ["php", { language: "code", code: "rB", valued: "-d" }],
  ["lua luajit rscript osascript", { language: "code", code: "e", valued: "-l" }],
  ["tclsh", { language: "code", code: "" }],
  ["expect", { language: "code", code: "c" }],
  ["awk gawk mawk nawk", AWK],
];
const BY_NAME = new Map(INTERPRETERS.flatMap(([names, entry]) => names.split(" ").map((name) => [name, entry])));

/** The interpreter's output, or null when the program is none. */
export function checkInterpreter(invocation: Invocation, inspector: Inspector): Stream | null {
  const { program, args, input, state } = invocation;
  const interpreter = BY_NAME.get(program.replace(/[\d.]+$/, ""));
  if (!interpreter) return null;
  const printed: Stream = { kind: "program", program };
  const { codes, operands, fromInput } = parseArguments(interpreter, args);
  if (codes.length > 0) {
    const outputs = codes.map((code) => runCode(interpreter, code, operands, invocation, inspector));
    return interpreter.language === "shell" ? (outputs.at(-1) ?? printed) : printed;
  }
  const given = interpreter.files && optionValue(args, ...interpreter.files.split(" "));
  if (interpreter.programFirst && given === undefined) return printed;
  const file = given ?? operands[0];
  const stream = fromInput || file === undefined || isStandardInput(file) ? input : readingOf(file, state);
  if (stream.kind === "program")
    inspector.refuse(`${program} runs what ${stream.program} prints without anyone having looked at it`);
  if (stream.kind === "text") {
    const positional = fromInput ? operands : operands.slice(1);
    for (const text of stream.texts) runCode(interpreter, text, ["", ...positional], invocation, inspector);
  }
  return printed;
}

/** Text that becomes a command: inspected where it is constant, refused where nobody could have seen its beginning. */
export function runText(text: string, invocation: Invocation, inspector: Inspector): Stream {
  const { program, state, input } = invocation;
  if (text.trim().startsWith(COMPUTED) || text.trim().startsWith(VALUE)) {
    inspector.refuse(`${program} runs text that is computed while the command runs`);
    return { kind: "program", program };
  }
  return inspector.evaluate(text, state, input);
}

function runCode(
  interpreter: Interpreter,
  text: string,
  operands: readonly string[],
  invocation: Invocation,
  inspector: Inspector,
): Stream {
  // Whether it has the functions of the shell is not known.
  const state = { ...fork(invocation.state), shadowed: new Set(invocation.state.functions.keys()) };
  // `sh -c text name first second`: the first operand is $0.
  state.positional = operands.slice(1);
  if (operands[0] !== undefined) state.variables.set("0", [operands[0]]);
  if (interpreter.language === "shell") return runText(text, { ...invocation, state }, inspector);
  if (text.trim() === COMPUTED || text.trim() === VALUE)
    inspector.refuse(`${invocation.program} runs text that is computed while the command runs`);
  else inspectCode(text, state, inspector);
  return { kind: "program", program: invocation.program };
}

interface ParsedArguments {
  readonly codes: readonly string[];
  readonly operands: readonly string[];
  /** `-s`: the operands are for a program that is read from the standard input. */
  readonly fromInput: boolean;
}

function parseArguments(
  { language, code, longCode, valued, programFirst }: Interpreter,
  given: readonly string[],
): ParsedArguments {
  // `bash -euo pipefail`: the last letter takes the next word.
  const args =
    language === "code"
      ? given
      : given.flatMap((arg) => (/^[-+]\w+[oO]$/.test(arg) ? [arg.slice(0, -1), "-o"] : [arg]));
  const operands = operandsFrom(args, valued);
  const options = args.slice(0, args.length - operands.length);
  // In the word of an option the program may follow, unless that is one more option.
  const withCode = new RegExp(`^[-+][^-]*?[${code}](..+|\\W)?`, "s");
  const inline = options.flatMap((option) => {
    const text =
      longCode?.exec(option)?.[1] ?? (language === "code" && code !== "" ? withCode.exec(option)?.[1] : undefined);
    return text === undefined ? [] : [text];
  });
  const asks = (option: string) => (code !== "" && withCode.test(option)) || longCode?.test(option);
  const first = operands[0] === "eval" && longCode?.test("eval") ? operands.slice(1) : operands;
  const codeFirst = first !== operands || (programFirst ? !args.includes("-f") : options.some(asks));
  if (inline.length > 0 || !codeFirst || first[0] === undefined)
    return {
      codes: inline,
      operands,
      fromInput: language === "shell" && options.some((option) => /^-[a-zA-Z]*s/.test(option)),
    };
  // `perl -e one -e two`: each program after the first one is an operand behind an option, too.
  const more = language === "code" ? first.filter((_, at) => at > 1 && asks(first[at - 1] ?? "")) : [];
  return { codes: [first[0], ...more], operands: first.slice(1), fromInput: false };
}
