import type { ApprovalRequest } from "./stream.ts";

/** A call of a tool that waits for the owner's word. */
export interface PendingApproval extends ApprovalRequest {
  /** Of the question; its last eight digits are enough for a person to type. */
  readonly id: string;
  readonly agent: string;
  readonly turn_id: string;
  /** Of the turn: where the owner was asked. */
  readonly channel: string;
  readonly conversation: string;
  /** ISO 8601. */
  readonly asked_at: string;
  /** ISO 8601: then it is refused. */
  readonly expires_at: string;
}

/** A call that runs without a question, exactly as it was shown once. */
export interface StandingApproval extends ApprovalRequest {
  readonly id: string;
  readonly agent: string;
  /** Name of the token, or `owner`. */
  readonly approved_by: string;
  /** ISO 8601. */
  readonly approved_at: string;
}

export interface DecidedApproval {
  readonly id: string;
  readonly agent: string;
  readonly tool: string;
  readonly turn_id: string;
  readonly decision: "approved" | "denied";
  /** The same call is not asked about again. */
  readonly always: boolean;
}

export interface ApprovalPage<Entry> {
  readonly approvals: readonly Entry[];
  /** Id that the next page begins after; null: this is the last one. */
  readonly next: string | null;
}

/** Of all nodes of a database. */
export interface WaitingApprovals {
  readonly waiting: number;
  /** Null where none waits. */
  readonly oldest_waiting_ms: number | null;
}

/** What people type of the id of a question. */
export function approvalCode(id: string): string {
  return id.slice(-8);
}
