/**
 * The messages of a turn within its model's window. Where they do not fit, a summary takes the place of the oldest exchanges; it is
 * the conversation's, and serves until it does not suffice any more. Without one the oldest are left out.
 */

import type { TurnInfo } from "../../contracts/hooks.ts";
import type { Message } from "../../contracts/message.ts";
import type { TextModel } from "../../contracts/text-model.ts";
import { bytesOf, fitHistory, tokensWithin } from "../../domain/history.ts";
import { cutsOf, summaryMessage } from "../../domain/prompt-summary.ts";
import { type CountTokens, fitText } from "../../domain/tokens.ts";
import type { CountedCall } from "../../domain/usage.ts";
import type { HookPipeline } from "../hooks.ts";
import type { PromptSummary } from "./prompt-summaries.ts";
import type { Weight } from "./tool-weights.ts";
import type { TurnCompaction } from "./turn-compaction.ts";

export interface PromptWindowDeps {
  readonly compaction: TurnCompaction;
  readonly hooks: HookPipeline;
  readonly countTokens: CountTokens;
}

export interface WindowedTurn {
  readonly turn: TurnInfo;
  /** By each message that begins an exchange, the id of the row before. */
  readonly ends: ReadonlyMap<Message, string>;
  /** Whether the messages are all of the conversation, as far as the window is concerned. */
  readonly isWhole: boolean;
  /** Tokens for messages beside so many of the prompt's other parts. */
  room(promptTokens: number): number;
  /** Those other parts. */
  readonly texts: readonly string[];
  readonly tools: Weight;
  /** The agent's own model. */
  own(): { readonly model: TextModel; readonly window: number } | null;
  /** Read when it is needed first: most conversations never are too long. */
  readonly summary: { current: PromptSummary | null };
  onAnswered(call: CountedCall): void;
  readonly signal: AbortSignal;
}

/** Of messages that do not fit: counting all of them would hold up the process. */
const BYTES_PER_TOKEN = 4;
/** Of what a model has refused as too long, what it is shown then: it counts otherwise than we do, or its window is smaller than configured. */
const SHORTER = 0.5;
/** Of the room for messages, what a summary is shortened to where what follows it does not fit beside it. */
const MOST_OF_SUMMARY = 0.5;

export class PromptWindow {
  readonly #deps: PromptWindowDeps;
  readonly #given: WindowedTurn;
  /** In this turn no further summary could be had. */
  #failed = false;
  /** Messages left out when the hooks ran last: the same cut is made again before every reply of the turn. */
  #reported: number | null = null;
  /** The hooks have been told of a compaction that has not happened yet. */
  #announced = false;
  #leftOut = false;
  /** Tokens, once the model has refused more. */
  #most = Number.POSITIVE_INFINITY;

  constructor(deps: PromptWindowDeps, given: WindowedTurn) {
    this.#deps = deps;
    this.#given = given;
  }

  /** Whether messages were left out without a summary. */
  get leftOut(): boolean {
    return this.#leftOut;
  }

