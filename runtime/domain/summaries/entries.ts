/** What a model is shown of a conversation: a preamble, and every entry under a heading of its own, whole. */

import { promptTag, promptText, withoutChatTokens } from "../prompt-data.ts";
import type { SummaryKind } from "./budgets.ts";

export interface ConversationHead {
  readonly id: string;
  readonly agent: string;
  readonly channel: string;
  readonly title: string | null;
}

export interface SourceMessage {
  readonly id: string;
  readonly agent: string;
  readonly role: string;
  readonly content: string;
  readonly tool_name: string | null;
  /** Parsed JSON. */
  readonly tool_args: unknown;
  readonly tool_result: string | null;
  /** Length of the result before the store cut it; null where it is whole. */
  readonly full_result_length: number | null;
  readonly created_at: Date;
}

export interface SourceSummary {
  readonly id: string;
  readonly kind: SummaryKind;
  readonly content: string;
  readonly message_count: number;
  readonly earliest_at: Date;
  readonly latest_at: Date;
}

/** ISO 8601, to the minute. */
export function minute(time: Date): string {
  return `${time.toISOString().slice(0, 16)}Z`;
}

/** `messages`: those that the entries represent. */
export function preamble(
  head: ConversationHead,
  span: { readonly earliest: Date; readonly latest: Date; readonly messages: number },
): string {
  return [
    `Conversation: ${head.id}`,
    `Agent: ${promptTag(head.agent)}`,
    `Channel: ${promptTag(head.channel)}`,
    `Title: ${head.title === null || head.title.trim() === "" ? "none" : oneLine(promptText(head.title))}`,
    `Time span: ${minute(span.earliest)} to ${minute(span.latest)}`,
    `Messages: ${span.messages}`,
  ].join("\n");
}

/** A message as it is summarized. Its `ordinal` is the one of its link to the summary. */
export function messageEntry(
  message: SourceMessage,
  ordinal: number,
  part?: { readonly n: number; readonly of: number },
): string {
  return `${messageHeading(message, ordinal, part)}\n${messageBody(message)}`;
}

export function messageHeading(
  { agent, role, created_at }: SourceMessage,
  ordinal: number,
  part?: { readonly n: number; readonly of: number },
): string {
  const of = part === undefined ? "" : ` part ${part.n} of ${part.of}`;
  return `[#${ordinal} ${minute(created_at)} ${promptTag(agent)}/${role}${of}]`;
}

/** The message's whole content: its text, and a tool call with its arguments and its result. */
export function messageBody(message: SourceMessage): string {
  const { content, tool_name: tool, tool_args: args, tool_result: result, full_result_length: full } = message;
  const parts: string[] = [];
  if (content !== "") parts.push(content);
  if (tool !== null) parts.push(`Tool call: ${tool}`);
  if (args !== null && args !== undefined) parts.push(`Arguments: ${JSON.stringify(args)}`);
  if (result !== null) {
    const cut =
      full !== null && full > result.length ? ` (the first ${result.length} of ${full} characters were kept)` : "";
    parts.push(`Result${cut}: ${result}`);
  }
  return withoutHeadings(parts.join("\n"));
}

/** A summary as it is summarized further. */
export function summaryEntry(summary: SourceSummary, ordinal: number): string {
  const { kind, earliest_at: from, latest_at: to, message_count: messages } = summary;
  const heading = `[#${ordinal} ${minute(from)} to ${minute(to)} summary/${kind}, ${messages} messages]`;
  return `${heading}\n${withoutHeadings(summary.content)}`;
}

/** A line of a text that looks like a heading of the prompt, or of an entry, is moved by a space: it begins none. */
function withoutHeadings(text: string): string {
  return withoutChatTokens(text).replaceAll(OWN_LINE, " $&");
}

const OWN_LINE =
  /^(?=\[#|Entries:|Identifiers from system messages|An earlier answer was not accepted:|Write the whole summary anew)/gm;

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
