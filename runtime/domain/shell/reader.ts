/**
 * Reads a script as the shell would run it, without running it: statement by statement, with variables, directories,
 * functions and what flows through pipes followed as far as they can be, and every command shown to the rules.
 */

import {
  type Assignment,
  type Command,
  type CommandNode,
  forEachChild,
  type ParsedScript,
  parse,
  type SyntaxNode,
  type Word,
} from "unbash";
import { readBuiltin } from "./builtins.ts";
import { createExpander, type Fields } from "./expand.ts";
import { createFindings } from "./findings.ts";
import type { Finding, Inspector } from "./inspection.ts";
import { checkInvocation, outputOf } from "./programs.ts";
import { createRedirections } from "./redirections.ts";
import { callsItself, spawnsItself } from "./self-starting.ts";
import { assign, bounded, fork, MAX_ALTERNATIVES, type ShellState, UNKNOWN } from "./state.ts";
import { NOTHING, SILENCE, type Stream } from "./stream.ts";
import { concatenate, either, textsOf } from "./streams.ts";
import { checkVariable } from "./variables.ts";
import { calledProgram } from "./words.ts";

/** A script that needs more steps than this is left to a person's decision. */
const MAX_COMMANDS = 3_000;
const MAX_STEPS = 30_000;
const MAX_DEPTH = 40;

