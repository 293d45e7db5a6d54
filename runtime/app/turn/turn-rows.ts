/** Turns, steps and replies as they are stored, and as the code reads them. */

import type { WaitingTurn } from "../../contracts/delegation.ts";
import type { ErrorBody } from "../../contracts/errors.ts";
import type { ApprovalOutcome } from "../../contracts/hooks.ts";
import type { ToolCall, Usage } from "../../contracts/message.ts";
import type { ChatReply } from "../../contracts/provider.ts";
import type { ApprovalRequest, SentAttachment } from "../../contracts/stream.ts";
import type { Answer, ToolResult } from "../../contracts/tool.ts";
import { sanitize, sanitizeJson } from "../../domain/cap.ts";
import type { TaskOutcome } from "../../domain/delegation.ts";
import { beginningNote, beginningOf } from "../../domain/reply-beginning.ts";
import type { TaskLimits } from "../../domain/task-allowance.ts";
import type { AttachmentRef } from "../attachments/refs.ts";
import { scheduleOf } from "../schedules/schedule.ts";

export interface ClaimedTurn {
  readonly turnId: string;
  readonly inboxId: string;
  readonly epoch: number;
  readonly attempt: number;
  /** Attempts that ended with the process alive: by a shutdown, or because their lease expired. */
  readonly checkpoints: number;
  /** Attempts that ended in a question. */
  readonly waits: number;
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
  /** Name of the schedule that has sent the message; null: somebody else has. */
  readonly schedule: string | null;
  /** The turns of other nodes that wait for it, the nearest first; null: its message is no task of another node. */
  readonly chain: readonly WaitingTurn[] | null;
  /** Of its reply; null: nothing has been shown of it. */
  readonly draft: Draft | null;
}

/** What is shown of a reply before it is whole. */
export interface Draft {
  /** The platform's ids of the messages that show it; UNHEARD at the end: whether one more does is not certain. */
  readonly ids: readonly string[];
  /** The beginning of the turn's text that has gone out for good. */
  readonly words: string;
}

/** In place of the id of a message that was sent, and whose id was not heard. */
export const UNHEARD = "";

/**
 * Of a turn's draft, as SQL: the messages that are changed into what is sent next, with UNHEARD behind them as it is stored, and whether
 * there may be one that cannot be changed.
 */
export function draftOf(turn: string): { readonly ids: string; readonly isUnheard: string } {
  return {
    ids: `coalesce((select nullif(platform_ids, array['${UNHEARD}']) from drafts where turn_id = ${turn}), '{}')`,
    isUnheard: `exists (select 1 from drafts where turn_id = ${turn} and '${UNHEARD}' = any(platform_ids))`,
  };
}

export type StoredStep =
  | { readonly kind: "reply"; readonly n: number; readonly reply: StoredReply }
  | {
      readonly kind: "tool";
      readonly n: number;
      readonly call: ToolCall;
      readonly state: StepRow["state"];
      readonly result: ToolResult | null;
      /** What became of its questions and tasks, in their order. */
      readonly answers: readonly StoredAnswer[];
    }
  | { readonly kind: "steer"; readonly n: number; readonly steerId: string; readonly text: string };

export type StoredReply = Pick<ChatReply, "text" | "toolCalls" | "usage" | "model" | "state"> & {
  /** It broke off in the middle, and another model went on from it. */
  readonly interrupted?: true;
};

export interface Steer {
  readonly id: string;
  readonly text: string;
}

/** What a call waits for: an answer, or another turn's reply. `ordinal` counts those of the call from 0. */
export interface AskedQuestion {
  readonly ordinal: number;
  readonly deadlineMs: number;
  readonly text: string;
  readonly choices: readonly string[];
  /** Whose turn is to answer `text`; null: the user. */
  readonly delegate: Delegate | null;
  /** Of a call that the owner decides on. */
  readonly approval?: ApprovalRequest;
}

export interface Delegate {
  readonly agent: string;
  /** Of an agent of another database: the turns that wait, this one first. Null: it is one of this database. */
  readonly chain: readonly WaitingTurn[] | null;
  readonly limits: TaskLimits | null;
}

