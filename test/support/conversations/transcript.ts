/** The transcript of a conversation as the node gives it out, and what a chat may show of it. */

import type { NodeProcess } from "../node-process.ts";
import type { Shown } from "./chat-side.ts";
import type { Exchange } from "./exchanges.ts";

export interface StoredTurn {
  readonly said: string;
  readonly files: number;
  readonly replies: readonly string[];
}

interface Row {
  readonly role: string;
  readonly content: string;
  readonly tool_name: string | null;
  readonly channel: string;
  readonly metadata: { readonly turn_id?: string; readonly attachments?: readonly unknown[] } | null;
}

/** Turns of a channel, in the order of the export. */
export async function storedTurns(node: NodeProcess, channel: string): Promise<readonly StoredTurn[]> {
  const response = await node.request("/api/admin/memory/export");
  const rows = (await response.text())
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Row)
    .filter((row) => row.channel === channel && row.tool_name === null);
  const turns = Map.groupBy(rows, ({ metadata }) => metadata?.turn_id ?? "");
  return [...turns.values()].map((of) => {
    const own = of.filter(({ role }) => role === "user");
    if (own.length !== 1) throw new Error(`a turn has ${own.length} messages of the person`);
    const [{ content, metadata } = { content: "", metadata: null }] = own;
    const replies = of.filter(({ role }) => role === "assistant").map((row) => row.content);
    return { said: content, files: metadata?.attachments?.length ?? 0, replies };
  });
}

/** What may stand beside a reply. */
const NOTICES = [
  /^This turn was interrupted and has been resumed\.$/,
  /^Stopped\.$/,
  /^Provider "model"[^\n]*\(PROVIDER_[A-Z_]+\)$/,
  /^Which one\?(\n\nAnswer with\n\/answer red\n\/answer blue)?$/,
  /^(Choose an answer, or write !answer TEXT\.|Answer: red)$/,
];
const MAY_REPEAT = "(This may have reached you before.)";

/** What is wrong between what a chat shows, the transcript and what was said; empty: each message is there once, in its order. */
export function problemsOf(
  shown: readonly Shown[],
  turns: readonly StoredTurn[],
  exchanges: readonly Exchange[],
): readonly string[] {
  const problems: string[] = [];
  const said = shown.filter(({ by, isCommand }) => by === "person" && !isCommand).map(({ text }) => text);
  const texts = exchanges.map((one) => one.said);
  if (!isSame(said, texts)) problems.push("the chat does not show what was said");
  if (
    !isSame(
      turns.map((turn) => turn.said),
      texts,
    )
  ) {
    problems.push(`stored: ${JSON.stringify(turns.map((turn) => turn.said.slice(0, 40)))}`);
  }
  const messages = shown.filter(({ by, isCommand }) => by === "agent" && !isCommand).map(({ text }) => text);
  for (const [index, turn] of turns.entries()) {
    const problem = problemOf(turn, messages);
    if (problem !== null) {
      problems.push(`${exchanges[index]?.said.slice(0, 20)}: ${problem}`);
      break;
    }
  }
  if (problems.length === 0 && messages.length > 0)
    problems.push(`shown and not stored: ${messages.join(" | ").slice(0, 400)}`);
  return problems;
}

/** Takes away from the messages those that show this turn. */
function problemOf({ replies }: StoredTurn, messages: string[]): string | null {
  const reply = replies.filter((text) => text !== "").join("\n\n");
  const others = reply === "" ? messages.shift() : take(reply, messages);
  if (others === undefined) return "there is no answer";
  if (others === "" || isNotice(others)) return null;
  return `beside the reply is shown: ${others.slice(0, 200)}`;
}

/** What stands in the last message behind the text. Added lines of code blocks are none of the text, and nor is white space at a cut. */
function take(text: string, messages: string[]): string {
  for (let rest = text.trim(); ; ) {
    const message = messages.shift();
    if (message === undefined) return `nothing, where the text goes on: ${rest.slice(0, 80)}`;
    const begun = withoutFences(message).find((one) => rest.startsWith(one) || one.startsWith(rest));
    // A question, which comes before the reply.
    if (begun === undefined && isNotice(message)) continue;
    if (begun === undefined) return `${message.slice(0, 80)} ... where the text goes on: ${rest.slice(0, 80)}`;
    if (begun.length >= rest.length) return begun.slice(rest.length).trim();
    rest = rest.slice(begun.length).trimStart();
  }
}

/** A message without the lines that close and open a code block at a cut, with what there may be of them first. */
function withoutFences(message: string): readonly string[] {
  const fence = /^\s*(`{3,}|~{3,})[^\n]*\n/;
  const end = /\n?(`{3,}|~{3,})$/;
  const [open, closed] = [message.replace(fence, ""), message.replace(end, "")];
  return [message, closed, open, open.replace(end, "")].map((one) => one.trim());
}

function isNotice(text: string): boolean {
  const said = text.replace(MAY_REPEAT, "").trim();
  return said === "" || NOTICES.some((notice) => notice.test(said));
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}
