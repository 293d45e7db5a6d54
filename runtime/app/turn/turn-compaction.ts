/**
 * A summary in place of the oldest exchanges of a conversation that does not fit into its model's window. What the background has
 * summarized already is taken as it is; else a model is asked, for the former summary with the exchanges that follow it.
 */

import type { Database } from "../../contracts/database.ts";
import type { TurnInfo } from "../../contracts/hooks.ts";
import type { Logger } from "../../contracts/ports.ts";
import type { TextModel } from "../../contracts/text-model.ts";
import { joined, joinedBudget, summaryBudget } from "../../domain/prompt-summary.ts";
import { demandable, roomFor } from "../../domain/summaries/batch.ts";
import type { Budget } from "../../domain/summaries/budgets.ts";
import { messageEntry, messageHeading, summaryEntry } from "../../domain/summaries/entries.ts";
import { identifiersIn } from "../../domain/summaries/identifiers.ts";
import { type CountTokens, fitText } from "../../domain/tokens.ts";
import { type CountedCall, countCall } from "../../domain/usage.ts";
import { callSummarizer } from "../compaction/call-summarizer.ts";
import {
  type BackgroundSummary,
  backgroundSummaries,
  countMessages,
  firstUncovered,
  type PromptSummary,
  pauseSummaries,
  type ReadRow,
  readPromptSummary,
  readRows,
  reportOnce,
  seqsOf,
  storePromptSummary,
} from "./prompt-summaries.ts";

export interface TurnCompactionDeps {
  readonly database: Database;
  readonly countTokens: CountTokens;
  /** Takes the service's own secrets out of what a model is shown. */
  readonly redact: (text: string) => string;
  /** `memory.summarizer`; null: the agent's own model is asked. */
  readonly summarizer: { readonly model: TextModel; readonly window: number } | null;
  /** What was said is to be in the memory before it leaves the prompt: has the background summarize it now. */
  readonly flush: (conversationId: string) => Promise<void>;
  /** The day that calls count for now, YYYY-MM-DD. */
  readonly today: () => string;
  readonly logger: Pick<Logger, "warn">;
  /** Milliseconds for one compaction; default 60,000. */
  readonly deadlineMs?: number;
}

export interface CompactionRequest {
  readonly turn: TurnInfo;
  /** Tokens of the prompt's messages. */
  readonly limit: number;
  /** Where the rest may begin, oldest first: the ids of the messages before. At the last one when a model is asked. */
  readonly throughIds: readonly string[];
  /** The agent's own; null where it has none. */
  readonly own: { readonly model: TextModel; readonly window: number } | null;
  readonly signal: AbortSignal;
  onAnswered(call: CountedCall): void;
}

export interface TurnCompaction {
  read(conversationId: string): Promise<PromptSummary>;
  /** The summary as it then is, which may cover less than was asked for: where no model can do it, or it fails. */
  compact(former: PromptSummary, request: CompactionRequest): Promise<PromptSummary>;
  flush(conversationId: string): Promise<void>;
  reportOnce(conversationId: string): Promise<boolean>;
}

const DEADLINE_MS = 60_000;
const PAUSE_MS = 15 * 60_000;
/** Questions to the model for one compaction; what is left then is left out. */
const MOST_PIECES = 6;
/** Of a question, what one entry may take. The messages themselves stay whole, and memory_search finds them. */
const ENTRY_SHARE = 0.4;
/** The same of the former summary, which may have been made for a larger window: what follows it must be read, too. */
const FORMER_SHARE = 0.6;
/** With less room for entries a model is not asked. */
const LEAST_ROOM = 500;
const SUMMARIZER = "memory.summarizer";

export function createTurnCompaction(deps: TurnCompactionDeps): TurnCompaction {
  const { database, logger } = deps;
  return {
    read: (conversationId) => readPromptSummary(database, conversationId),
    reportOnce: (conversationId) => reportOnce(database, conversationId),
    async flush(conversationId) {
      await deps.flush(conversationId).catch((err: unknown) => {
        logger.warn({ err, conversationId }, "the summaries of a long conversation wait for the next interval");
      });
    },
    async compact(former, request) {
      const { turn, signal } = request;
      const deadline = AbortSignal.timeout(deps.deadlineMs ?? DEADLINE_MS);
      try {
        return await new Compaction(deps, request, AbortSignal.any([signal, deadline])).run(former);
      } catch (err) {
        signal.throwIfAborted();
        const { conversationId } = turn;
        logger.warn({ err, conversationId }, "a long conversation could not be summarized for its prompt");
        await pauseSummaries(database, conversationId, PAUSE_MS);
        // Pieces that were done stay.
        return { ...(await readPromptSummary(database, conversationId)), paused: true };
      }
    },
  };
}