  /** For a model that has refused what `fit` gave as too long: less, once in a turn. Null where nothing can be left out. */
  async shorten(messages: readonly Message[], refused: readonly Message[]): Promise<readonly Message[] | null> {
    if (this.#most !== Number.POSITIVE_INFINITY) return null;
    this.#most = Math.floor((bytesOf(refused) / BYTES_PER_TOKEN) * SHORTER);
    const shorter = await this.fit(messages);
    return bytesOf(shorter) < bytesOf(refused) ? shorter : null;
  }

  async fit(messages: readonly Message[]): Promise<readonly Message[]> {
    const { texts, tools, isWhole, turn, summary } = this.#given;
    const { countTokens, compaction } = this.#deps;
    // A token is at least one byte: most conversations fit by that bound, and nothing need be counted.
    if (isWhole && bytesOf(messages) <= this.#room(sum(texts, Buffer.byteLength) + tools.bytes)) return messages;
    const limit = this.#room(sum(texts, countTokens) + tools.tokens());
    if (isWhole && tokensWithin(messages, limit, countTokens) !== null) return messages;

    summary.current ??= await compaction.read(turn.conversationId);
    let view = this.#view(messages, summary.current);
    if (this.#fits(view, limit)) return view.all;
    if (!this.#failed) {
      const { coveredSeq } = summary.current;
      summary.current = await this.#compact(summary.current, messages, view, limit);
      this.#failed = summary.current.coveredSeq === coveredSeq;
      view = this.#view(messages, summary.current);
      if (!this.#failed) await this.#report("after", messages, view, limit);
      if (this.#fits(view, limit)) return view.all;
    }
    return this.#leaveOut(messages, summary.current.text, view.rest, limit);
  }

  #room(promptTokens: number): number {
    return Math.min(this.#given.room(promptTokens), this.#most);
  }

  /** The summary, and the messages that it does not cover. */
  #view(messages: readonly Message[], { text, throughId }: PromptSummary): View {
    const { ends, isWhole } = this.#given;
    const from = throughId === null ? -1 : messages.findIndex((message) => ends.get(message) === throughId);
    const head = text === "" ? [] : [summaryMessage(text)];
    const rest = from > 0 ? messages.slice(from) : messages;
    return { head, rest, all: [...head, ...rest], reaches: from > 0 || (isWhole && throughId === null) };
  }

  #fits({ all, reaches }: View, limit: number): boolean {
    return reaches && tokensWithin(all, limit, this.#deps.countTokens) !== null;
  }

  async #compact(
    former: PromptSummary,
    messages: readonly Message[],
    view: View,
    limit: number,
  ): Promise<PromptSummary> {
    const { compaction, countTokens } = this.#deps;
    const { turn, ends, signal, onAnswered, own } = this.#given;
    const { rest } = view;
    // Of many short messages not all were read: half of those that were are to suffice.
    const room = view.reaches ? limit : (tokensWithin(rest, limit, countTokens) ?? limit);
    const cuts = cutsOf(rest, room, countTokens);
    if (cuts === null) return former;
    const throughIds = cuts.flatMap((index) => {
      const first = rest[index];
      return (first && ends.get(first)) ?? [];
    });
    await this.#report("before", messages, view, limit);
    if (!former.paused) await compaction.flush(turn.conversationId);
    return compaction.compact(former, { turn, limit, throughIds, own: own(), signal, onAnswered });
  }

  async #leaveOut(
    messages: readonly Message[],
    summary: string,
    rest: readonly Message[],
    limit: number,
  ): Promise<readonly Message[]> {
    const { countTokens } = this.#deps;
    // One that was made for a larger window may leave nothing of this one.
    const text = fitText(summary, Math.max(0, Math.floor(limit * MOST_OF_SUMMARY)), countTokens);
    const head = text === "" ? [] : [summaryMessage(text)];
    const used = tokensWithin(head, limit, countTokens) ?? limit;
    const fitted = fitHistory(rest, Math.max(1, limit - used), countTokens);
    const all = [...head, ...fitted.messages];
    if (fitted.dropped === 0 && (text !== "" || summary === "")) return all;
    this.#leftOut = true;
    const view = { head, rest: fitted.messages, all, reaches: true };
    if (messages.length - fitted.messages.length !== this.#reported) {
      await this.#report("before", messages, { ...view, rest }, limit);
      await this.#report("after", messages, view, limit);
    }
    return all;
  }

  /** The hooks, each once for a compaction: what was announced is not announced again before it has happened. */
  async #report(when: "before" | "after", messages: readonly Message[], view: View, limit: number): Promise<void> {
    const { hooks, countTokens } = this.#deps;
    const { turn, signal } = this.#given;
    if (when === "before") {
      if (this.#announced) return;
      this.#announced = true;
      const tokens = Math.ceil(bytesOf(view.all) / BYTES_PER_TOKEN);
      await hooks.run("compact:before", { ...turn, messages, tokens, limit }, signal);
      return;
    }
    this.#announced = false;
    this.#reported = messages.length - view.rest.length;
    const tokens = tokensWithin(view.all, limit, countTokens) ?? Math.ceil(bytesOf(view.all) / BYTES_PER_TOKEN);
    const summary = this.#given.summary.current?.text || null;
    await hooks.run("compact:after", { ...turn, dropped: this.#reported, tokens, summary }, signal);
  }
}

interface View {
  readonly head: readonly Message[];
  readonly rest: readonly Message[];
  readonly all: readonly Message[];
  /** Whether the summary and the rest are all of the conversation. */
  readonly reaches: boolean;
}

function sum(texts: readonly string[], weigh: (text: string) => number): number {
  return texts.reduce((total, text) => total + weigh(text), 0);
}
