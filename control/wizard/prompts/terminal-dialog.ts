/** A setup with a person at a terminal: questions on standard error, so that the result alone goes to standard output. */
import process from "node:process";
import { stripVTControlCharacters } from "node:util";
import type { Environment } from "../../../runtime/config/index.ts";
import { parseListen } from "../../../runtime/config/listen.ts";
import { shortTime } from "../../memory/render-rows.ts";
import { describeFailure, failureText, Interrupted } from "../../output/failure.ts";
import type { Terminal } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { wrap } from "../../output/wrap.ts";
import type { AnswerLeaf } from "../answer-tree.ts";
import { PHASES, type Phase } from "../answers.ts";
import { offeredChannel } from "../channel-catalogue.ts";
import { accepts } from "../detect/containers.ts";
import { BACK, type Back, type Dialog } from "../dialog.ts";
import type { Question } from "../phases/question.ts";
import { isPlain } from "../secrets.ts";
import { type Verified, verifySecret } from "../verify-secret.ts";
import { foundLines } from "./found.ts";
import { asked, askOrBack, BACK_KEY, type Context, type Prompts } from "./going-back.ts";
import { reviewText } from "./review.ts";
import { CHOICE_TEXTS, filled, MASKED, NOTE_TEXTS, QUESTION_TEXTS, SECRET_TEXTS, WORDS, YES_OR_NO } from "./texts.ts";
import { checkTyped, pairsText, typedAnswer } from "./validate.ts";

export interface TerminalDialogOptions {
  readonly terminal: Terminal;
  readonly env: Environment;
  readonly signal: AbortSignal;
}

/** Columns before what was found. */
const FOUND_INDENT = 13;
/** Rows of a list that are always shown, those of a usual terminal, and those that the question and what a choice means need. */
const SHOWN = 7;
const ROWS = 24;
const AROUND = 8;
/** Where a program of this machine listens, it answers at once. */
const PORT_ANSWER_MS = 1_000;

/** True, or what is wrong with what was typed. */
type Verdict = (text: string) => true | string | Promise<true | string>;
type Input = Extract<Question, { readonly kind: "input" }>;

