/** A setup with a person at a terminal: questions on standard error, so that the result alone goes to standard output. */
import process from "node:process";
import type { Environment } from "../../../runtime/config/index.ts";
import { describeFailure, failureText, Interrupted } from "../../output/failure.ts";
import { colouredDiff } from "../../output/render-edit.ts";
import type { Terminal } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import type { AnswerLeaf } from "../answer-tree.ts";
import { PHASES, type Phase } from "../answers.ts";
import type { Dialog, Review } from "../dialog.ts";
import type { Question } from "../phases/question.ts";
import { isPlain } from "../secrets.ts";
import { foundLines } from "./found.ts";
import { CHOICE_TEXTS, filled, QUESTION_TEXTS, SECRET_TEXTS, WORDS } from "./texts.ts";
import { checkTyped, pairsText, typedAnswer } from "./validate.ts";

export interface TerminalDialogOptions {
  readonly terminal: Terminal;
  readonly env: Environment;
  readonly signal: AbortSignal;
}

type Input = Extract<Question, { readonly kind: "input" }>;
type Prompts = typeof import("@inquirer/prompts");
type Context = { readonly signal: AbortSignal; readonly output: NodeJS.WriteStream };

/** Null without a terminal. */
export function terminalDialog({ terminal, env, signal }: TerminalDialogOptions): Dialog | null {
  if (!terminal.inIsTerminal || !terminal.errIsTerminal) return null;
  const mark = terminal.errMark;
  const say = (text: string): Promise<void> => terminal.err(`${text}\n`);
  const ask = async <T>(question: (prompts: Prompts, context: Context) => Promise<T>): Promise<T> => {
    try {
      return await question(await import("@inquirer/prompts"), { signal, output: process.stderr });
    } catch (error) {
      // Ctrl-C at a question: the library takes the key itself.
      if (error instanceof Error && error.name === "ExitPromptError") {
        await say(WORDS.keptDraft);
        throw new Interrupted("SIGINT");
      }
      throw error;
    }
  };
  const type = (question: Question, leaf: AnswerLeaf, usual: string): Promise<unknown> =>
    ask(async ({ input }, context) => {
      const { message, empty } = wordsOf(question, leaf);
      const typed = await input(
        {
          message: empty === undefined ? `${message}:` : `${message} (empty: ${empty}):`,
          // An optional answer is prefilled to be edited; any other is taken by Enter.
          ...(usual === "" ? {} : { default: usual }),
          ...(usual !== "" && empty !== undefined ? { prefill: "editable" as const } : {}),
          validate: (text) => checkTyped(question, leaf, text),
        },
        context,
      );
      return typedAnswer(question, typed);
    });

  /** One of those that are known, or another one that is typed. */
  const choose = async (question: Input, leaf: AnswerLeaf, suggestions: readonly string[]): Promise<unknown> => {
    const { message } = wordsOf(question, leaf);
    const usual = question.default ?? suggestions[0] ?? "";
    const choices = [...new Set([...suggestions, ...(question.default === undefined ? [] : [question.default])])];
    const chosen = await ask(({ select }, context) =>
      select(
        {
          message,
          choices: [...choices.map((value) => ({ value, name: value })), { value: "", name: WORDS.another }],
          default: usual,
          loop: false,
        },
        context,
      ),
    );
    return chosen === "" ? type(question, leaf, "") : chosen;
  };

  return {
    attended: true,
    found: async (facts, existing) => {
      const lines = foundLines(facts, existing).map(
        ([name, value]) => `  ${mark.dim(name.padEnd(10))} ${visible(value)}`,
      );
      await say([mark.title(WORDS.detected), ...lines].join("\n"));
    },
    begin: (phase) => say(`\n${mark.title(WORDS.phases[phase])}`),
    async answer(question, leaf) {
      const { message } = wordsOf(question, leaf);
      switch (question.kind) {
        case "select":
          return ask(({ select }, context) =>
            select({ message, choices: choicesOf(question, leaf), default: question.default, loop: false }, context),
          );
        case "confirm":
          return ask(({ confirm }, context) => confirm({ message, default: question.default }, context));
        case "names":
          return type(question, leaf, question.default.join(", "));
        case "pairs":
          return type(question, leaf, pairsText(question.default));
        case "input":
          return question.suggestions === undefined
            ? type(question, leaf, question.default ?? "")
            : choose(question, leaf, question.suggestions);
        case "host-key":
          return askHostKey(question, leaf);
      }
    },
    secret: ({ purpose, of, variable }) =>
      ask(({ password }, context) =>
        password(
          {
            message: filled(SECRET_TEXTS[purpose], { of, variable }),
            validate: (text) => text === "" || isPlain(text) || WORDS.notPlain,
          },
          context,
        ),
      ),
    resume: (savedAt) =>
      ask(({ confirm }, context) =>
        confirm({ message: filled(WORDS.resume, { when: savedAt.toLocaleString() }), default: true }, context),
      ),
    async refused(reason) {
      await say(`\n${failureText(describeFailure(reason), mark).trimEnd()}`);
      return decide(WORDS.refusedQuestion, []);
    },
    async review(review) {
      await say(`\n${reviewText(review)}`);
      return decide(WORDS.reviewQuestion, [{ value: "write" as const, name: WORDS.write }]);
    },
  };

  /** What is to come after what was shown: one of these, a phase again, or nothing. */
  function decide<T extends string>(message: string, first: readonly { readonly value: T; readonly name: string }[]) {
    const again = PHASES.map((phase) => ({
      value: phase,
      name: filled(WORDS.change, { phase }),
    }));
    const leave = { value: "leave" as const, name: WORDS.leave };
    return ask(({ select }, context) =>
      select<T | Phase | "leave">({ message, choices: [...first, ...again, leave], loop: false }, context),
    );
  }

  /** The configured key is kept by Enter; otherwise the host shows one, which is used once the operator confirms it. */
  async function askHostKey(question: Extract<Question, { kind: "host-key" }>, leaf: AnswerLeaf): Promise<unknown> {
    const { host, port, default: usual } = question;
    if (usual === undefined && host !== "") {
      const { readHostKey } = await import("../detect/host-key.ts");
      const shown = await readHostKey(host, port, { env, signal });
      if (shown === null) await say(mark.warn(filled(WORDS.hostKeyUnread, { host })));
      else {
        await say(mark.dim(shown.trusted ? WORDS.hostKeyKnown : WORDS.hostKeyUnknown));
        const message = filled(WORDS.hostKey, { fingerprint: shown.fingerprint, host });
        if (await ask(({ confirm }, context) => confirm({ message, default: false }, context))) return shown.key;
      }
    }
    return type({ kind: "input", path: question.path, default: usual, required: true }, leaf, usual ?? "");
  }

  function reviewText({ dir, text, isDiff, files, secrets, notes }: Review): string {
    const shown = visible(text.trimEnd());
    return [
      `${mark.title(WORDS.review)} ${mark.name(dir)}`,
      ...(shown === "" ? [] : [isDiff ? colouredDiff(shown, mark) : shown]),
      "",
      ...files.map((file) => mark.good(`+ ${file}`)),
      ...(secrets.length > 0 ? [mark.good(`+ .env: ${secrets.join(", ")}`)] : []),
      ...notes.map((note) => `${mark.warn("Note:")} ${note}`),
    ].join("\n");
  }
}

function wordsOf(question: Question, leaf: AnswerLeaf): { message: string; empty?: string } {
  const text = QUESTION_TEXTS[leaf.id];
  if (text === undefined) throw new Error(`There are no words for the question ${leaf.id}.`);
  return { ...text, message: filled(text.message, question.about) };
}

function choicesOf(question: Extract<Question, { kind: "select" }>, { id }: AnswerLeaf) {
  const meanings = CHOICE_TEXTS[id === "agents.*.provider" ? "provider.id" : id] ?? {};
  return question.choices.map(({ value, name, description }) => {
    const meaning = description ?? meanings[value];
    return { value, name, short: name, ...(meaning === undefined ? {} : { description: meaning }) };
  });
}
