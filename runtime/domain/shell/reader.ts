/**
 * Reads a script as the shell would run it, without running it: statement by statement, with variables that are set to
 * text, directories and functions followed, and every command shown to the rules. What a run would compute is a mark.
 */

import { posix } from "node:path";
import {
  type AndOr,
  type Assignment,
  type Command,
  forEachChild,
  type ParsedScript,
  parse,
  type SyntaxNode,
} from "unbash";
import { isWithin } from "../workspace-path.ts";
import { readBuiltin } from "./builtins.ts";
import { createExpander } from "./expand.ts";
import { isGlob } from "./glob.ts";
import type { Finding, Inspector, ShellState } from "./inspection.ts";
import { runStream } from "./interpreters.ts";
import { outputOf } from "./outputs.ts";
import { absolutePath } from "./paths.ts";
import { checkInvocation } from "./programs.ts";
import { redirect } from "./redirections.ts";
import { assign, initialState, isUnset, mergeInto, PATH, variableOf } from "./state.ts";
import { concatenate, either, FILE, printedBy, SILENCE, type Stream } from "./streams.ts";
import { COMPUTED, DIRECTORY, HOME, isMarked, MAX_PATH_CHARS, PROCESS, VALUE } from "./values.ts";
import { checkVariable } from "./variables.ts";

/** A script that takes more steps than this is left to a person's decision: nodes, words and copies of variables. */
const MAX_STEPS = 60_000;
const STEPS_OF_COMMAND = 10;
const MAX_DEPTH = 40;
const STARTS_ITSELF = "it starts itself over and over (fork bomb)";
/** A command is read so often at most, with other values of its variables each time. */
const MAX_READINGS = 16;
const MAX_ROUNDS = 3;