/** Null without a terminal. */
export function terminalDialog({ terminal, env, signal }: TerminalDialogOptions): Dialog | null {
  if (!terminal.inIsTerminal || !terminal.errIsTerminal) return null;
  const mark = terminal.errMark;
  /** What was said since the last answer: headings and notes, which going back takes off the screen. */
  let said = "";
  /** Phases whose heading is on the screen, the last one below which the question stands. */
  let headings: (Phase | "review")[] = [];
  let unanswered: Phase[] = [];
  const say = (text: string): Promise<void> => {
    said += `${text}\n`;
    return terminal.err(`${text}\n`);
  };
  const keepSaid = (): void => {
    said = "";
    unanswered = [];
  };
  const takeBack = async (): Promise<void> => {
    const rows = rowsOf(said, process.stderr.columns);
    if (rows > 0) await terminal.err(`\u001b[${rows}A\u001b[J`);
    headings = headings.slice(0, headings.length - unanswered.length);
    keepSaid();
  };
  /** Whether there is a configuration: what it has may be in use by its own node. */
  let changes = false;
  /** True, or that another program has that port. */
  const refuseTaken = async ({ id }: AnswerLeaf, text: string, usual: string): Promise<true | string> => {
    const address = id === "listen" && !(changes && text === usual) ? parseListen(text) : null;
    if (address === null || !(await accepts(address.host, address.port, PORT_ANSWER_MS))) return true;
    return filled(WORDS.taken, { port: String(address.port) });
  };
  const interrupted = async (): Promise<Error> => {
    await say(wrapped(WORDS.keptDraft));
    return new Interrupted("SIGINT");
  };
  const answered = async <T>(value: T | Back): Promise<T | Back> => {
    if (value === BACK) await takeBack();
    else keepSaid();
    return value;
  };
  const ask = async <T>(question: (prompts: Prompts, context: Context) => Promise<T>): Promise<T | Back> =>
    answered(await askOrBack(question, { signal, interrupted }));
  /** `<` is what leads back here, also behind what is prefilled. */
  const askTyped = async (
    prefilled: string,
    question: (prompts: Prompts, context: Context, check: (verdict: Verdict) => Verdict) => Promise<string>,
  ): Promise<string | Back> => {
    const leads = (text: string): boolean => [BACK_KEY, `${prefilled}${BACK_KEY}`].includes(text.trim());
    const check =
      (context: Context) =>
      (verdict: Verdict): Verdict =>
      (text) => {
        if (!leads(text)) return verdict(text);
        context.clearPromptOnDone = true;
        return true;
      };
    return answered(
      await askOrBack((prompts, context) => question(prompts, context, check(context)), {
        signal,
        interrupted,
        typed: leads,
      }),
    );
  };
  const type = async (question: Question, leaf: AnswerLeaf, usual: string): Promise<unknown> => {
    const { message, empty } = wordsOf(question, leaf);
    // An optional answer is prefilled to be edited; any other is taken by Enter.
    const prefilled = usual !== "" && empty !== undefined;
    const typed = await askTyped(prefilled ? usual : "", ({ input }, context, check) =>
      input(
        {
          message: asked(empty === undefined ? `${message}:` : `${message} (empty: ${empty}):`, usual),
          ...(usual === "" ? {} : { default: usual }),
          ...(prefilled ? { prefill: "editable" as const } : {}),
          validate: check((text) => {
            const verdict = checkTyped(question, leaf, text);
            return verdict === true ? refuseTaken(leaf, text.trim(), usual) : verdict;
          }),
        },
        context,
      ),
    );
    return typed === BACK ? BACK : typedAnswer(question, typed);
  };

  /** One of those that are known, or another one that is typed. */
  const choose = async (question: Input, leaf: AnswerLeaf, suggestions: readonly string[]): Promise<unknown> => {
    const { message } = wordsOf(question, leaf);
    const usual = question.default ?? suggestions[0] ?? "";
    const choices = [...new Set([...suggestions, ...(question.default === undefined ? [] : [question.default])])];
    for (;;) {
      const chosen = await ask(({ select }, context) =>
        select(
          {
            message: asked(message, ""),
            choices: [...choices.map((value) => ({ value, name: value })), { value: "", name: WORDS.another }],
            default: usual,
            ...listed(choices.length + 1),
          },
          context,
        ),
      );
      if (chosen !== "") return chosen;
      const typed = await type(question, leaf, "");
      if (typed !== BACK) return typed;
    }
  };

  return {
    attended: true,
    found: async (facts, dir, existing) => {
      changes = existing;
      const lines = foundLines(facts, dir, existing).flatMap(([name, value]) => {
        const [first = "", ...rest] = wrap(visible(value), FOUND_INDENT, process.stderr.columns);
        return [`  ${mark.dim(name.padEnd(10))} ${first}`, ...rest.map((line) => " ".repeat(FOUND_INDENT) + line)];
      });
      await say([mark.title(WORDS.detected), ...lines, "", mark.dim(wrapped(WORDS.keys))].join("\n"));
      keepSaid();
    },
    async begin(phase, asks) {
      if (asks ? headings.at(-1) === phase : headings.includes(phase)) return;
      headings.push(phase);
      unanswered.push(phase);
      await say(`\n${mark.title(WORDS.phases[phase])}${asks ? "" : `\n${mark.dim(WORDS.nothingAsked)}`}`);
    },
    async answer(question, leaf) {
      const { message } = wordsOf(question, leaf);
      if (question.note !== undefined) await say(mark.dim(wrapped(filled(NOTE_TEXTS[question.note], question.about))));
      switch (question.kind) {
        case "select":
          return ask(({ select }, context) =>
            select(
              {
                message: asked(message, ""),
                choices: choicesOf(question, leaf),
                default: question.default,
                ...listed(question.choices.length),
              },
              context,
            ),
          );
        case "confirm":
          return ask(({ confirm }, context) =>
            confirm({ message: asked(message, YES_OR_NO), default: question.default }, context),
          );
        case "several":
          return ask(({ checkbox }, context) =>
            checkbox(
              {
                message: asked(message, ""),
                choices: choicesOf(question, leaf).map((choice) => ({
                  ...choice,
                  checked: question.default.includes(choice.value),
                })),
                ...listed(question.choices.length),
              },
              context,
            ),
          );
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
    async secret(question, typed) {
      const { purpose, of, variable, field } = question;
      const fields = field === undefined ? [] : (offeredChannel(field.channel)?.setup.fields ?? []);
      const label = fields.find(({ key }) => key === field?.key)?.label ?? of;
      const { where } = fields.find(({ key }) => key === field?.key) ?? {};
      const message = filled(SECRET_TEXTS[purpose], {
        of,
        label,
        variable,
        empty: typed ? WORDS.typed : WORDS.later,
      });
      if (where !== undefined) await say(mark.dim(wrapped(where)));
      for (;;) {
        const answer = await askTyped("", ({ password }, context, check) =>
          password(
            {
              message: asked(message, MASKED),
              validate: check((text) => text === "" || isPlain(text) || WORDS.notPlain),
            },
            context,
          ),
        );
        if (answer === BACK || answer === "") return answer;
        const verified = await verifySecret(question, answer, signal);
        // What was typed hidden cannot be mended: it is typed anew.
        if (verified.kind === "refused") {
          await say(mark.warn(wrapped(visible(verified.words))));
          continue;
        }
        const outcome = outcomeOf(verified);
        if (outcome !== null) await say(mark[outcome.warns ? "warn" : "dim"](wrapped(visible(outcome.words))));
        keepSaid();
        return answer;
      }
    },
    async resume(savedAt) {
      const message = filled(WORDS.resume, { when: shortTime(savedAt.toISOString()) });
      for (;;) {
        const answer = await ask(({ confirm }, context) =>
          confirm({ message: asked(message, YES_OR_NO), default: true }, context),
        );
        // It is the first question.
        if (answer !== BACK) return answer;
      }
    },
    async refused(reason) {
      await say(`\n${wrapped(failureText(describeFailure(reason), mark).trimEnd())}`);
      headings.push("review");
      keepSaid();
      return decide<never>(WORDS.refusedQuestion, []);
    },
    async review(review) {
      await say(`\n${reviewText(review, mark, process.stderr.columns)}`);
      headings.push("review");
      keepSaid();
      return decide(WORDS.reviewQuestion, [{ value: "write" as const, name: WORDS.write }]);
    },
  };

  /** What is to come after what was shown: one of these, a phase again, or nothing. */
  function decide<T extends string>(message: string, first: readonly { readonly value: T; readonly name: string }[]) {
    const again = PHASES.map((phase) => ({
      value: phase,
      name: WORDS.change[phase],
    }));
    const leave = { value: "leave" as const, name: WORDS.leave };
    return ask(({ select }, context) =>
      select<T | Phase | "leave">({ message, choices: [...first, ...again, leave], ...listed(SHOWN) }, context),
    );
  }

  /** The configured key is kept by Enter; otherwise the host shows one, which is used once the operator confirms it. */
  async function askHostKey(question: Extract<Question, { kind: "host-key" }>, leaf: AnswerLeaf): Promise<unknown> {
    const { host, port, default: usual } = question;
    if (usual === undefined && host !== "") {
      const { readHostKey } = await import("../detect/host-key.ts");
      const shown = await readHostKey(host, port, { env, signal });
      if (typeof shown === "string") await say(mark.warn(wrapped(filled(WORDS.hostKeyUnread, { host, why: shown }))));
      else {
        await say(mark.dim(shown.trusted ? WORDS.hostKeyKnown : WORDS.hostKeyUnknown));
        const message = filled(WORDS.hostKey, { fingerprint: shown.fingerprint, host });
        const agreed = await ask(({ confirm }, context) =>
          confirm({ message: asked(message, YES_OR_NO), default: false }, context),
        );
        if (agreed === BACK) return BACK;
        if (agreed) return shown.key;
      }
    }
    return type({ kind: "input", path: question.path, default: usual, required: true }, leaf, usual ?? "");
  }
}

/** What is said of a secret that was kept. */
function outcomeOf(verified: Verified): { readonly words: string; readonly warns: boolean } | null {
  if (verified.kind === "taken") return { words: verified.words, warns: false };
  if (verified.kind !== "unreachable") return null;
  return { words: filled(WORDS.unverified, { why: verified.words }), warns: true };
}

function wordsOf(question: Question, leaf: AnswerLeaf): { message: string; empty?: string } {
  const text = QUESTION_TEXTS[leaf.id];
  if (text === undefined) throw new Error(`There are no words for the question ${leaf.id}.`);
  const { empty } = { ...text, ...(question.kind === "input" ? question : {}) };
  return { message: filled(text.message, question.about), ...(empty === undefined ? {} : { empty }) };
}

function choicesOf(question: Extract<Question, { kind: "select" | "several" }>, { id }: AnswerLeaf) {
  const meanings = CHOICE_TEXTS[id === "agents.*.provider" ? "provider.id" : id] ?? {};
  return question.choices.map(({ value, name, description }) => {
    const meaning = description ?? meanings[value];
    return { value, name, short: name, ...(meaning === undefined ? {} : { description: wrapped(meaning) }) };
  });
}

function wrapped(text: string): string {
  return wrap(text, 0, process.stderr.columns).join("\n");
}

/** All of a list is shown where the screen has room: the library shows seven of it, and not that there are more. */
function listed(count: number): { readonly loop: boolean; readonly pageSize: number } {
  return { loop: false, pageSize: Math.max(SHOWN, Math.min(count, (process.stderr.rows || ROWS) - AROUND)) };
}

/** Rows of a terminal that these lines take. */
function rowsOf(text: string, columns: number): number {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) =>
      Math.max(1, Math.ceil(stripVTControlCharacters(line).length / (columns || Number.POSITIVE_INFINITY))),
    )
    .reduce((sum, rows) => sum + rows, 0);
}
