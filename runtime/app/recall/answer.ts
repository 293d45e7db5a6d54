import type { Queryable } from "../../contracts/database.ts";
import { CairnError } from "../../contracts/errors.ts";
import type { MemoryHit, Visibility } from "../../contracts/memory.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import type { TextModel } from "../../contracts/text-model.ts";
import { ANSWER_TOKENS, answerPrompt, readAnswer, showHits } from "../../domain/answer.ts";
import type { CountTokens } from "../../domain/tokens.ts";

/** The answer of memory_search {synthesize}: written by the language model from the hits of the search, and from no other row. */

export interface SearchAnswer {
  /** Its `[1] [2]` are places in the results, from 1. */
  readonly text: string;
  /** Ids of the hits that it rests on; at least one. */
  readonly citations: readonly string[];
}

/** Either there is an answer, or a sentence says why there is none. */
export type Answered = { readonly answer: SearchAnswer } | { readonly answer_missing: string };

export interface AnswerCaller {
  /** Who does not see everything is not told what the model's server says. */
  readonly visibility: Visibility;
  readonly signal?: AbortSignal | undefined;
}

/** Rejects with the reason of the caller's signal, and otherwise never: whatever fails costs the answer alone. */
export type AnswerSearch = (query: string, hits: readonly MemoryHit[], caller: AnswerCaller) => Promise<Answered>;

export interface AnswerDeps {
  readonly database: Queryable;
  readonly model: TextModel;
  readonly redact: (text: string) => string;
  readonly count: CountTokens;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "warn">;
  /** Aborts once the node stops. */
  readonly stopping: AbortSignal;
  /** Milliseconds for all attempts together; default 45,000, so that clients that wait for a minute get the results. */
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 45_000;
const MOST_REPLIES = 2;

export const NO_MODEL = "No language model is configured: memory.summarizer.base_url is not set.";
const NO_HITS = "Nothing was found that could answer.";
const NOTHING_SAID = "The hits do not answer the question.";

export function createAnswers(deps: AnswerDeps): AnswerSearch {
  const { model, logger, deadlineMs = DEADLINE_MS } = deps;
  return async (query, hits, { visibility, signal: caller }) => {
    caller?.throwIfAborted();
    if (hits.every(({ content }) => content.trim() === "")) return { answer_missing: NO_HITS };
    const deadline = AbortSignal.timeout(deadlineMs);
    const signals = [deadline, deps.stopping, ...(caller === undefined ? [] : [caller])];
    try {
      return await ask(deps, query, hits, AbortSignal.any(signals));
    } catch (error) {
      caller?.throwIfAborted();
      if (deps.stopping.aborted) return { answer_missing: "The node is shutting down." };
      logger.warn({ err: error, model: model.model }, "a search got no answer from the language model");
      if (deadline.aborted)
        return { answer_missing: `The language model did not answer within ${deadlineMs / 1000} s.` };
      return { answer_missing: failure(error, visibility, deps) };
    }
  };
}

async function ask(
  deps: AnswerDeps,
  query: string,
  hits: readonly MemoryHit[],
  signal: AbortSignal,
): Promise<Answered> {
  const { model, redact, count, clock, logger } = deps;
  const speakers = await speakersOf(deps.database, hits);
  const shown = showHits(
    hits.map((hit) => ({ ...hit, content: redact(hit.content), speaker: redacted(speakers.get(hit.id), redact) })),
    count,
  );
  const question = { query: redact(query), now: clock.now() };
  let reason: string | undefined;
  for (let replies = 1; replies <= MOST_REPLIES; replies += 1) {
    const { system, user } = answerPrompt(question, shown, reason);
    const reply = await completed(model, { system, user, signal });
    const verdict = readAnswer({ ...reply, text: redact(reply.text) }, shown.numbers);
    if (verdict.kind === "nothing") return { answer_missing: NOTHING_SAID };
    if (verdict.kind === "answer") {
      const citations = verdict.cited.flatMap((number) => hits[number - 1]?.id ?? []);
      return { answer: { text: verdict.text, citations } };
    }
    reason = verdict.reason;
    logger.warn({ model: model.model, reason }, "an answer to a search failed validation");
  }
  return { answer_missing: `The language model gave no acceptable answer: ${reason}.` };
}

async function completed(
  model: TextModel,
  given: { readonly system: string; readonly user: string; readonly signal: AbortSignal },
): Promise<{ readonly text: string; readonly truncated: boolean }> {
  try {
    return await model.complete({ ...given, maxTokens: ANSWER_TOKENS, thinking: false });
  } catch (error) {
    if (error instanceof CairnError && error.code === "PROVIDER_EMPTY_ANSWER") return { text: "", truncated: false };
    throw error;
  }
}

/** Captured and bridged messages have their speaker in the metadata. The ids are of rows that the caller may see. */
async function speakersOf(database: Queryable, hits: readonly MemoryHit[]): Promise<ReadonlyMap<string, string>> {
  const ids = hits.filter(({ kind }) => kind === "message").map(({ id }) => id);
  const { rows } = await database.query<{ readonly id: string; readonly speaker: string }>(
    "select id, metadata ->> 'speaker' as speaker from messages where id = any($1::uuid[]) and metadata ->> 'speaker' <> ''",
    [ids],
  );
  return new Map(rows.map(({ id, speaker }) => [id, speaker]));
}

function redacted(name: string | undefined, redact: AnswerDeps["redact"]): string | undefined {
  return name === undefined ? undefined : redact(name);
}

function failure(error: unknown, visibility: Visibility, { redact }: AnswerDeps): string {
  const what = "The language model could not be asked";
  return "all" in visibility && error instanceof CairnError ? `${what}: ${redact(error.message)}` : `${what}.`;
}