/** Of a question, or of a task that was handed to another turn. */
export type StoredAnswer =
  | Answer
  | (EndedTask & { readonly kind: "delegated"; readonly outcome: TaskOutcome })
  /** Of the call with this digest. `id`: of the question. */
  | { readonly kind: "approval"; readonly id: string; readonly digest: string; readonly outcome: ApprovalOutcome }
  /** What the call itself has done once. */
  | { readonly kind: "noted"; readonly text: string }
  /** Its deadline has passed. `sent`: whether another node may have accepted it; null for a task of this database. */
  | (EndedTask & { readonly kind: "overdue"; readonly sent: boolean | null });

export interface EndedTask {
  readonly task: string;
  /** Its end as the hooks have left it in an earlier attempt; null: they have not seen it. */
  readonly seen: string | null;
}

/** A question that a turn waits for. */
export interface OpenQuestion {
  readonly id: string;
  readonly text: string;
  readonly choices: readonly string[];
  /** ISO 8601. */
  readonly expires_at: string;
  readonly approval?: ApprovalRequest;
}

export interface QuestionRow {
  readonly id: string;
  readonly approval: ApprovalRequest | null;
  readonly question: { readonly text: string; readonly choices: readonly string[] };
  readonly expires_at: Date | string;
}

export function toOpenQuestion({ id, question, expires_at, approval }: QuestionRow): OpenQuestion {
  const { text, choices } = question;
  const request = approval === null ? {} : { approval };
  return { id, text, choices, expires_at: new Date(expires_at).toISOString(), ...request };
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
  readonly files: readonly SentAttachment[];
}

/** The turn's row as seen from outside. */
export type TurnRow =
  | { readonly state: "queued" | "running"; readonly attempt: number; readonly user: string }
  | {
      readonly state: "waiting";
      readonly attempt: number;
      readonly user: string;
      readonly conversation: string;
      readonly question: OpenQuestion;
    }
  | { readonly state: "ended"; readonly user: string; readonly turn: FinishedTurn };

export type Fence = Pick<ClaimedTurn, "turnId" | "epoch">;

/** What `last_error` of a message begins with that waits for its channel's connection; ASKED: for as long as the platform has asked for. */
export const UNREACHABLE = "CHANNEL_CONNECTION_LOST: ";
export const ASKED = "asked to wait: ";
/**
 * Of a turn's first pending message: others of its conversation wait for it, for some minutes, or as long as the platform has asked for,
 * or until its channel is connected. A node that does not receive cannot tell whether it is: after an hour it is the message that fails.
 */
export const HOLDS_UP = `(created_at > now() - interval '5 minutes' or last_error like '${ASKED}%'
  or (last_error like '${UNREACHABLE}%' and created_at > now() - interval '1 hour'))`;

/** What the outbox sends; `OutboundMessage` is made of it when it is sent. */
export interface OutboxPayload {
  readonly conversation: string;
  readonly user: string;
  readonly text: string;
  readonly notice: string | null;
  readonly attachments?: readonly AttachmentRef[];
  /** Of a message that asks. */
  readonly question?: OpenQuestion;
}

export function questionPayload(turn: ClaimedTurn, question: OpenQuestion): OutboxPayload {
  return { conversation: turn.conversation, user: turn.user, text: question.text, notice: null, question };
}

/** Of what a turn had written when it was stopped or failed only the beginning. */
export function outboxPayload(turn: ClaimedTurn, end: TurnEnd): OutboxPayload {
  const { conversation, user } = turn;
  const failure = end.error ? `${end.error.message} (${end.error.code})` : null;
  const notice = end.notice ?? failure;
  const text = unsentText(turn, end.reply);
  if (end.state === "done") return { conversation, user, text, notice };
  const notices = [notice, beginningNote(text)].filter((one) => one !== null);
  return { conversation, user, text: beginningOf(text), notice: notices.join(" ") || null };
}

