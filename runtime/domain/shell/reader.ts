/**
 * Shows every command of a script to the rules, whatever the control flow, in the order in which they are written. Only
 * what the script says plainly is followed: variables that it sets once to text, and `cd` outside of branches and loops.
 */

import { posix } from "node:path";
import {
  type Assignment,
  type Command,
  forEachChild,
  type ParsedScript,
  parse,
  type Redirection,
  type SyntaxNode,
} from "unbash";
import { isWithin } from "../workspace-path.ts";
import { readBuiltin } from "./builtins.ts";
import { inspectCode } from "./code.ts";
import { createExpander } from "./expand.ts";
import { isGlob } from "./glob.ts";
import type { Finding, Inspector, ShellState } from "./inspection.ts";
import { outputOf } from "./outputs.ts";
import { absolutePath, readingOf, writeTo, writtenLike } from "./paths.ts";
import { checkInvocation } from "./programs.ts";
import { redirect } from "./redirections.ts";
import { createVariables, extentOf, type Facts, noFacts } from "./state.ts";
import { concatenate, PRINTED, SILENCE, type Stream, UNKNOWN } from "./streams.ts";
import { COMPUTED, HOME, isMarked, MAX_PATH_CHARS, PROCESS, VALUE } from "./values.ts";
import { checkVariable } from "./variables.ts";

/** A script that takes more steps than this is left to a person's decision: nodes and words. */
const MAX_STEPS = 45_000;
const STEPS_OF_COMMAND = 10;
const MAX_DEPTH = 40;
/** Functions that call each other in a longer chain are left to it, too. */
const MAX_READINGS = 6;
const TOO_INTRICATE = "the command is too long or too intricate to be judged";
/** A function that is called in more directories than these is read as if it were called in any. */
const MAX_STARTS = 4;
/** Where `cd -` leads as long as there was no `cd`. */
const UNMOVED = `${COMPUTED}/`;
/** What a function reads, when it is called. */
const CALLERS_INPUT: Stream = { ...UNKNOWN };
const STARTS_ITSELF = "it starts itself over and over (fork bomb)";

/** All findings, the first of each reason only. */
export function readScript(text: string, directory: string, workspace: string): readonly Finding[] {
  const facts = noFacts();
  const parsed = new Map<string, ParsedScript>();
  const scriptOf = (source: string) => {
    const script = parsed.get(source) ?? parse(source);
    parsed.set(source, script);
    return script;
  };
  const read = (unset: "" | typeof VALUE) => readOnce(text, { directory, workspace, facts, scriptOf, unset });
  // Until there is nothing more to find out about what is set and defined where; each time without and with a value of the
  // variables that nothing sets.
  for (let readings = 1; ; readings += 1) {
    const before = extentOf(facts);
    const given = read(VALUE);
    const findings = given.usesUnset ? [...given.findings, ...read("").findings] : given.findings;
    if (extentOf(facts) === before) return findings;
    if (readings === MAX_READINGS) return [...findings, { action: "ask", reason: TOO_INTRICATE }];
  }
}

interface Reading {
  readonly directory: string;
  readonly workspace: string;
  readonly facts: Facts;
  readonly scriptOf: (source: string) => ParsedScript;
  readonly unset: "" | typeof VALUE;
}

