/** Transcript rows as the provider's message array, and the fitting of that array into a model's window. */

import { createHash } from "node:crypto";
import type { HistoryEntry } from "../contracts/memory.ts";
import { type Message, type ToolCall, textOf } from "../contracts/message.ts";

/**
 * Oldest first. The rows of one reply (its text and its tool calls, which carry `turn_id` and `step` in their metadata)
 * become one assistant message followed by the results; rows that others captured without call ids become plain text.
 */
export function toMessages(entries: readonly HistoryEntry[]): Message[] {
  const messages: Message[] = [];
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index];
    if (!entry) continue;
    if (entry.role === "assistant" && stepOf(entry) !== null) {
      const rows = rowsOfStep(entries, index);
      messages.push(...replyMessages(rows));
      index += rows.length - 1;
    } else if (entry.tool_name !== null || entry.role === "tool") {
      messages.push({ role: "system", content: foreignToolText(entry) });
    } else if (entry.content !== "") {
      messages.push({ role: entry.role, content: entry.content });
    }
  }
  return messages;
}

/** Rows from one user's message to the next, as messages. */
export interface Exchange {
  /** Of the rows, the last one's id. */
  readonly lastId: string;
  readonly messages: readonly Message[];
}

/** Their messages are those of all rows together. What comes before the first user's message is an exchange too. */
export function exchangesOf(entries: readonly HistoryEntry[]): Exchange[] {
  const groups: HistoryEntry[][] = [];
  for (const entry of entries) {
    const group = groups.at(-1);
    if (group === undefined || (entry.role === "user" && entry.tool_name === null)) groups.push([entry]);
    else group.push(entry);
  }
  return groups.flatMap((group) => {
    const last = group.at(-1);
    return last === undefined ? [] : [{ lastId: last.id, messages: toMessages(group) }];
  });
}

export interface FittedHistory {
  readonly messages: readonly Message[];
  /** Messages left out, all of them older than those kept. */
  readonly dropped: number;
  /** Tokens of the kept messages; an upper bound where counting was not needed, an estimate of very long texts. */
  readonly tokens: number;
}

/** Of the limit, what is kept at least where exchanges are dropped; a lower share keeps the head the same for longer. */
const LEAST_KEPT = 0.5;
/** Tokens of a message in addition to its text. */
const MESSAGE_TOKENS = 8;
/**
 * Tokens of an image, whose size in pixels nobody here knows: what Claude reads of a large one (its documentation: more than about
 * 1,600 are scaled down). OpenAI's and Gemini's models count fewer, 1,445 and 1,120 at most in their usual settings.
 */
const IMAGE_TOKENS = 1_600;

/** An upper bound of the tokens of messages: a token is at least one byte. */
export function bytesOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + weightOf(message, Buffer.byteLength), 0);
}

/** Longer texts are estimated: the tokenizer blocks the process for seconds over a megabyte of random letters. */
const LONGEST_COUNTED = 32_768;
/** Of an estimated text. Prose has four or more; random letters, which are no words of the tokenizer, about two. */
const BYTES_PER_TOKEN = 2;

/**
 * The newest messages that fit into `limit` tokens. Cuts only before a user message, never between a tool call and its
 * result; the newest exchange is always kept, with its oldest tool results shortened when it alone is too long. Drops more than it
 * must, so that the head stays the same for many turns and prompt caches hold. Counts from the newest message to the first
 * that does not fit, so that what is dropped costs nothing.
 */
export function fitHistory(
  messages: readonly Message[],
  limit: number,
  countTokens: (text: string) => number,
): FittedHistory {
  // A token is at least one byte of text: what is short in bytes need not be counted.
  const bytes = bytesOf(messages);
  if (bytes <= limit) return { messages, dropped: 0, tokens: bytes };

  const weigh = weighing(countTokens);
  const starts = startsOf(messages);
  const last = starts.at(-1) ?? 0;
  const tokensFrom = tokensFromEach(messages, (tokens, index) => tokens <= limit || index > last, weigh);
  const fits = (index: number) => (tokensFrom.get(index) ?? Number.POSITIVE_INFINITY) <= limit;
  const all = tokensFrom.get(0);
  if (all !== undefined && all <= limit) return { messages, dropped: 0, tokens: all };

  const from =
    steadiest(starts.filter(fits), messages, (start) => (tokensFrom.get(start) ?? 0) >= limit * LEAST_KEPT) ?? last;
  const kept = messages.slice(from);
  const tokens = tokensFrom.get(from) ?? 0;
  if (tokens <= limit) return { messages: kept, dropped: from, tokens };
  return { ...shortenResults(kept, tokens - limit, weigh), dropped: from };
}

/** Tokens of messages that fit into the limit, an upper bound where counting was not needed; null where they do not. */
export function tokensWithin(
  messages: readonly Message[],
  limit: number,
  countTokens: (text: string) => number,
): number | null {
  const bytes = bytesOf(messages);
  if (bytes <= limit) return bytes;
  const tokens = tokensFromEach(messages, (sum) => sum <= limit, weighing(countTokens)).get(0);
  return tokens !== undefined && tokens <= limit ? tokens : null;
}