/** What has not gone out before of the turn's text. A hook may have changed that: then all of it. */
export function unsentText({ draft }: Pick<ClaimedTurn, "draft">, text: string): string {
  const { words = "" } = draft ?? {};
  return words !== "" && sanitize(text).startsWith(words)
    ? sanitize(text).slice(words.length).replace(/^\n+/, "")
    : text;
}

export interface ClaimRow {
  id: string;
  inbox_id: string;
  epoch: number;
  attempt: number;
  checkpoints: number;
  waits: number;
  abort_requested: boolean;
  agent: string;
  session_key: string;
  conversation_id: string | null;
  channel: string;
  conversation: string;
  user_id: string;
  owner: boolean;
  external_id: string;
  text: string;
  attachments: AttachmentRef[];
  history: ClaimedTurn["history"];
  sent_at: Date | null;
  chain: readonly WaitingTurn[] | null;
  draft: Draft | null;
}

export function toClaimed(row: ClaimRow): ClaimedTurn {
  return {
    turnId: row.id,
    inboxId: row.inbox_id,
    epoch: Number(row.epoch),
    attempt: row.attempt,
    checkpoints: row.checkpoints,
    waits: row.waits,
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
    schedule: row.owner ? scheduleOf(row.external_id) : null,
    chain: row.chain,
    draft: row.draft,
  };
}

export interface StepRow {
  n: number;
  kind: StoredStep["kind"];
  state: "intended" | "asked" | "done" | "failed" | "unknown";
  request: unknown;
  result: unknown;
  questions:
    | readonly {
        readonly state: "open" | "answered" | "expired";
        readonly answer: string | null;
        readonly delegated: boolean;
        readonly id: string;
        /** Of an approval; null else. */
        readonly digest: string | null;
        readonly noted: boolean;
        readonly decision: "approved" | "denied" | null;
        /** Of a task of another node; null else. */
        readonly sent: boolean | null;
        readonly text: string;
        readonly seen: string | null;
      }[]
    | null;
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
        answers: (row.questions ?? []).flatMap(toAnswer),
      };
    case "steer": {
      const { steer_id, text } = row.request as { steer_id: string; text: string };
      return { kind: "steer", n: row.n, steerId: steer_id, text };
    }
  }
}

function toAnswer(row: NonNullable<StepRow["questions"]>[number]): StoredAnswer[] {
  const { state, answer, delegated, sent, text: task, seen, id, digest, decision, noted } = row;
  if (state === "open") return [];
  if (noted) return [{ kind: "noted", text: answer ?? "" }];
  // Answered without a decision: by a version that knows no approvals.
  if (digest !== null)
    return [{ kind: "approval", id, digest, outcome: decision ?? (state === "expired" ? "expired" : "denied") }];
  if (delegated && answer !== null)
    return [{ kind: "delegated", outcome: JSON.parse(answer) as TaskOutcome, task, seen }];
  if (delegated) return [{ kind: "overdue", sent, task, seen }];
  return [answer === null ? { kind: "expired" } : { kind: "answered", text: answer }];
}

export interface EndRow {
  state: "queued" | "running" | "waiting" | TurnEnd["state"];
  question: QuestionRow | null;
  attempt: number;
  reply: string | null;
  usage: Usage | null;
  interrupted: boolean;
  notice: string | null;
  error: ErrorBody | null;
  conversation: string;
  user_id: string;
  /** Null: it has not ended. */
  files: readonly SentAttachment[] | null;
}

/** SQL: the JSON of a question, with the id of the message that decided it where that has one. */
export function decidedIn(message: string): string {
  return `question || jsonb_strip_nulls(jsonb_build_object('message', ${message}::text))`;
}

/** SQL: the question `q` that the message has decided, and its turn `t`, which may have ended since. Ids are unique in a session. */
export function decidedBy(message: string, sessionKey: string): string {
  return `turn_questions q join turns t on t.id = q.turn_id
    where q.question ->> 'message' = ${message}::text and t.session_key = ${sessionKey}`;
}

export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Texts of models and tools may hold characters that PostgreSQL does not store; without this a turn could not end. */
export function toJson(value: unknown): string {
  return JSON.stringify(sanitizeJson(value));
}