/** What one question may hold: a message, or a summary of the background in place of several. */
type Unit = { readonly firstSeq: number; readonly lastSeq: number; readonly opens: boolean } & (
  | { readonly row: ReadRow }
  | { readonly summary: BackgroundSummary }
);

class Compaction {
  readonly #deps: TurnCompactionDeps;
  readonly #request: CompactionRequest;
  readonly #signal: AbortSignal;
  /** The messages up to where it may reach, as they were found. */
  #found = { through: 0, messages: 0 };

  constructor(deps: TurnCompactionDeps, request: CompactionRequest, signal: AbortSignal) {
    this.#deps = deps;
    this.#request = request;
    this.#signal = signal;
  }

  async run(former: PromptSummary): Promise<PromptSummary> {
    const { database } = this.#deps;
    const { throughIds, turn } = this.#request;
    const seqs = await seqsOf(database, throughIds);
    const cuts = throughIds.flatMap((id) => seqs.get(id) ?? []).filter((seq) => seq > former.coveredSeq);
    const through = cuts.at(-1);
    if (through === undefined) return former;
    this.#found = { through, messages: await countMessages(database, turn.conversationId, through) };
    const taken = await this.#fromBackground(former, cuts, through);
    if (taken !== null) return taken;
    return former.paused ? former : this.#byModel(former, through);
  }