function readOnce(text: string, { directory, workspace, facts, scriptOf, unset }: Reading) {
  const findings = new Map<string, Finding>();
  const postponed: (() => void)[] = [];
  /** Functions that are there for certain. */
  const defined = new Set<string>();
  const variables = createVariables(facts, unset);
  let certainOnly = 0;
  let doubtful = 0;
  let steps = 0;
  let depth = 0;
  const note = (action: Finding["action"], reason: string) => {
    if (action === "refuse" || !findings.has(reason)) findings.set(reason, { action, reason });
  };
  const inspector: Inspector = {
    workspace,
    written: facts.written,
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
    script: (source, state, input) => apart(state, (inner) => inspector.evaluate(source, inner, input)),
    evaluate(source, state, input = SILENCE) {
      if (source.includes(COMPUTED)) inspector.ask("a part of the text that it runs is computed while it runs");
      return script(scriptOf(source), state, input);
    },
    command: (words, state, input = SILENCE) => program(words, state, input),
  };
  const expander = createExpander(
    (substituted, state, input) => apart(state, (inner) => script(substituted, inner, input)).text,
    (reason) => inspector.ask(reason),
    scriptOf,
  );

  function script({ commands, errors }: ParsedScript, state: ShellState, input: Stream): Stream {
    if (errors?.length) inspector.ask("the shell syntax could not be understood");
    return inOrder(commands, (node) => visit(node, state, input));
  }

  /** Does what takes so many steps, unless it is too much. */
  function within(cost: number, work: () => Stream): Stream {
    steps += cost;
    if (depth >= MAX_DEPTH || steps > MAX_STEPS) {
      note("ask", TOO_INTRICATE);
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
        return apart(state, (inner) => visit(node.command, { ...inner, spawned: true }, input));
      case "CompoundList":
        return inOrder(node.commands, (command) => visit(command, state, input));
      case "AndOr": {
        const [first, ...others] = node.commands;
        const output = first ? visit(first, state, input) : SILENCE;
        // What comes after `&&` runs with what came before it; after the whole, it may have run or not.
        const follow = (inner: ShellState) =>
          inOrder(others, (command, index) => {
            const run = (one: ShellState) => visit(command, one, input);
            return node.operators[index] === "||" ? perhaps(inner, run) : run(inner);
          });
        return others.length === 0 ? output : concatenate(output, perhaps(state, follow));
      }
      case "Pipeline": {
        const [only, ...others] = node.commands;
        if (only && others.length === 0) return visit(only, state, input);
        const run = (stream: Stream, command: SyntaxNode) =>
          apart(state, (inner) => visit(command, { ...inner, spawned: true }, stream));
        return node.commands.reduce(run, input);
      }
      case "Command":
        return redirected(node.redirects, state, input, (from) => simpleCommand(node, state, input, from));
      case "Redirected":
        return redirected(node.redirects, state, input, (from) => visit(node.command, state, from));
      case "For": {
        const name = node.name.value;
        const words = node.wordlist?.flatMap((word) => expander.fields(word, state)) ?? [COMPUTED];
        return loop(node, state, (inner) => {
          for (const word of words.length > 0 ? words : [""]) {
            // In a function it may run in between other loops of the same variable.
            variables.set(name, word, state.within === null ? node : node.body);
            visit(node.body, inner, input);
          }
        });
      }
      case "Select":
        variables.set(node.name.value, COMPUTED, node.body);
        return loop(node, state, (inner) => visitChildren(node, inner, input));
      case "While":
      case "ArithmeticFor":
        return loop(node, state, (inner) => visitChildren(node, inner, input));
      case "Subshell":
      case "Coproc":
        return apart(state, (inner) => visit(node.body, inner, input));
      case "Function":
        return defineFunction(node.name.value, node.body, state);
      case "BraceGroup":
        return visit(node.body, state, input);
      default:
        // Branches: a condition that runs, and bodies that may; words, tests and arithmetic with the scripts in them.
        return visitChildren(node, state, input);
    }
  }

  function visitChildren(node: SyntaxNode, state: ShellState, input: Stream): Stream {
    for (const [index, child] of childrenOf(node).entries()) {
      if (!/^(CompoundList|Elif|CaseItem)$/.test(child.type)) expander.nestedScripts(child, state);
      else if (index === 0 || /^(While|ArithmeticFor)$/.test(node.type)) visit(child, state, input);
      else perhaps(state, (inner) => visit(child, inner, input));
    }
    return PRINTED;
  }

  /** Reads what a shell of its own does. */
  function apart<Result>(state: ShellState, work: (inner: ShellState) => Result): Result {
    return variables.block(() => work({ ...state }));
  }

  /** Reads what may not happen: where it changes the directory, that is not known afterwards. */
  function perhaps(state: ShellState, work: (inner: ShellState) => Stream): Stream {
    const inner = { ...state };
    const output = variables.block(() => work(inner));
    if (inner.previous !== state.previous) state.previous = COMPUTED;
    if (inner.directory !== state.directory) state.directory = COMPUTED;
    return output;
  }

  /** The same for what may happen again and again: a later round begins where the one before it ended. */
  function loop(node: SyntaxNode, state: ShellState, work: (inner: ShellState) => void): Stream {
    return perhaps(state, (inner) => {
      if (facts.moving.has(node)) inner.directory = inner.previous = COMPUTED;
      work(inner);
      if (inner.directory !== state.directory) facts.moving.add(node);
      return PRINTED;
    });
  }

  /** Reads the body where it is called, with arguments and an input that only a run shows. */
  function defineFunction(name: string, body: SyntaxNode, state: ShellState): Stream {
    if ((facts.functions.get(name) ?? body) !== body)
      inspector.ask("it defines a function twice, and which of the two runs is not known");
    facts.functions.set(name, body);
    if (variables.isOutermost) defined.add(name);
    const starts = [...(facts.starts.get(body) ?? [])];
    for (const start of starts.length > 0 && starts.length <= MAX_STARTS ? starts : [COMPUTED]) {
      const inner: ShellState = { ...state, directory: start, previous: UNMOVED, within: name, spawned: false };
      variables.block(() => visit(body, inner, CALLERS_INPUT), true);
      if (inner.directory !== start || (start === COMPUTED && inner.previous !== UNMOVED)) facts.moving.add(body);
    }
    return SILENCE;
  }

  function redirected(
    redirects: readonly Redirection[],
    state: ShellState,
    input: Stream,
    work: (from: Stream) => Stream,
  ): Stream {
    const { from, target } = redirect(redirects, state, input, expander);
    const output = work(from);
    if (target !== null) writeTo([target], state, output.from === "command" ? output.text : null);
    return output;
  }

  function simpleCommand(node: Command, state: ShellState, input: Stream, from: Stream): Stream {
    const name = node.name?.value;
    for (const entry of node.prefix) {
      // For `read` alone it is where its words end.
      if (entry.type === "Assignment" && (entry.name !== "IFS" || name !== "read"))
        assignment(entry, state, name === undefined);
    }
    if (!node.name) return node.redirects.some(({ operator }) => operator === "<") ? from : SILENCE;
    if (name === "exec" && node.args.length === 0 && from !== input && from.from !== "file")
      inspector.ask("what the shell reads from then on is given by the command");
    if (state.spawned && /^"?\$(0|\{0\})"?$/.test(node.name.text)) inspector.refuse(STARTS_ITSELF);
    // A function that runs its arguments: they are judged where it is called.
    const isWrapper = node.name.text === '"$@"' && node.args.length === 0 && from === CALLERS_INPUT;
    if (isWrapper && state.within !== null && state.previous === UNMOVED && !facts.setters.has("@")) {
      facts.wrappers.add(state.within);
      return PRINTED;
    }
    const words = [node.name, ...node.args].flatMap((word) => {
      if (word.type === "Word") return expander.fields(word, state);
      if (word.index) expander.nestedScripts(word.index, state);
      if (word.value.type === "Word")
        return [`${word.name}${word.index ? "[0]" : ""}${word.append ? "+" : ""}=${expander.text(word.value, state)}`];
      assignment(word, state, true);
      return [word.name];
    });
    // A variable that nothing sets is empty, and a command's name then the next word.
    const variable = /^"?\$\{?([A-Za-z_]\w*)\}?"?$/.exec(node.name.text)?.[1];
    if (words[0] === VALUE && variable !== undefined && variables.isUnset(variable)) return SILENCE;
    return run(words, state, from);
  }

  /** `lasting`: not for one command alone. */
  function assignment(node: Assignment, state: ShellState, lasting: boolean): void {
    const { name, value, index, append } = node;
    if (index) expander.nestedScripts(index, state);
    const words = value.type === "ArrayValue" ? value.elements.flatMap((word) => expander.fields(word, state)) : null;
    const text = words?.join(" ") ?? (value.type === "Word" ? expander.text(value, state) : "");
    checkVariable(name, text, state);
    const isPlain = lasting && !index && !append && !words?.some((word) => word.startsWith("["));
    variables.set(name, isPlain ? text : COMPUTED, node);
  }

  function run(words: readonly string[], state: ShellState, input: Stream): Stream {
    const [name = "", ...args] = words;
    const body = facts.functions.get(name);
    if (!body) return program(words, state, input);
    // Where it is not defined, the program of that name runs.
    const asProgram = () => apart(state, (inner) => program(words, inner, input));
    if (defined.has(name)) inspector.certain(asProgram);
    else asProgram();
    if (facts.wrappers.has(name) && args.length > 0) run(args, state, input);
    facts.starts.set(body, (facts.starts.get(body) ?? new Set()).add(state.directory));
    if (facts.moving.has(body)) state.directory = state.previous = COMPUTED;
    if (state.within !== null) {
      facts.calls.set(state.within, (facts.calls.get(state.within) ?? new Set()).add(name));
      if (state.spawned && reaches(name, state.within)) inspector.refuse(STARTS_ITSELF);
    }
    return PRINTED;
  }

  /** Whether a call of the function `from` leads to one of `to`. */
  function reaches(from: string, to: string): boolean {
    const found = new Set([from]);
    for (const name of found) for (const called of facts.calls.get(name) ?? []) found.add(called);
    return found.has(to);
  }

  /** A builtin or a program: no function of that name. */
  function program(words: readonly string[], state: ShellState, input: Stream): Stream {
    return within(words.length + STEPS_OF_COMMAND, () => programWithin(words, state, input));
  }

  function programWithin([word = "", ...args]: readonly string[], state: ShellState, input: Stream): Stream {
    if (word === "") return SILENCE;
    if (word === "unset" && args.some((arg) => facts.functions.has(arg))) inspector.ask("it takes a function back");
    const builtin = readBuiltin({ program: word, args, input, state });
    if (builtin) return builtin;
    // `watch 'rm -rf /'`: no program has such a name, and who gives it to another has it split.
    if (/\s/.test(word) && !word.includes(COMPUTED)) return inspector.script([word, ...args].join(" "), state, input);
    const name = posix.basename(word);
    const isPlain = !word.includes(COMPUTED) && !word.startsWith(PROCESS) && !isMarked(name) && !isGlob(name);
    if (!isPlain || name === "" || name.length > MAX_PATH_CHARS) return unknownProgram(args, state);
    // By its name alone where PATH may lead to it.
    const isReached = !word.includes("/") && facts.setters.has("PATH") && writtenLike(word, state).length > 0;
    const made = word.includes("/") ? readingOf(word, state) : null;
    if (isReached || made?.from === "unknown") inspector.ask("it runs a file that it wrote itself");
    if (made?.from === "command") runMade(made.text, args, state, input);
    const path = word.includes("/") ? absolutePath(word, state) : "/";
    if ([workspace, "/tmp", HOME].some((root) => isWithin(root, path)) && !isMarked(path)) return PRINTED;
    const invocation = { program: name.toLowerCase(), args, input, state };
    return checkInvocation(invocation) ?? outputOf(invocation);
  }

  /** A file whose text the script shows. */
  function runMade(text: string, args: readonly string[], state: ShellState, input: Stream): void {
    if (args.length > 0) state.variables.set("@", COMPUTED, text);
    if (/^#!(?!.*\b(ba|da|z|k)?sh\b)/.test(text)) inspectCode(text, state);
    else inspector.script(text, state, input);
  }

  function unknownProgram(args: readonly string[], state: ShellState): Stream {
    // Whatever it is called: with such arguments it deletes.
    if (args.some((arg) => /^-[a-zA-Z]*[rRf]|^--(recursive|force|no-preserve-root)/.test(arg)))
      inspector.command(["rm", ...args], state);
    inspector.ask("the name of a command is computed while it runs");
    return PRINTED;
  }

  const start: ShellState = { inspector, variables, directory, previous: UNMOVED, within: null, spawned: false };
  script(scriptOf(text), start, SILENCE);
  for (let work = postponed.shift(); work; work = postponed.shift()) work();
  return { findings: [...findings.values()], usesUnset: variables.usesUnset };
}

function inOrder<Item>(items: readonly Item[], read: (item: Item, index: number) => Stream): Stream {
  return items.map(read).reduce(concatenate, SILENCE);
}

function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  const children: SyntaxNode[] = [];
  forEachChild(node, (child) => {
    children.push(child);
  });
  return children;
}
