/** Programs that run text: from an argument, from a file, or from what is piped into them. */

import { inspectCode } from "./code.ts";
import { byProgram, type Invocation, operandsFrom, optionValue } from "./inspection.ts";
import { isStandardInput, readingOf } from "./paths.ts";
import { PRINTED, type Stream } from "./streams.ts";
import { COMPUTED, isMarked } from "./values.ts";

const SHELL = /^(a|ba|c|da|fi|k|mk|rba|tc|z|pw)?sh$/;
/** Interpreters, with the options that take the next word with them. */
const INTERPRETERS = byProgram({
  "sh ash bash csh dash fish ksh mksh rbash tcsh zsh pwsh": "-o +o -O +O --rcfile --init-file",
  "python ipython pypy": "-W -X",
  "node nodejs bun tsx deno": "-r --require --import -C --loader",
  "perl ruby": "-I -M",
  php: "-d",
  "lua luajit rscript osascript": "-l",
  "tclsh expect": "",
  "awk gawk mawk nawk": "-v -F -f --assign --field-separator --file",
});
/** What no name of a file looks like. */
const CODE = /[\s(){}'"`;$]/;
/** An option that takes code, alone or behind others (`-pe`). */
const CODE_OPTION = /^(-\w*[ceEprB]|--(eval|print|source)|-eval)$/;

/** Code that is computed, in the word of its option. */
const INLINE_MARK = /^(-\w*[ceEprB]|--(eval|print|source)=)[\ue000\ue003]/;

/** The interpreter's output, or null when the program is none. */
export function checkInterpreter(invocation: Invocation): Stream | null {
  const { program, args, input, state } = invocation;
  const name = program.replace(/[\d.]+$/, "");
  const valued = INTERPRETERS.get(name);
  if (valued === undefined) return null;
  const isShell = SHELL.test(name);
  // `bash -euo pipefail`: the last letter takes the next word. `deno run` is `deno`.
  const words = args.flatMap((arg, at) => {
    if (isShell && /^[-+]\w+[oO]$/.test(arg)) return [arg.slice(0, -1).replace("+", "-"), "-o"];
    if (isShell && /^\+\w/.test(arg)) return [`-${arg.slice(1)}`];
    return at === 0 && /^(run|eval)$/.test(arg) && !isShell ? [`-${arg}`] : [arg];
  });
  const operands = operandsFrom(words, valued);
  const options = words.slice(0, words.length - operands.length);
  // `fish --command=text`
  const inline = isShell ? options.flatMap((option) => /^--command=(.*)$/s.exec(option)?.[1] ?? []) : [];
  const [first] = [...inline, ...operands];
  if (isShell && first !== undefined && options.some((option) => /^-[^-]*c|^--command/.test(option)))
    return runCode(first, operands.slice(1), invocation, isShell);
  const given = optionValue(options, ...(isShell ? ["--rcfile", "--init-file"] : ["-f", "--file"]));
  const isProgram = /awk$/.test(name) && given === undefined;
  // `-e'code'`, `--eval=code`, and what follows such an option: `perl -e one -e two`.
  const isCode = (word: string, at: number) => {
    if (isShell) return false;
    if (at < options.length && word.startsWith("-")) return CODE.test(word) || INLINE_MARK.test(word);
    return (isProgram && at === options.length) || (at > 0 && CODE_OPTION.test(words[at - 1] ?? ""));
  };
  const codes = words.filter(isCode);
  // Which of the letters of `-ne'code'` are options depends on the language.
  for (const code of codes)
    for (const start of code.startsWith("--") ? [code.indexOf("=") + 1] : code.startsWith("-") ? [2, 3, 4, 5] : [0])
      runCode(code.slice(start), operands, invocation, isShell);
  // What is written like a file is taken for one, too: `python3 -B x.py`.
  const isFile = first !== undefined && !(isCode(first, options.length) && (CODE.test(first) || isMarked(first)));
  const file = given ?? (isFile ? first : undefined);
  if (isProgram || (codes.length > 0 && file === undefined)) return PRINTED;
  const fromInput = isShell && options.some((option) => /^-[a-zA-Z]*s/.test(option));
  const stream = fromInput || file === undefined || isStandardInput(file) ? input : readingOf(file, state);
  runStream(stream, invocation, (text) => runCode(text, fromInput ? operands : operands.slice(1), invocation, isShell));
  return PRINTED;
}

/** What is run out of a file or a pipe: text of the command is judged, a file that was there is run as it is. */
export function runStream(
  { text, from }: Stream,
  { program, state }: Pick<Invocation, "program" | "state">,
  run: (text: string) => void,
): void {
  if (from === "command") run(text);
  else if (from === "program")
    state.inspector.refuse(`${program} runs what another program prints without anyone having looked at it`);
  else if (from === "unknown") state.inspector.ask(`what ${program} runs is not there before the command runs`);
}

/** Text that becomes a command of this very shell. */
export function runText(text: string, { state, input }: Invocation): Stream {
  return state.inspector.evaluate(text, state, input);
}

function runCode(text: string, operands: readonly string[], invocation: Invocation, isShell: boolean): Stream {
  const { state, input } = invocation;
  if (!isShell) {
    inspectCode(text, state);
    return PRINTED;
  }
  // `sh -c text name first second`
  if (operands.length > 0) state.variables.set("@", COMPUTED, text);
  return state.inspector.script(text, state, input);
}
