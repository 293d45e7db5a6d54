/** Whether an agent may hand a task to another one: at most three levels below the turn that a user began, and no cycles. Pure. */

import type { WaitingTurn } from "../contracts/delegation.ts";
import { CairnError } from "../contracts/errors.ts";
import { isFinal, isInterruption, type StreamEvent } from "../contracts/stream.ts";
import { cap, sanitize } from "./cap.ts";

/** Of turns below the one that a user began (design, section 8). */
export const MAX_DELEGATION_DEPTH = 3;

export type DelegationProblem = "no_target" | "too_deep" | "cycle";

export interface ChainLink extends WaitingTurn {
  /** Of this database: its agent is one of those here. */
  readonly own: boolean;
}

/** Where turns of an agent run: nodes of this database, members with other ones, or nowhere. */
export type AgentPlace = "here" | "elsewhere" | "nowhere";

export interface DelegationRequest {
  /** The delegating turn and those above it, its own first. */
  readonly chain: readonly ChainLink[];
  readonly target: string;
  readonly place: AgentPlace;
  /** A session of the agent's own: never a cycle. */
  readonly spawned: boolean;
  /** Of levels; what is above the three counts as three. */
  readonly maxDepth: number;
}

/** Null when the task may be handed over. The node of an agent elsewhere looks for cycles through itself. */
export function delegationProblem({
  chain,
  target,
  place,
  spawned,
  maxDepth,
}: DelegationRequest): DelegationProblem | null {
  if (place === "nowhere") return "no_target";
  if (chain.length > Math.min(maxDepth, MAX_DELEGATION_DEPTH)) return "too_deep";
  const waits = chain.some(({ agent, own }) => own && agent === target);
  return !spawned && place === "here" && waits ? "cycle" : null;
}

/** How the turn that a task was handed to ended, as it is kept with the question of the turn that waits for it. */
export type TaskOutcome =
  | { readonly ok: true; readonly text: string; readonly turnId: string }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly turnId: string };

/** UTF-16 code units of a reply of another node that are kept: it is data of somebody else. */
export const MAX_REMOTE_REPLY = 100_000;
const MAX_REMOTE_MESSAGE = 1_000;

/** What a final event of another node's turn says; null for an event that is none. */
export function outcomeOfEvent(event: StreamEvent): TaskOutcome | null {
  if (!isFinal(event) || isInterruption(event)) return null;
  const turnId = String(event.turn_id).slice(0, 100);
  if (event.type === "turn.failed") {
    const { code, message } = event.error;
    return failedOutcome(String(code), String(message), turnId);
  }
  if (event.type !== "turn.finished") return null;
  const notice = event.interrupted ? (event.notice ?? "It was interrupted.") : "";
  if (notice !== "" && event.text === "") return failedOutcome("RUNTIME_TURN_ABORTED", notice, turnId);
  const { text, truncated, fullLength } = cap(sanitize(String(event.text)), MAX_REMOTE_REPLY);
  const notes = [
    ...(truncated ? [`(${fullLength - text.length} more characters of the reply are left out)`] : []),
    ...(notice === "" ? [] : [`(${cap(sanitize(notice), MAX_REMOTE_MESSAGE).text})`]),
  ];
  return { ok: true, text: [text, ...notes].join("\n"), turnId };
}

export function failedOutcome(code: string, message: string, turnId = ""): TaskOutcome {
  return {
    ok: false,
    code: cap(sanitize(code), 100).text,
    message: cap(sanitize(message), MAX_REMOTE_MESSAGE).text,
    turnId,
  };
}

/** Answers of a node before it has accepted anything. */
const REFUSALS: ReadonlySet<string> = new Set([
  "RUNTIME_NOT_RUNNING",
  "RUNTIME_CERTIFICATE_REFUSED",
  "RUNTIME_DRAINING",
  "RUNTIME_NOT_READY",
  "RUNTIME_RATE_LIMITED",
  "RUNTIME_UNAUTHORIZED",
  "RUNTIME_CLOCK_SKEW",
  "RUNTIME_PEER_UNREACHABLE",
  "RUNTIME_FORBIDDEN",
  "RUNTIME_AGENT_UNKNOWN",
  "RUNTIME_INVALID_REQUEST",
  "RUNTIME_BODY_TOO_LARGE",
  "DELEGATION_CYCLE",
  "DELEGATION_TOO_DEEP",
]);

/** Whether the failure of the first request under a key says for certain that the peer has not accepted the task. */
export function isRefusal(error: unknown): error is CairnError {
  return error instanceof CairnError && REFUSALS.has(error.code);
}

/** Whether the same node may take the task in a moment: it restarts, is drained, or has much to do. */
export function isPassingRefusal(error: CairnError): boolean {
  return error.retryable || error.code === "RUNTIME_NOT_RUNNING";
}