/** Where messages may be cut: before each user's message but the first. */
export function startsOf(messages: readonly Message[]): readonly number[] {
  return messages.flatMap((message, index) =>
    message.role === "user" && message.aside !== true && index > 0 ? [index] : [],
  );
}

/** The tokens of a text, an estimate where it is very long. */
export function weighing(countTokens: (text: string) => number): (text: string) => number {
  return (text) =>
    text.length > LONGEST_COUNTED ? Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN) : countTokens(text);
}

/**
 * Where to cut: of the places that keep enough the one whose message has the least hash. It stays that one until it no longer fits
 * or a lesser one comes in, whichever rows were read: their positions change with every turn, the texts do not.
 */
function steadiest(
  starts: readonly number[],
  messages: readonly Message[],
  keepsEnough: (start: number) => boolean,
): number | undefined {
  const hashOf = (start: number) => {
    const { content } = messages[start] ?? { content: "" };
    return createHash("sha256").update(textOf(content)).digest("hex");
  };
  const [first, ...others] = starts.filter(keepsEnough).map((start) => ({ start, hash: hashOf(start) }));
  if (!first) return starts[0];
  return others.reduce((least, one) => (one.hash < least.hash ? one : least), first).start;
}

/** For each index the tokens of the messages from there on; from the newest to the first for which `goesOn` is false. */
export function tokensFromEach(
  messages: readonly Message[],
  goesOn: (tokens: number, index: number) => boolean,
  weigh: (text: string) => number,
): ReadonlyMap<number, number> {
  const sums = new Map<number, number>();
  let tokens = 0;
  for (const [index, message] of [...messages.entries()].reverse()) {
    tokens += weightOf(message, weigh);
    sums.set(index, tokens);
    if (!goesOn(tokens, index)) break;
  }
  return sums;
}

const SHORTENED = "[an earlier result, left out to make room; memory_search finds it]";

function shortenResults(
  messages: readonly Message[],
  excess: number,
  weigh: (text: string) => number,
): { messages: Message[]; tokens: number } {
  let saved = 0;
  const shortened = messages.map((message, index) => {
    // The results that the model is about to read stay whole.
    const isOld = messages.slice(index + 1).some((later) => later.role === "assistant");
    if (saved >= excess || message.role !== "tool" || !isOld) return message;
    const short = { ...message, content: SHORTENED };
    const gain = weightOf(message, weigh) - weightOf(short, weigh);
    if (gain <= 0) return message;
    saved += gain;
    return short;
  });
  return {
    messages: shortened,
    tokens: shortened.reduce((sum, message) => sum + weightOf(message, weigh), 0),
  };
}

function weightOf(message: Message, weigh: (text: string) => number): number {
  const { content } = message;
  const images = typeof content === "string" ? 0 : content.filter(({ type }) => type === "image").length;
  return weigh(weightText(message)) + MESSAGE_TOKENS + images * IMAGE_TOKENS;
}

function weightText(message: Message): string {
  return message.toolCalls ? textOf(message.content) + JSON.stringify(message.toolCalls) : textOf(message.content);
}

function replyMessages(rows: readonly HistoryEntry[]): Message[] {
  const text = rows
    .filter((row) => row.tool_name === null)
    .map((row) => row.content)
    .join("");
  const calls = rows.filter((row) => row.tool_name !== null).sort((a, b) => positionOf(a) - positionOf(b));
  if (calls.length === 0) return text === "" ? [] : [{ role: "assistant", content: text }];
  const toolCalls = calls.map(toCall);
  const results = calls.map(
    (row, index): Message => ({
      role: "tool",
      content: row.tool_result ?? "",
      toolCallId: toolCalls[index]?.id ?? row.id,
      ...(row.metadata.is_error === true ? { isError: true } : {}),
    }),
  );
  return [{ role: "assistant", content: text, toolCalls }, ...results];
}

function positionOf(row: HistoryEntry): number {
  return typeof row.metadata.position === "number" ? row.metadata.position : 0;
}

function toCall(row: HistoryEntry): ToolCall {
  const id = row.metadata.tool_call_id;
  const args = row.tool_args;
  return {
    id: typeof id === "string" ? id : row.id,
    name: row.tool_name ?? "unknown",
    // Arguments are an object by the tool contract; anything else was captured elsewhere.
    arguments:
      typeof args === "object" && args !== null && !Array.isArray(args) ? (args as Record<string, unknown>) : {},
  };
}

function rowsOfStep(entries: readonly HistoryEntry[], from: number): HistoryEntry[] {
  const first = entries[from];
  const rows: HistoryEntry[] = [];
  for (let index = from; index < entries.length; index++) {
    const row = entries[index];
    if (!row || !first || row.role !== "assistant" || stepOf(row) !== stepOf(first)) break;
    rows.push(row);
  }
  return rows;
}

function stepOf(entry: HistoryEntry): string | null {
  const { turn_id, step } = entry.metadata;
  return typeof turn_id === "string" && typeof step === "number" ? `${turn_id}/${step}` : null;
}

function foreignToolText(entry: HistoryEntry): string {
  const name = entry.tool_name ?? "tool";
  const parts = [
    entry.content,
    entry.tool_args == null ? "" : JSON.stringify(entry.tool_args),
    entry.tool_result ?? "",
  ];
  return `[${name}] ${parts.filter((part) => part !== "").join(" -> ")}`;
}
