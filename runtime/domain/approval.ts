/** What the owner is shown of a call that waits for an approval, and what the approval is bound to. Pure. */

import { createHash } from "node:crypto";
import type { ToolCall } from "../contracts/message.ts";
import type { ApprovalRequest } from "../contracts/stream.ts";
import { canonicalJson } from "./dedupe.ts";
import { spelled, visibleText } from "./visible-text.ts";

export interface ApprovalSubject {
  readonly agent: string;
  /** Absolute path: the same command does something else in another directory. */
  readonly workspace: string;
  readonly call: Pick<ToolCall, "name" | "arguments">;
  /** What was matched, and why it is asked about. */
  readonly reason: string;
}

/** UTF-16 code units of a call as it is shown. A longer one is not asked about: a part of it would be hidden. */
export const LONGEST_CALL = 8_000;
const LONGEST_REASON = 1_000;

/** The request as it is stored and shown; null where the call is too long to be shown whole. `redact` takes secrets out of a text. */
export function approvalRequest(subject: ApprovalSubject, redact: (text: string) => string): ApprovalRequest | null {
  const { call, reason } = subject;
  const shown = shownArguments(call.arguments, redact);
  if (shown.length > LONGEST_CALL) return null;
  return {
    tool: call.name,
    call: shown,
    reason: visibleText(redact(reason)).replaceAll("\n", " ").slice(0, LONGEST_REASON).toWellFormed(),
    digest: digestOf(subject),
  };
}

/** Whether two calls are one and the same. */
export function callKey({ name, arguments: args }: ApprovalSubject["call"]): string {
  return canonicalJson([name, args]);
}

function digestOf({ agent, workspace, call, reason }: ApprovalSubject): string {
  return createHash("sha256")
    .update(canonicalJson([agent, workspace, callKey(call), reason]))
    .digest("hex");
}

/** The question in words, as Markdown: the call stands in a block of code that nothing in it ends. */
export function approvalText(agent: string, { tool, call, reason }: ApprovalRequest): string {
  const lines = call.split("\n").length;
  const extent = `${lines} ${lines === 1 ? "line" : "lines"}, ${call.length} characters`;
  return [
    `Approval needed: the agent ${inline(agent)} asks to call the tool ${inline(visibleText(tool))} (${extent}).`,
    `\`\`\`\n${call}\n\`\`\``,
    `Why you are asked: ${inline(reason)}`,
  ].join("\n\n");
}

/** Each argument with its name, in the order of the names; the lines of a longer text are marked, so that none passes for an argument. */
function shownArguments(args: Readonly<Record<string, unknown>>, redact: (text: string) => string): string {
  const names = Object.keys(args).sort();
  return names.length === 0
    ? "(no arguments)"
    : names.map((name) => shownArgument(name, args[name], redact)).join("\n");
}

function shownArgument(name: string, value: unknown, redact: (text: string) => string): string {
  const text = typeof value === "string" ? value : canonicalJson(value);
  const shown = unfenced(visibleText(redact(text)));
  const label = unfenced(visibleText(redact(name)).replaceAll("\n", "‹U+000A›"));
  return shown.includes("\n") ? `${label}:\n${shown.replaceAll(/^/gm, "| ")}` : `${label}: ${shown}`;
}

/** Three backticks would end the block of code. */
function unfenced(text: string): string {
  return text.replaceAll(/`{3,}/g, (run) => spelled("`").repeat(run.length));
}

function inline(text: string): string {
  return `\`${text.replaceAll("`", "'")}\``;
}
