import { CairnError, type ErrorCode, MemoryError, ProviderError } from "../../contracts/errors.ts";
import type { Logger } from "../../contracts/ports.ts";
import type { TextAnswer, TextModel } from "../../contracts/text-model.ts";
import { checkSummary } from "../../domain/summaries/check.ts";
import { type Question, systemPrompt, userPrompt } from "../../domain/summaries/prompts.ts";
import type { CountTokens } from "../../domain/tokens.ts";

/** Calls the summarizer for one summary and validates the answer, which it asks for again with what was wrong with it. */

export interface SummarizerCall {
  /** Takes secrets out of what the model is shown; what it would change need not be named. Absent: nothing is. */
  readonly redact?: ((text: string) => string) | undefined;
  readonly model: TextModel;
  readonly count: CountTokens;
  readonly logger: Pick<Logger, "warn">;
  readonly signal: AbortSignal;
}

/** The model cannot be used now, for no fault of the conversation. */
export class ModelUnavailableError extends Error {
  override readonly cause: CairnError;
  /** The prompts of other conversations may still be short enough for it. */
  readonly shorterMayDo: boolean;

  constructor(cause: CairnError, { shorterMayDo = false }: { readonly shorterMayDo?: boolean } = {}) {
    super(cause.message);
    this.name = "ModelUnavailableError";
    this.cause = cause;
    this.shorterMayDo = shorterMayDo;
  }
}

/** Answers that are validated before the conversation counts as failed. */
const MOST_ANSWERS = 3;
/** A server that counts less than this share of what was sent has read only a part of it; short inputs are not measured. */
const READ_SHARE = 0.5;
const MIN_MEASURED_INPUT = 4_000;
const FEW_CHARACTERS = 6;

/** What one conversation alone may bring about; the other errors are the model's or the server's. */
const MAY_BE_THE_INPUT: ReadonlySet<ErrorCode> = new Set([
  "PROVIDER_BAD_RESPONSE",
  "PROVIDER_SERVER_ERROR",
  "PROVIDER_STREAM_TRUNCATED",
  "PROVIDER_REJECTED_REQUEST",
  "PROVIDER_TIMEOUT",
]);

/**
 * The summary. Rejects with MEMORY_SUMMARY_UNUSABLE after the last answer, with PROVIDER_CONTEXT_TOO_LONG, with
 * ModelUnavailableError, with the model's error where it fails at this input only, or with the signal's reason.
 */
export async function callSummarizer(given: Omit<Question, "objections">, deps: SummarizerCall): Promise<string> {
  const { model, count, logger } = deps;
  const question = withoutSecrets(given, deps.redact);
  const { budget, identifiers, preamble, entries } = question;
  const source = [preamble, ...identifiers, ...entries].join("\n\n");
  let objections: readonly string[] = [];
  for (let answers = 1; ; answers += 1) {
    const system = systemPrompt(question.kind, budget);
    const user = userPrompt({ ...question, objections });
    const answer = await complete({ system, user, budget }, deps);
    if (answer.inputTokens !== undefined) assertNotCut(answer.inputTokens, user, deps);
    const { text, truncated } = answer;
    const verdict = checkSummary({ answer: text, truncated, budget, source, identifiers }, count);
    if (verdict.objections.length === 0) return text.trim();
    // Asked for twice and still left out: what is known for certain is added.
    if (answers > 1 && verdict.completed !== null) return verdict.completed;
    if (answers >= MOST_ANSWERS) throw unusable(verdict.objections.map(({ reason }) => reason));
    objections = verdict.objections.map(({ words }) => words);
    const reasons = verdict.objections.map(({ reason }) => reason);
    logger.warn({ kind: question.kind, model: model.model, reasons }, "a summary failed validation; retrying");
  }
}

function withoutSecrets(question: Omit<Question, "objections">, redact: SummarizerCall["redact"]): typeof question {
  if (redact === undefined) return question;
  const { preamble, entries, identifiers } = question;
  return {
    ...question,
    preamble: redact(preamble),
    entries: entries.map((entry) => redact(entry)),
    identifiers: identifiers.filter((one) => redact(one) === one),
  };
}

async function complete(
  { system, user, budget }: { readonly system: string; readonly user: string; readonly budget: number },
  deps: SummarizerCall,
): Promise<TextAnswer> {
  const { model, signal } = deps;
  try {
    return await model.complete({ system, user, maxTokens: budget, thinking: true, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CairnError)) throw error;
    if (error.code === "PROVIDER_EMPTY_ANSWER") return { text: "", truncated: false };
    if (error.code === "PROVIDER_CONTEXT_TOO_LONG") throw error;
    if (MAY_BE_THE_INPUT.has(error.code) && (await answers(deps))) throw error;
    throw new ModelUnavailableError(error);
  }
}

/** Whether the model answers something harmless. */
async function answers({ model, signal }: SummarizerCall): Promise<boolean> {
  try {
    await model.complete({
      system: "You confirm that you can be reached.",
      user: "Answer with the single word: ready",
      maxTokens: 64,
      thinking: false,
      signal,
    });
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CairnError)) throw error;
    return error.code === "PROVIDER_EMPTY_ANSWER";
  }
}

/** Some servers silently cut a prompt that is longer than their window. */
function assertNotCut(read: number, input: string, { count, model: { model } }: SummarizerCall): void {
  // A long input takes a while to count; where a token was read for every few characters, there is no need to.
  if (read >= input.length / FEW_CHARACTERS) return;
  const sent = count(input);
  if (sent < MIN_MEASURED_INPUT || read >= sent * READ_SHARE) return;
  throw new ModelUnavailableError(
    new ProviderError(
      "PROVIDER_REJECTED_REQUEST",
      `The model "${model}" was sent about ${sent} tokens and read ${read}: its server cuts what is longer than its window.`,
      {
        hint: "Give the model a larger window at its server, or set memory.summarizer.context_window to the one it has.",
      },
    ),
    { shorterMayDo: true },
  );
}

function unusable(reasons: readonly string[]): MemoryError {
  return new MemoryError(
    "MEMORY_SUMMARY_UNUSABLE",
    `The model gave no acceptable summary in ${MOST_ANSWERS} answers; of the last one: ${reasons.join(", ")}.`,
    { hint: "Another model may do better; then run `cairn memory retry-failed --task compact`." },
  );
}
