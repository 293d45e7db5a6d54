/** Turns, steps and replies as they are stored, and as the code reads them. */

import type { ErrorBody } from "../../contracts/errors.ts";
import type { ToolCall, Usage } from "../../contracts/message.ts";
import type { ChatReply } from "../../contracts/provider.ts";
import type { ToolResult } from "../../contracts/tool.ts";
import { sanitizeJson } from "../../domain/cap.ts";
import type { AttachmentRef } from "../attachments.ts";

export interface ClaimedTurn {
  readonly turnId: string;
  readonly inboxId: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly checkpoints: number;
  /** /stop was asked for while no process ran it: it ends as it is. */
  readonly abortRequested: boolean;
  readonly agent: string;
  readonly sessionKey: string;
  readonly channel: string;
  readonly conversation: string;
  readonly user: string;
  readonly owner: boolean;
  readonly text: string;
  readonly attachments: readonly AttachmentRef[];
  readonly history: readonly { readonly role: "user" | "assistant" | "system"; readonly content: string }[];
  readonly conversationId: string | null;
  readonly sentAt: string | null;
}

export type StoredStep =
  | { readonly kind: "reply"; readonly n: number; readonly reply: StoredReply }
  | {
      readonly kind: "tool";
      readonly n: number;
      readonly call: ToolCall;
      readonly state: "intended" | "done" | "failed" | "unknown";
      readonly result: ToolResult | null;
    }
  | { readonly kind: "steer"; readonly n: number; readonly steerId: string; readonly text: string };

export type StoredReply = Pick<ChatReply, "text" | "toolCalls" | "usage" | "model" | "state">;

export interface Steer {
  readonly id: string;
  readonly text: string;
}

export interface TurnEnd {
  readonly state: "done" | "failed" | "aborted";
  readonly reply: string;
  readonly usage: Usage;
  readonly interrupted: boolean;
  readonly notice: string | null;
  readonly error: ErrorBody | null;
}

export interface FinishedTurn extends TurnEnd {
  readonly turnId: string;
  readonly agent: string;
  readonly conversation: string;
  readonly attempt: number;
}

/** The turn's row as seen from outside. */
export type TurnRow =
  | { readonly state: "queued" | "running"; readonly attempt: number; readonly user: string }
  | { readonly state: "ended"; readonly user: string; readonly turn: FinishedTurn };

export type Fence = Pick<ClaimedTurn, "turnId" | "epoch">;

/** What the outbox sends; `OutboundMessage` is made of it when it is sent. */
export interface OutboxPayload {
  readonly conversation: string;
  readonly user: string;
  readonly text: string;
  readonly notice: string | null;
  readonly attachments?: readonly AttachmentRef[];
}

export function outboxPayload(turn: ClaimedTurn, end: TurnEnd): OutboxPayload {
  const failure = end.error ? `${end.error.message} (${end.error.code})` : null;
  return { conversation: turn.conversation, user: turn.user, text: end.reply, notice: end.notice ?? failure };
}

export interface ClaimRow {
  id: string;
  inbox_id: string;
  epoch: number;
  attempt: number;
  checkpoints: number;
  abort_requested: boolean;
  agent: string;
  session_key: string;
  conversation_id: string | null;
  channel: string;
  conversation: string;
  user_id: string;
  owner: boolean;
  text: string;
  attachments: AttachmentRef[];
  history: ClaimedTurn["history"];
  sent_at: Date | null;
}

export function toClaimed(row: ClaimRow): ClaimedTurn {
  return {
    turnId: row.id,
    inboxId: row.inbox_id,
    epoch: Number(row.epoch),
    attempt: row.attempt,
    checkpoints: row.checkpoints,
    abortRequested: row.abort_requested,
    agent: row.agent,
    sessionKey: row.session_key,
    channel: row.channel,
    conversation: row.conversation,
    user: row.user_id,
    owner: row.owner,
    text: row.text,
    attachments: row.attachments,
    history: row.history,
    conversationId: row.conversation_id,
    sentAt: row.sent_at?.toISOString() ?? null,
  };
}

export interface StepRow {
  n: number;
  kind: StoredStep["kind"];
  state: "intended" | "done" | "failed" | "unknown";
  request: unknown;
  result: unknown;
}

/** The jsonb of a step is what this file wrote: its shape is known by its kind. */
export function toStep(row: StepRow): StoredStep {
  switch (row.kind) {
    case "reply":
      return { kind: "reply", n: row.n, reply: row.result as StoredReply };
    case "tool":
      return {
        kind: "tool",
        n: row.n,
        state: row.state,
        call: row.request as ToolCall,
        result: row.result as ToolResult | null,
      };
    case "steer": {
      const { steer_id, text } = row.request as { steer_id: string; text: string };
      return { kind: "steer", n: row.n, steerId: steer_id, text };
    }
  }
}

export interface EndRow {
  state: "queued" | "running" | TurnEnd["state"];
  attempt: number;
  reply: string | null;
  usage: Usage | null;
  interrupted: boolean;
  notice: string | null;
  error: ErrorBody | null;
  conversation: string;
  user_id: string;
}

/** What a model or a tool says may hold what PostgreSQL does not store: a turn must not fail to end because of it. */
export function toJson(value: unknown): string {
  return JSON.stringify(sanitizeJson(value));
}
