import { setImmediate as breathe } from "node:timers/promises";
import type { Queryable } from "../../contracts/database.ts";
import { type Batch, createBatch, demandable, roomFor } from "../../domain/summaries/batch.ts";
import { type Budget, budgetOf, type SummaryKind } from "../../domain/summaries/budgets.ts";
import {
  messageEntry,
  preamble,
  type SourceMessage,
  type SourceSummary,
  summaryEntry,
} from "../../domain/summaries/entries.ts";
import { identifiersIn, missingFrom } from "../../domain/summaries/identifiers.ts";
import { partBudget, partEntries, partsOf, stitched } from "../../domain/summaries/parts.ts";
import { BRANCH_LEAVES, ROOT_BRANCHES } from "../../domain/summaries/steps.ts";
import type { CountTokens } from "../../domain/tokens.ts";
import { callSummarizer, type SummarizerCall } from "./call-summarizer.ts";
import { type Conversation, type ReadMessage, readMessages, readSummaries, readSystemMessages } from "./sources.ts";
import type { NewSummary } from "./store.ts";

/** From what is stored to the text of one summary of a conversation; no connection is held while the model writes. */

export interface SummarizeDeps extends SummarizerCall {
  readonly database: Queryable;
  /** Of the model, in tokens. */
  readonly window: number;
}

export type Draft = Omit<NewSummary, "id" | "model">;

/** Null when what was to be summarized is not there any more. */
export async function draftSummary(
  kind: SummaryKind,
  conversation: Conversation,
  deps: SummarizeDeps,
): Promise<Draft | null> {
  return kind === "leaf" ? draftLeaf(conversation, deps) : draftAbove(kind, conversation, deps);
}

async function draftLeaf(conversation: Conversation, deps: SummarizeDeps): Promise<Draft | null> {
  const budget = budgetOf("leaf", deps.window);
  const batch = await readBatch(conversation, budget, deps);
  const { messages } = batch;
  const last = messages.at(-1);
  if (last === undefined) return null;
  const times = messages.map(({ created_at }) => created_at.getTime());
  const earliest = new Date(times.reduce((a, b) => Math.min(a, b)));
  const latest = new Date(times.reduce((a, b) => Math.max(a, b)));
  const head = preamble(conversation, { earliest, latest, messages: messages.length });
  const identifiers = demandable(batch.identifiers, budget, deps.count);
  const question = { kind: "leaf", preamble: head, identifiers, budget: budget.answer } as const;
  const content = batch.oversized
    ? await summarizeInParts(last, question, budget, deps)
    : await callSummarizer(
        { ...question, entries: messages.map((message, index) => messageEntry(message, index + 1)) },
        deps,
      );
  return {
    kind: "leaf",
    content,
    messageCount: messages.length,
    earliest,
    latest,
    messages: { ids: messages.map(({ id }) => id), lastSeq: last.seq },
  };
}

interface ReadBatch extends Batch {
  readonly messages: readonly ReadMessage[];
}

async function readBatch(conversation: Conversation, budget: Budget, deps: SummarizeDeps): Promise<ReadBatch> {
  const pause = breather(deps.signal);
  const builder = createBatch(budget, deps.count);
  const taken: ReadMessage[] = [];
  for (let after = conversation.summarizedSeq; ; ) {
    const page = await readMessages(deps.database, conversation.id, after);
    for (const message of page) {
      await pause();
      if (!builder.take(message)) return { ...builder.batch(), messages: taken };
      taken.push(message);
      after = message.seq;
    }
    if (page.length === 0) return { ...builder.batch(), messages: taken };
  }
}

/** One message that no question holds: each part has a summary, all of them together are the message's. */
async function summarizeInParts(
  message: SourceMessage,
  question: Omit<Parameters<typeof callSummarizer>[0], "entries">,
  budget: Budget,
  deps: SummarizeDeps,
): Promise<string> {
  const { count, signal } = deps;
  const pause = breather(signal);
  const texts: string[] = [];
  for (const text of partsOf(message, roomFor(budget), count)) {
    texts.push(text);
    await pause();
  }
  if (texts.length === 0) texts.push("(nothing but white space)");
  const entries = partEntries(message, texts);
  const each = partBudget(budget.answer, entries.length);
  const summaries: string[] = [];
  for (const [index, entry] of entries.entries()) {
    const inPart = identifiersIn(texts[index] ?? "").filter((one) => question.identifiers.includes(one));
    const identifiers = demandable(inPart, { ...budget, identifiers: Math.floor(each / 2) }, count);
    summaries.push(await callSummarizer({ ...question, entries: [entry], identifiers, budget: each }, deps));
  }
  const whole = stitched(summaries);
  if (count(whole) <= budget.answer && missingFrom(whole, question.identifiers).length === 0) return whole;
  return callSummarizer({ ...question, entries: partEntries(message, summaries) }, deps);
}

async function draftAbove(
  kind: "branch" | "root",
  conversation: Conversation,
  deps: SummarizeDeps,
): Promise<Draft | null> {
  const below = kind === "branch" ? "leaf" : "branch";
  const { most } = kind === "branch" ? BRANCH_LEAVES : ROOT_BRANCHES;
  const budget = budgetOf(kind, deps.window);
  const found = await readSummaries(deps.database, conversation.id, below, most);
  const sources = fitting(found, roomFor(budget), deps.count);
  const [first] = sources;
  // One summary is no smaller for being summarized.
  if (first === undefined || sources.length < 2) return null;
  const earliest = sources.reduce((time, one) => (one.earliest_at < time ? one.earliest_at : time), first.earliest_at);
  const latest = sources.reduce((time, one) => (one.latest_at > time ? one.latest_at : time), first.latest_at);
  const messageCount = sources.reduce((sum, one) => sum + one.message_count, 0);
  const absorbed = sources.map(({ id }) => id);
  const system = await readSystemMessages(deps.database, absorbed);
  const shown = sources.map(({ content }) => content).join("\n");
  // Of those in system messages only what the summaries below still contain: nothing else was shown to the model.
  const all = identifiersIn(system.join("\n"));
  const omitted = new Set(missingFrom(shown, all));
  const remaining = all.filter((one) => !omitted.has(one));
  const content = await callSummarizer(
    {
      kind,
      preamble: preamble(conversation, { earliest, latest, messages: messageCount }),
      entries: sources.map((source, index) => summaryEntry(source, index + 1)),
      identifiers: demandable(remaining, budget, deps.count),
      budget: budget.answer,
    },
    deps,
  );
  return { kind, content, messageCount, earliest, latest, absorbed };
}

/** The longest list of first summaries that one question holds. */
function fitting(sources: readonly SourceSummary[], room: number, count: CountTokens): readonly SourceSummary[] {
  let used = 0;
  return sources.filter((source) => {
    used += count(source.content) + 50;
    return used <= room;
  });
}

/** Counting many tokens holds up everybody else in the process: lets them in every few milliseconds. */
function breather(signal: AbortSignal): () => Promise<void> {
  let since = performance.now();
  return async () => {
    signal.throwIfAborted();
    if (performance.now() - since < BREATH_MS) return;
    await breathe();
    since = performance.now();
  };
}

const BREATH_MS = 4;
