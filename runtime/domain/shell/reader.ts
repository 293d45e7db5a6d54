/**
 * Reads a script as the shell would run it, without running it: statement by statement, with constant variables,
 * directories and functions followed, and every command shown to the rules. What a run would compute is a mark.
 */

import {
  type AndOr,
  type Assignment,
  type Command,
  forEachChild,
  type ParsedScript,
  parse,
  type SyntaxNode,
  type Word,
} from "unbash";
import { readBuiltin } from "./builtins.ts";
import { createExpander, type Fields } from "./expand.ts";
import type { Finding, Inspector } from "./inspection.ts";
import { outputOf } from "./outputs.ts";
import { checkInvocation } from "./programs.ts";
import { createRedirections } from "./redirections.ts";
import { callsItself, spawnsItself } from "./self-starting.ts";
import { assign, fork, mergeInto, type ShellState, valuesOf } from "./state.ts";
import { concatenate, either, SILENCE, type Stream, textsOf } from "./streams.ts";
import { bounded, COMPUTED, choicesOf, isMarked } from "./values.ts";
import { checkVariable } from "./variables.ts";
import { calledProgram } from "./words.ts";

/** A script that needs more steps than this is left to a person's decision. */
const MAX_COMMANDS = 3_000;
const MAX_STEPS = 30_000;
/** The words of all commands together: one variable may hold thousands of them. */
const MAX_WORDS = 50_000;
const MAX_DEPTH = 40;