/** All findings, the first of each reason only. */
export function readScript(text: string, directory: string, workspace: string): readonly Finding[] {
  const findings = new Map<string, Finding>();
  const functions = new Map<string, SyntaxNode>();
  const calls: { readonly body: SyntaxNode; readonly words: string; readonly spawned: number }[] = [];
  const postponed: (() => void)[] = [];
  let certainOnly = 0;
  let doubtful = 0;
  /** Pipelines and background jobs around what is read. */
  let spawned = 0;
  let steps = 0;
  let depth = 0;
  const note = (action: Finding["action"], reason: string) => {
    if (action === "refuse" || !findings.has(reason)) findings.set(reason, { action, reason });
  };
  const inspector: Inspector = {
    workspace,
    files: new Map(),
    refuse: (reason) => note(doubtful === 0 ? "refuse" : "ask", reason),
    ask: (reason) => {
      if (certainOnly === 0) note("ask", reason);
    },
    certain(work) {
      certainOnly += 1;
      work();
      certainOnly -= 1;
    },
    doubtful(work) {
      doubtful += 1;
      work();
      doubtful -= 1;
    },
    later: (work) => postponed.push(work),
    script: (source, state, input) => inspector.evaluate(source, copyOf(state), input),
    evaluate(source, state, input = SILENCE) {
      if (source.includes(COMPUTED)) inspector.ask("a part of the text that it runs is computed while it runs");
      return script(parse(source), state, input);
    },
    command: (words, state, input = SILENCE) => program(words, state, input),
  };
  const expander = createExpander(
    (substituted, state, input = SILENCE) => script(substituted, copyOf(state), input).text,
    (reason) => inspector.ask(reason),
  );

  function script(parsed: ParsedScript, state: ShellState, input: Stream): Stream {
    if (parsed.errors?.length) inspector.ask("the shell syntax could not be understood");
    return inOrder(parsed.commands, (node) => visit(node, state, input));
  }

  /** A shell of its own that starts as a copy; of many variables each copy takes its time. */
  function copyOf(state: ShellState): ShellState {
    steps += state.variables.size >> 4;
    return { ...state, variables: new Map(state.variables) };
  }

  /** Does what takes so many steps, unless it is too much. */
  function within(cost: number, work: () => Stream): Stream {
    steps += cost;
    if (depth >= MAX_DEPTH || steps > MAX_STEPS) {
      note("ask", "the command is too long or too intricate to be judged");
      return SILENCE;
    }
    depth += 1;
    try {
      return work();
    } finally {
      depth -= 1;
    }
  }

  const visit = (node: SyntaxNode, state: ShellState, input: Stream): Stream =>
    within(1, () => visitNode(node, state, input));

  function visitNode(node: SyntaxNode, state: ShellState, input: Stream): Stream {
    switch (node.type) {
      case "Statement":
        if (!node.background) return visit(node.command, state, input);
        return inParallel(() => visit(node.command, copyOf(state), input));
      case "CompoundList":
        return inOrder(node.commands, (command) => visit(command, state, input));
      case "AndOr":
        return andOr(node, state, input);
      case "Pipeline": {
        const [only, ...others] = node.commands;
        if (only && others.length === 0) return visit(only, state, input);
        const text = node.commands.map((command) => (command.type === "Command" ? textOf(command) : "")).join(" ");
        const stages = (one: ShellState) =>
          node.commands.reduce<Stream>((stream, command) => visit(command, copyOf(one), stream), input);
        return inParallel(() => forEachValue(text, state, stages));
      }
      case "Command":
        // What a trap runs, it runs with the values of the end.
        if (node.name?.value === "trap") return simpleCommand(node, state, input);
        return forEachValue(textOf(node), state, (one) => simpleCommand(node, one, input));
      case "Redirected": {
        const { from, record } = redirect(node.redirects, state, input, expander);
        const output = visit(node.command, state, from);
        record(output);
        return output;
      }
      case "For":
      case "Select": {
        const values: string[] = node.wordlist ? [] : [...state.positional];
        forEachValue(node.wordlist?.map(({ text }) => text).join(" ") ?? "", copyOf(state), (one) => {
          values.push(...(node.wordlist ?? []).flatMap((word) => expander.fields(word, one)));
          return SILENCE;
        });
        const round = (value: string) => {
          state.variables.set(node.name.value, [value]);
          return visit(node.body, state, input);
        };
        const rounds = () =>
          inOrder(values, (value) =>
            isMarked(value) || isGlob(value) ? loop(state, () => round(value)) : round(value),
          );
        return perhaps(state, rounds);
      }
      case "While":
      case "ArithmeticFor":
        return loop(state, () => inOrder(childrenOf(node), (child) => visitPart(child, state, input)));
      case "Subshell":
      case "Coproc":
        return visit(node.body, copyOf(state), input);
      case "Function":
        if ((functions.get(node.name.value) ?? node.body) !== node.body)
          inspector.ask("it defines a function twice, and which of the two runs is not known");
        functions.set(node.name.value, node.body);
        return SILENCE;
      case "BraceGroup":
        return visit(node.body, state, input);
      default:
        // Branches: a condition that runs, and bodies that may; words, tests and arithmetic with the scripts in them.
        return inOrder(childrenOf(node), (child, index) => {
          const run = () => visitPart(child, state, input);
          return index === 0 ? run() : perhaps(state, run);
        });
    }
  }

  function inParallel(work: () => Stream): Stream {
    spawned += 1;
    const output = work();
    spawned -= 1;
    return output;
  }

  /** What comes after `&&` runs with what came before it; after the whole, it may have run or not. */
  function andOr({ commands: [first, ...others], operators }: AndOr, state: ShellState, input: Stream): Stream {
    const output = first ? visit(first, state, input) : SILENCE;
    const follow = () =>
      inOrder(others, (command, index) => {
        const run = () => visit(command, state, input);
        return operators[index] === "||" ? perhaps(state, run) : run();
      });
    return concatenate(output, perhaps(state, follow));
  }

  /** Runs `work` as something that may not happen. */
  function perhaps(state: ShellState, work: () => Stream): Stream {
    const before = copyOf(state);
    const output = work();
    mergeInto(state, before);
    return output;
  }

  /** Reads a body again as long as its rounds find other words in variables. */
  function loop(state: ShellState, body: () => Stream): Stream {
    const wordsOf = (values: readonly string[] = [""]) => values.flatMap((value) => value.split(/\s+/));
    for (let round = 1; ; round += 1) {
      const before = copyOf(state);
      const output = perhaps(state, body);
      const isChanged = [...state.variables].some(([name, values]) => {
        const found = new Set(wordsOf(before.variables.get(name)));
        return wordsOf(values).some((word) => !found.has(word));
      });
      if (!isChanged && state.positional === before.positional) return output;
      if (round < MAX_ROUNDS) continue;
      inspector.ask("a loop in which variables change over and over");
      return output;
    }
  }

  /** Does `work` once for every choice of values that the variables in `text` and the directory may have. */
  function forEachValue(text: string, state: ShellState, work: (state: ShellState) => Stream): Stream {
    const names = [...text.matchAll(/\$\{?[!#]?([A-Za-z_]\w*)/g)].map(([, name = ""]) => name);
    let readings = [state];
    for (const name of new Set([DIRECTORY, "OLDPWD", ...names])) {
      const values = state.variables.get(name) ?? [];
      if (values.length < 2 || values.length * readings.length > MAX_READINGS) continue;
      readings = readings.flatMap((one) => values.map((value) => withValue(one, name, value)));
    }
    if (state.unset === null && names.some((name) => isUnset(state, name)))
      readings = readings.flatMap((one) => (["", VALUE] as const).map((unset) => ({ ...copyOf(one), unset })));
    const [first = state, ...others] = readings;
    if (first === state) return work(state);
    const before = new Map(inspector.files);
    const outputs = readings.map((reading) => {
      const written = new Map(inspector.files);
      const output = work(reading);
      // What a program printed into a file in one reading counts, whatever another reading writes there.
      for (const [path, content] of written)
        if (content !== before.get(path) && content.from !== "command") inspector.files.set(path, content);
      return output;
    });
    for (const other of others) mergeInto(first, other);
    Object.assign(state, { ...first, unset: state.unset });
    return outputs.reduce(either);
  }

  function withValue(state: ShellState, name: string, value: string): ShellState {
    const copy = copyOf(state);
    copy.variables.set(name, [value]);
    return copy;
  }

  function visitPart(node: SyntaxNode, state: ShellState, input: Stream): Stream {
    if (/^(CompoundList|Elif|CaseItem)$/.test(node.type)) return visit(node, state, input);
    expander.nestedScripts(node, state);
    return SILENCE;
  }

  function simpleCommand(node: Command, state: ShellState, input: Stream): Stream {
    const { from, record } = redirect(node.redirects, state, input, expander);
    const name = node.name?.value;
    const own = node.prefix.flatMap((entry) => (entry.type === "Assignment" ? [entry] : []));
    for (const entry of own) {
      // For `read` alone it is where its words end.
      if (entry.name !== "IFS" || name !== "read") assignment(entry, state, name === undefined);
    }
    if (!node.name) return node.redirects.some(({ operator }) => operator === "<") ? from : SILENCE;
    if (name === "exec" && node.args.length === 0 && from !== input && from.from !== "file")
      inspector.ask("what the shell reads from then on is given by the command");
    if (spawned > 0 && /^"?\$(0|\{0\})"?$/.test(node.name.text)) inspector.refuse(STARTS_ITSELF);
    const words = [node.name, ...node.args].flatMap((word) => {
      if (word.type === "Word") return expander.fields(word, state);
      if (word.value.type === "Word") return [`${word.name}=${expander.text(word.value, state)}`];
      assignment(word, state, true);
      return [word.name];
    });
    // A variable that nothing sets is empty, and a command's name then the next word.
    const variable = /^"?\$\{?([A-Za-z_]\w*)\}?"?$/.exec(node.name.text)?.[1];
    if (words[0] === VALUE && variable !== undefined && isUnset(state, variable)) return SILENCE;
    const output = run(words, state, from);
    record(output);
    return output;
  }

  function assignment(node: Assignment, state: ShellState, lasting: boolean): void {
    const before = node.append ? variableOf(state, node.name) : "";
    if (node.value.type === "ArrayValue") {
      const elements = node.value.elements.flatMap((word) => expander.fields(word, state));
      // Elements with keys of their own are not followed.
      const isKeyed = elements.some((element) => element.startsWith("["));
      assign(state, node.name, [isKeyed ? COMPUTED : [before, ...elements].join(" ").trim()]);
      return;
    }
    const value = expander.text(node.value, state);
    checkVariable(node.name, value, state);
    if (node.index) expander.nestedScripts(node.index, state);
    const after = node.index ? COMPUTED : before + value;
    // For one command alone: it may read the variable, and what comes after finds the value from before.
    assign(state, node.name, lasting ? [after] : [...(state.variables.get(node.name) ?? [""]), after]);
  }

  function run(words: readonly string[], state: ShellState, input: Stream): Stream {
    const [name = "", ...args] = words;
    const body = functions.get(name);
    if (!body) return program(words, state, input);
    // Where it is not defined, the program of that name runs.
    inspector.certain(() => program(words, copyOf(state), input));
    return call(body, words.join(" "), args, state, input);
  }

  function call(body: SyntaxNode, words: string, args: readonly string[], state: ShellState, input: Stream): Stream {
    // What starts itself in a pipeline or in the background becomes ever more.
    if (calls.some((outer) => outer.body === body && outer.spawned < spawned)) inspector.refuse(STARTS_ITSELF);
    // Twice: a second round may find other values.
    if (calls.filter((outer) => outer.words === words).length > 1) return SILENCE;
    calls.push({ body, words, spawned });
    const inner: ShellState = { ...state, positional: args, locals: new Map() };
    const output = visit(body, inner, input);
    Object.assign(state, { variables: inner.variables, sourced: inner.sourced });
    for (const [local, values] of inner.locals ?? []) {
      if (values) state.variables.set(local, values);
      else state.variables.delete(local);
    }
    calls.pop();
    return output;
  }

  /** A builtin or a program: no function of that name. */
  function program(words: readonly string[], state: ShellState, input: Stream): Stream {
    return within(words.length + STEPS_OF_COMMAND, () => programWithin(words, state, input));
  }

  function programWithin([word = "", ...args]: readonly string[], state: ShellState, input: Stream): Stream {
    if (word === "") return SILENCE;
    const builtin = readBuiltin({ program: word, args, input, state });
    if (builtin) return builtin;
    // `watch 'rm -rf /'`: no program has such a name, and who gives it to another has it split.
    if (/\s/.test(word) && !word.includes(COMPUTED)) return inspector.script([word, ...args].join(" "), state, input);
    const name = posix.basename(word);
    const isPlain = !word.includes(COMPUTED) && !word.startsWith(PROCESS) && !isMarked(name) && !isGlob(name);
    if (!isPlain || name === "" || name.length > MAX_PATH_CHARS) return unknownProgram(args, state);
    const path = ownProgram(word, name, state);
    if (path !== undefined) {
      const written = inspector.files.get(path) ?? FILE;
      runStream(written, { program: "the shell", state }, (text) => inspector.script(text, state));
      return printedBy(path);
    }
    const invocation = { program: name.toLowerCase(), args, input, state };
    return checkInvocation(invocation) ?? outputOf(invocation);
  }

  /** A file of the workspace, of the home directory or of the private /tmp; by its name alone where PATH may lead to it. */
  function ownProgram(word: string, name: string, state: ShellState): string | undefined {
    if (word.includes("/")) {
      const path = absolutePath(word, state);
      return [workspace, "/tmp", HOME].some((root) => isWithin(root, path)) && !isMarked(path) ? path : undefined;
    }
    const isPathChanged = variableOf(state, "PATH") !== PATH;
    return isPathChanged ? [...inspector.files.keys()].find((file) => posix.basename(file) === name) : undefined;
  }

  function unknownProgram(args: readonly string[], state: ShellState): Stream {
    // Whatever it is called: with such arguments it deletes.
    if (args.some((arg) => /^-[a-zA-Z]*[rRf]|^--(recursive|force|no-preserve-root)/.test(arg)))
      inspector.command(["rm", ...args], state);
    inspector.ask("the name of a command is computed while it runs");
    return printedBy("an unknown command");
  }

  script(parse(text), initialState(directory, inspector), SILENCE);
  for (let work = postponed.shift(); work; work = postponed.shift()) work();
  return [...findings.values()];
}

function inOrder<Item>(items: readonly Item[], read: (item: Item, index: number) => Stream): Stream {
  return items.map(read).reduce(concatenate, SILENCE);
}

/** All that is written in a command, to find its variables. */
function textOf({ name, prefix, args, redirects }: Command): string {
  const targets = redirects.map((entry) => (entry.type === "HereDoc" ? entry.body.text : entry.target?.text));
  return [name?.text, ...[...prefix, ...args].map((word) => ("text" in word ? word.text : "")), ...targets].join(" ");
}

function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  const children: SyntaxNode[] = [];
  forEachChild(node, (child) => {
    children.push(child);
  });
  return children;
}