/** All findings, the first of each reason only. */
export function readScript(text: string, start: ShellState, workspace: string): readonly Finding[] {
  const findings = createFindings();
  const calls: string[] = [];
  const postponed: (() => void)[] = [];
  let commands = 0;
  let steps = 0;
  let depth = 0;
  const inspector: Inspector = {
    workspace,
    refuse: (reason) => findings.note("refuse", reason),
    ask: (reason) => findings.note("ask", reason),
    certain: findings.certain,
    later: (work) => postponed.push(work),
    script: (source, state, input) => script(parse(source), state, input),
    command: run,
  };
  const expander = createExpander(
    (substituted, state) => textsOf(script(substituted, fork(state), NOTHING)),
    () => inspector.ask("a word of the command becomes too many words"),
  );

  const redirections = createRedirections(expander, inspector);

  function script(parsed: ParsedScript, state: ShellState, input: Stream): Stream {
    if (parsed.errors?.length) inspector.ask("the shell syntax could not be understood");
    return sequence(parsed.commands, state, input);
  }

  function sequence(nodes: readonly SyntaxNode[], state: ShellState, input: Stream): Stream {
    return nodes.map((node) => visit(node, state, input)).reduce(concatenate, SILENCE);
  }

  function visit(node: SyntaxNode, state: ShellState, input: Stream): Stream {
    steps += 1;
    if (depth >= MAX_DEPTH || steps > MAX_STEPS) {
      inspector.ask("the command is too long or too intricate to be judged");
      return SILENCE;
    }
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
        return visit(node.command, state, input);
      case "CompoundList":
        return sequence(node.commands, state, input);
      case "AndOr":
        return node.commands
          .map((command, index) =>
            node.operators[index - 1] === "||"
              ? perhaps(state, () => visit(command, state, input))
              : visit(command, state, input),
          )
          .reduce(concatenate, SILENCE);
      case "Pipeline":
        if (node.commands.length === 1 && node.commands[0]) return visit(node.commands[0], state, input);
        if (callsItself(node, "$0")) inspector.refuse("it starts itself over and over (fork bomb)");
        return node.commands.reduce<Stream>(
          (stream, command: CommandNode) => visit(command, fork(state), stream),
          input,
        );
      case "Command":
        return simpleCommand(node, state, input);
      case "Redirected":
        return visit(node.command, state, redirections.apply(node.redirects, state, input));
      case "If":
        return perhaps(state, () =>
          [
            node.clause,
            node.then,
            ...node.elif.flatMap(({ clause, then }) => [clause, then]),
            ...(node.else ? [node.else] : []),
          ]
            .map((part) => visit(part, state, input))
            .reduce(concatenate, SILENCE),
        );
      case "For":
      case "Select": {
        const values = node.wordlist
          ? node.wordlist.flatMap((word) => expander.fields(word, state).flat())
          : (state.positional ?? [UNKNOWN]);
        if (values.length > 0) state.variables.set(node.name.value, bounded(values));
        return perhaps(state, () => visit(node.body, state, input));
      }
      case "While":
        return perhaps(state, () => concatenate(visit(node.clause, state, input), visit(node.body, state, input)));
      case "ArithmeticFor":
        nestedScripts(node, state);
        return perhaps(state, () => visit(node.body, state, input));
      case "Case":
        expander.texts(node.word, state);
        return perhaps(state, () =>
          node.items.map((item) => visit(item.body, state, input)).reduce(concatenate, SILENCE),
        );
      case "Subshell":
        return visit(node.body, fork(state), input);
      case "BraceGroup":
        return visit(node.body, state, input);
      case "Function":
        state.functions.set(node.name.value, node.body);
        if (spawnsItself(node.body, node.name.value))
          inspector.refuse("the function starts itself over and over (fork bomb)");
        return SILENCE;
      case "Coproc":
        return visit(node.body, fork(state), input);
      default:
        nestedScripts(node, state);
        return SILENCE;
    }
  }

  /** Scripts inside words that are not expanded here: tests, arithmetic. */
  function nestedScripts(node: SyntaxNode, state: ShellState): void {
    forEachChild(node, (child) => {
      if (child.type === "Script") script(child, fork(state), NOTHING);
      else if (child.type === "CompoundList") return;
      else nestedScripts(child, state);
    });
  }

  function simpleCommand(node: Command, state: ShellState, input: Stream): Stream {
    const from = redirections.apply(node.redirects, state, input);
    for (const entry of node.prefix) if (entry.type === "Assignment") assignment(entry, state, node.name === undefined);
    if (!node.name) return node.redirects.some(({ operator }) => operator === "<") ? from : SILENCE;
    const forms = wordForms([node.name, ...node.args], state, isNeverSet(node.name, state));
    const outputs = forms.map((words) => run(words, state, from));
    const output = outputs.reduce(either, outputs[0] ?? SILENCE);
    redirections.record(node.redirects, state, output);
    return output;
  }

  function assignment(node: Assignment, state: ShellState, lasting: boolean): void {
    if (node.value.type === "ArrayValue") {
      const elements = node.value.elements.flatMap((word) => expander.fields(word, state)[0] ?? []);
      state.arrays.set(node.name, elements);
      assign(state, node.name, [elements[0] ?? ""]);
      return;
    }
    const values = expander.texts(node.value, state);
    for (const value of values) checkVariable(node.name, value, state, inspector);
    if (!lasting) return;
    assign(
      state,
      node.name,
      node.append
        ? bounded((state.variables.get(node.name) ?? [""]).flatMap((old) => values.map((value) => old + value)))
        : values,
    );
  }

  /** The possible forms of a command's words. Too many forms become one that holds every possible word. */
  function wordForms(words: readonly (Word | Assignment)[], state: ShellState, bareName: boolean): readonly Fields[] {
    const expanded = words.map((word, index) => {
      if (word.type === "Assignment") return assignmentFields(word, state);
      const alternatives = expander.fields(word, state);
      // A variable that nothing sets is empty, and a command's name then the next word.
      return bareName && index === 0 ? alternatives.filter((fields) => !fields[0]?.includes(UNKNOWN)) : alternatives;
    });
    const count = expanded.reduce((product, alternatives) => product * alternatives.length, 1);
    if (count <= MAX_ALTERNATIVES) {
      let forms: string[][] = [[]];
      for (const alternatives of expanded) {
        const [only] = alternatives;
        if (alternatives.length === 1 && only) for (const form of forms) for (const field of only) form.push(field);
        else forms = forms.flatMap((form) => alternatives.map((fields) => [...form, ...fields]));
      }
      return forms;
    }
    const [names = [[]], ...rest] = expanded;
    const args = rest.flatMap((alternatives) => [...new Set(alternatives.flat())]);
    return names.map((name) => [...name, ...args]);
  }

  function isNeverSet(word: Word, state: ShellState): boolean {
    const variable = /^"?\$\{?([A-Za-z_]\w*)\}?"?$/.exec(word.text)?.[1];
    return variable !== undefined && !state.variables.has(variable) && !state.sourced;
  }

  function assignmentFields(node: Assignment, state: ShellState): readonly Fields[] {
    if (node.value.type === "ArrayValue") {
      assignment(node, state, true);
      return [[node.name]];
    }
    return expander.texts(node.value, state).map((value) => [`${node.name}=${value}`]);
  }

  function run(words: readonly string[], state: ShellState, input: Stream): Stream {
    commands += 1;
    if (commands > MAX_COMMANDS || depth >= MAX_DEPTH) {
      inspector.ask("the command is too long or too intricate to be judged");
      return SILENCE;
    }
    const name = words[0];
    if (name === undefined || name === "") return SILENCE;
    const body = state.functions.get(name);
    if (body && !calls.includes(name)) {
      calls.push(name);
      const inner = { ...state, positional: words.slice(1) };
      const output = visit(body, inner, input);
      state.directories = inner.directories;
      calls.pop();
      return output;
    }
    if (body) return SILENCE;
    const args = words.slice(1);
    const builtin = readBuiltin({ program: name, args, input, state }, inspector);
    if (builtin) return builtin;
    const program = calledProgram(name, state, workspace);
    if (program.kind === "unknown") return unknownProgram(args, state);
    if (program.kind === "own") return ownProgram(program.path, state);
    depth += 1;
    try {
      const invocation = { program: program.name, args, input, state };
      return checkInvocation(invocation, inspector) ?? outputOf(invocation);
    } finally {
      depth -= 1;
    }
  }

  function unknownProgram(args: readonly string[], state: ShellState): Stream {
    // Whatever it is called: with such arguments it deletes.
    if (args.some((arg) => /^-[a-zA-Z]*[rRf]|^--(recursive|force|no-preserve-root)/.test(arg)))
      inspector.command(["rm", ...args], state, NOTHING);
    inspector.ask("the name of a command is computed while it runs");
    return { kind: "program", program: "an unknown command" };
  }

  /** A program of the workspace; when the script wrote it itself, its text is known. */
  function ownProgram(path: string, state: ShellState): Stream {
    const written = state.files.get(path);
    if (written?.kind === "text") for (const text of written.texts) inspector.script(text, fork(state), NOTHING);
    if (written?.kind === "program")
      inspector.refuse(`it runs what ${written.program} printed without anyone having looked at it`);
    return { kind: "program", program: path };
  }

  /** Runs `work` as something that may not happen. */
  function perhaps(state: ShellState, work: () => Stream): Stream {
    state.conditional += 1;
    try {
      return work();
    } finally {
      state.conditional -= 1;
    }
  }

  script(parse(text), start, NOTHING);
  for (let work = postponed.shift(); work; work = postponed.shift()) work();
  return findings.list();
}