/** All findings, the first of each reason only. */
export function readScript(text: string, start: ShellState, workspace: string): readonly Finding[] {
  const findings = new Map<string, Finding>();
  const calls: string[] = [];
  const postponed: (() => void)[] = [];
  let certainOnly = 0;
  let doubtful = 0;
  let commands = 0;
  let wordsRead = 0;
  let steps = 0;
  let depth = 0;
  const note = (action: Finding["action"], reason: string) => {
    if (action === "refuse" || !findings.has(reason)) findings.set(reason, { action, reason });
  };
  const inspector: Inspector = {
    workspace,
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
    (substituted, state, input = SILENCE) => textsOf(script(substituted, copyOf(state), input)),
    (reason) => inspector.ask(reason),
  );
  const redirections = createRedirections(expander, inspector);

  function script(parsed: ParsedScript, state: ShellState, input: Stream): Stream {
    if (parsed.errors?.length) inspector.ask("the shell syntax could not be understood");
    return inOrder(parsed.commands, (node) => visit(node, state, input));
  }

  /** A shell of its own; of many variables each copy takes its time. */
  function copyOf(state: ShellState): ShellState {
    steps += (state.variables.size + state.functions.size) >> 4;
    return fork(state);
  }

  function tooLong(): Stream {
    note("ask", "the command is too long or too intricate to be judged");
    return SILENCE;
  }

  function visit(node: SyntaxNode, state: ShellState, input: Stream): Stream {
    steps += 1;
    if (depth >= MAX_DEPTH || steps > MAX_STEPS || wordsRead > MAX_WORDS) return tooLong();
    depth += 1;
    try {
      return visitNode(node, state, input);
    } finally {
      depth -= 1;
    }
  }

  function visitNode(node: SyntaxNode, state: ShellState, input: Stream): Stream {
    switch (node.type) {
      case "Statement":
        if (node.background && callsItself(node, "$0")) inspector.refuse("it starts itself over and over (fork bomb)");
        return visit(node.command, node.background ? copyOf(state) : state, input);
      case "CompoundList":
        return inOrder(node.commands, (command) => visit(command, state, input));
      case "AndOr":
        return andOr(node, state, input);
      case "Pipeline":
        if (node.commands.length === 1 && node.commands[0]) return visit(node.commands[0], state, input);
        if (callsItself(node, "$0")) inspector.refuse("it starts itself over and over (fork bomb)");
        return node.commands.reduce<Stream>((stream, command) => visit(command, copyOf(state), stream), input);
      case "Command":
        return simpleCommand(node, state, input);
      case "Redirected": {
        const output = visit(node.command, state, redirections.apply(node.redirects, state, input));
        redirections.record(node.redirects, state, output);
        return output;
      }
      case "For":
      case "Select": {
        const values = node.wordlist?.flatMap((word) => expander.fields(word, state).flat()) ?? state.positional;
        if (values.length > 0) state.variables.set(node.name.value, bounded(values));
        return perhaps(state, () => visit(node.body, state, input));
      }
      case "Subshell":
      case "Coproc":
        return visit(node.body, copyOf(state), input);
      case "Function":
        if ((state.functions.get(node.name.value) ?? node.body) !== node.body)
          inspector.ask("it defines a function twice, and which of the two runs is not known");
        state.functions.set(node.name.value, node.body);
        if (spawnsItself(node.body, node.name.value))
          inspector.refuse("the function starts itself over and over (fork bomb)");
        return SILENCE;
      case "BraceGroup":
        return visit(node.body, state, input);
      default:
        // Branches and loops: a condition that runs, and bodies that may; words, tests and arithmetic with the scripts in them.
        return inOrder(childrenOf(node), (child, index) => {
          const run = () => visitPart(child, state, input);
          return index === 0 ? run() : perhaps(state, run);
        });
    }
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

  function visitPart(node: SyntaxNode, state: ShellState, input: Stream): Stream {
    if (/^(CompoundList|Elif|CaseItem)$/.test(node.type)) return visit(node, state, input);
    expander.nestedScripts(node, state);
    return SILENCE;
  }

  function simpleCommand(node: Command, state: ShellState, input: Stream): Stream {
    const from = redirections.apply(node.redirects, state, input);
    for (const entry of node.prefix) if (entry.type === "Assignment") assignment(entry, state, node.name === undefined);
    if (!node.name) return node.redirects.some(({ operator }) => operator === "<") ? from : SILENCE;
    if (node.name.value === "exec" && node.args.length === 0 && from !== input && from.kind !== "file")
      inspector.ask("what the shell reads from then on is given by the command");
    const forms = wordForms([node.name, ...node.args], state);
    const start = forms.length > 1 ? copyOf(state) : state;
    const outputs = forms.map((words, index) => {
      if (index === 0) return run(words, state, from);
      const other = copyOf(start);
      const output = run(words, other, from);
      mergeInto(state, other);
      return output;
    });
    const output = outputs.reduce(either, outputs[0] ?? SILENCE);
    redirections.record(node.redirects, state, output);
    return output;
  }

  function assignment(node: Assignment, state: ShellState, lasting: boolean): void {
    const before = node.append ? (state.variables.get(node.name) ?? [""]) : [""];
    if (node.value.type === "ArrayValue") {
      const elements = node.value.elements.flatMap((word) => expander.fields(word, state)[0] ?? []);
      // Elements with keys of their own are not followed.
      const keyed = elements.some((element) => element.startsWith("["));
      assign(state, node.name, keyed ? [COMPUTED] : before.map((old) => [old, ...elements].join(" ").trim()));
      return;
    }
    const values = expander.texts(node.value, state);
    for (const value of values) checkVariable(node.name, value, state, inspector);
    if (node.index) expander.nestedScripts(node.index, state);
    const all = node.index ? [COMPUTED] : before.flatMap((old) => values.map((value) => old + value));
    // For one command alone: it may read the variable, and what comes after finds the value from before.
    assign(state, node.name, lasting ? all : [...(state.variables.get(node.name) ?? [""]), ...all]);
  }

  /** The possible forms of a command's words. Too many forms become one that holds every possible word. */
  function wordForms([name, ...rest]: readonly [Word, ...(Word | Assignment)[]], state: ShellState): readonly Fields[] {
    const fields = expander.fields(name, state);
    // A variable that nothing sets is empty, and a command's name then the next word.
    const names = isNeverSet(name, state) ? fields.filter(([first = ""]) => !isMarked(first)) : fields;
    const args = rest.map((word) =>
      word.type === "Word" ? expander.fields(word, state) : assignmentFields(word, state),
    );
    const forms = choicesOf([names, ...args]);
    if (forms) return forms.map((words) => words.flat());
    return names.map((fields) => [...fields, ...args.flatMap((alternatives) => [...new Set(alternatives.flat())])]);
  }

  function isNeverSet(word: Word, state: ShellState): boolean {
    if (!word.parts) return false;
    const variable = /^"?\$\{?([A-Za-z_]\w*)\}?"?$/.exec(word.text)?.[1];
    return variable !== undefined && !state.variables.has(variable) && !valuesOf(state, variable).includes(COMPUTED);
  }

  function assignmentFields(node: Assignment, state: ShellState): readonly Fields[] {
    if (node.value.type === "Word") return expander.texts(node.value, state).map((value) => [`${node.name}=${value}`]);
    assignment(node, state, true);
    return [[node.name]];
  }

  function run(words: readonly string[], state: ShellState, input: Stream): Stream {
    const [name = "", ...args] = words;
    const body = state.functions.get(name);
    if (!body) return program(words, state, input);
    const output = call(name, body, args, state, input);
    return state.shadowed.has(name) ? either(output, program(words, state, input)) : output;
  }

  /** A builtin or a program: no function of that name. */
  function program(words: readonly string[], state: ShellState, input: Stream): Stream {
    commands += 1;
    wordsRead += words.length;
    if (commands > MAX_COMMANDS || wordsRead > MAX_WORDS || depth >= MAX_DEPTH) return tooLong();
    const [name = "", ...args] = words;
    if (name === "") return SILENCE;
    const builtin = readBuiltin({ program: name, args, input, state }, inspector);
    if (builtin) return builtin;
    // `watch 'rm -rf /'`: no program has such a name, and who gives it to another has it split.
    if (/\s/.test(name) && !name.includes(COMPUTED)) return inspector.script(words.join(" "), state, input);
    const called = calledProgram(name, state, workspace);
    if (called.kind === "unknown") return unknownProgram(args, state);
    if (called.kind === "own") return ownProgram(called.path, state);
    depth += 1;
    try {
      const invocation = { program: called.name, args, input, state };
      return checkInvocation(invocation, inspector) ?? outputOf(invocation, workspace);
    } finally {
      depth -= 1;
    }
  }

  function call(name: string, body: SyntaxNode, args: readonly string[], state: ShellState, input: Stream): Stream {
    const words = [name, ...args].join(" ");
    if (calls.includes(words)) return SILENCE;
    calls.push(words);
    const inner: ShellState = { ...state, positional: args, locals: new Map() };
    const output = visit(body, inner, input);
    state.directories = inner.directories;
    state.sourced = inner.sourced;
    for (const [local, values] of inner.locals ?? []) {
      if (values) state.variables.set(local, values);
      else state.variables.delete(local);
    }
    calls.pop();
    return output;
  }

  function unknownProgram(args: readonly string[], state: ShellState): Stream {
    // Whatever it is called: with such arguments it deletes.
    if (args.some((arg) => /^-[a-zA-Z]*[rRf]|^--(recursive|force|no-preserve-root)/.test(arg)))
      inspector.command(["rm", ...args], state);
    inspector.ask("the name of a command is computed while it runs");
    return { kind: "program", program: "an unknown command" };
  }

  /** A program of the workspace; when the script wrote it itself, its text is known. */
  function ownProgram(path: string, state: ShellState): Stream {
    const written = state.files.get(path);
    if (written?.kind === "text") for (const text of written.texts) inspector.script(text, state);
    if (written?.kind === "program")
      inspector.refuse(`it runs what ${written.program} printed without anyone having looked at it`);
    return { kind: "program", program: path };
  }

  script(parse(text), start, SILENCE);
  for (let work = postponed.shift(); work; work = postponed.shift()) work();
  return [...findings.values()];
}

function inOrder<Node>(nodes: readonly Node[], read: (node: Node, index: number) => Stream): Stream {
  return nodes.map(read).reduce(concatenate, SILENCE);
}

function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  const children: SyntaxNode[] = [];
  forEachChild(node, (child) => {
    children.push(child);
  });
  return children;
}