  /** Where the background's summaries reach far enough and are short enough; null where a model is needed. */
  async #fromBackground(
    former: PromptSummary,
    cuts: readonly number[],
    through: number,
  ): Promise<PromptSummary | null> {
    const { countTokens, database } = this.#deps;
    const { turn, limit } = this.#request;
    const range = { after: former.coveredSeq, through };
    const found = await backgroundSummaries(database, turn.conversationId, range);
    if (found.length === 0) return null;
    const leaves = found.flatMap((one) => one.leaves);
    const uncovered = await firstUncovered(database, turn.conversationId, { after: former.coveredSeq, leaves });
    for (const cut of cuts.toReversed()) {
      if (uncovered !== null && uncovered <= cut) continue;
      const within = found.filter(({ firstSeq }) => firstSeq <= cut);
      if (within.some(({ lastSeq }) => lastSeq > cut)) continue;
      const text = joined(former.text, within);
      if (countTokens(text) > joinedBudget(limit)) return null;
      return this.#store(former, { text, coveredSeq: cut, model: null });
    }
    return null;
  }

  async #byModel(former: PromptSummary, through: number): Promise<PromptSummary> {
    const { summarizer } = this.#deps;
    const { limit, own } = this.#request;
    const writer = summarizer === null ? own : { ...summarizer, model: this.#counted(summarizer.model) };
    if (writer === null) return former;
    const budget = summaryBudget(limit, writer.window);
    if (roomFor(budget) < LEAST_ROOM) return former;
    let current = former;
    for (let pieces = 0; pieces < MOST_PIECES && current.coveredSeq < through; pieces += 1) {
      const next = await this.#piece(current, through, budget, writer.model);
      // Another node was quicker, or messages were erased: what is stored now is what counts.
      if (next.coveredSeq <= current.coveredSeq) return next;
      current = next;
    }
    return current;
  }

  /** The former summary with as many of the further messages as one question holds. */
  async #piece(former: PromptSummary, through: number, budget: Budget, model: TextModel): Promise<PromptSummary> {
    const { countTokens: count, redact, logger } = this.#deps;
    const { conversationId, agent, channel, owner } = this.#request.turn;
    const room = roomFor(budget);
    const entries: string[] = [];
    const systems: string[] = [];
    let used = 0;
    let replaced = 0;
    let covered = former.coveredSeq;
    /** Where the last whole exchange ends: a prompt can begin behind it. */
    let whole = { seq: former.coveredSeq, entries: 0 };
    if (former.text !== "") {
      const text = fitText(former.text, Math.floor(room * FORMER_SHARE), count);
      entries.push(`[#1 summary that stood here until now]\n${text}`);
      used += count(text);
      replaced = count(former.text);
      whole = { ...whole, entries: 1 };
    }
    let cutShort = false;
    for await (const unit of this.#units(former.coveredSeq, through)) {
      if (unit.opens && covered > former.coveredSeq && covered < unit.firstSeq)
        whole = { seq: covered, entries: entries.length };
      const text = this.#entry(unit, entries.length + 1, Math.floor(room * ENTRY_SHARE));
      const cost = count(text) + 2;
      if (used + cost > room && whole.seq > former.coveredSeq) {
        cutShort = true;
        break;
      }
      // An exchange that is longer than a question: what is in its middle is left out of the summary, and stays in the memory.
      if (used + cost <= room) {
        entries.push(text);
        used += cost;
        replaced += cost;
        if (owner && "row" in unit && unit.row.role === "system") systems.push(text);
      }
      covered = Math.max(covered, unit.lastSeq);
    }
    const coveredSeq = cutShort ? whole.seq : through;
    const shown = cutShort ? entries.slice(0, whole.entries) : entries;
    const answer = Math.min(budget.answer, replaced);
    const remaining = identifiersIn(systems.filter((one) => shown.includes(one)).join("\n"));
    const text = await callSummarizer(
      {
        kind: "prompt",
        preamble: `Conversation: ${conversationId}\nAgent: ${agent}\nChannel: ${channel}\nWith: ${owner ? "the owner" : "a user who is not the owner"}`,
        identifiers: demandable(remaining, { ...budget, identifiers: Math.floor(answer / 2) }, count),
        budget: answer,
        entries: shown,
      },
      { redact, model, count, logger, signal: this.#signal },
    );
    return this.#store(former, { text, coveredSeq, model: model.model });
  }

  /** Messages, and summaries of the background in the places of those that they stand for, oldest first. */
  async *#units(after: number, through: number): AsyncGenerator<Unit> {
    const { database } = this.#deps;
    const { conversationId, owner } = this.#request.turn;
    const summaries = [...(await backgroundSummaries(database, conversationId, { after, through }))];
    const leaves = summaries.flatMap((one) => one.leaves);
    for (let from = after; ; ) {
      const page = await readRows(database, conversationId, { after: from, through, leaves });
      for (const row of page) {
        yield* takeBefore(summaries, row.seq);
        const opens = row.tool_name === null && (row.role === "user" || (row.role === "system" && !owner));
        yield { firstSeq: row.seq, lastSeq: row.seq, opens, row };
        from = row.seq;
      }
      if (page.length === 0) break;
    }
    yield* takeBefore(summaries, Number.POSITIVE_INFINITY);
  }

  #entry(unit: Unit, ordinal: number, most: number): string {
    if ("summary" in unit) return fitText(summaryEntry(unit.summary, ordinal), most, this.#deps.countTokens);
    // What another user's client brings along with the system's role is no word of the service.
    const row = { ...unit.row, role: unit.row.role === "system" && !this.#request.turn.owner ? "note" : unit.row.role };
    const entry = messageEntry(row, ordinal);
    const fitting = fitText(entry, most, this.#deps.countTokens);
    return fitting === "" ? messageHeading(row, ordinal) : fitting;
  }

  async #store(
    former: PromptSummary,
    summary: { readonly text: string; readonly coveredSeq: number; readonly model: string | null },
  ): Promise<PromptSummary> {
    const { database } = this.#deps;
    const { conversationId: id, sessionKey } = this.#request.turn;
    await storePromptSummary(database, { id, sessionKey }, { ...this.#found, coveredSeq: former.coveredSeq }, summary);
    return readPromptSummary(database, id);
  }

  /** Calls of `memory.summarizer` are the agent's. */
  #counted(model: TextModel): TextModel {
    const { onAnswered } = this.#request;
    const { today } = this.#deps;
    return {
      model: model.model,
      async complete(request) {
        const answer = await model.complete(request);
        const { inputTokens = 0, outputTokens = 0 } = answer;
        onAnswered(countCall(SUMMARIZER, model.model, { inputTokens, outputTokens }, today()));
        return answer;
      },
    };
  }
}

function* takeBefore(summaries: BackgroundSummary[], seq: number): Generator<Unit> {
  for (let first = summaries[0]; first !== undefined && first.firstSeq < seq; first = summaries[0]) {
    summaries.shift();
    yield { firstSeq: first.firstSeq, lastSeq: first.lastSeq, opens: first.opens, summary: first };
  }
}
