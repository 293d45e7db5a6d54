/** When a conversation is due, and what is summarized next: messages first, then leaves, then branches. */

import type { SummaryKind } from "./budgets.ts";

export interface DueRule {
  /** Unsummarized messages. */
  readonly messages: number;
  /** Since the last message was written. */
  readonly idleMs: number;
  /** Only where nothing was written since the conversation was marked ready, or where it is closed. */
  readonly ready: boolean;
}

/** A conversation is due by any of them. */
export const DUE_RULES: readonly DueRule[] = [
  { messages: 10, idleMs: 0, ready: false },
  { messages: 5, idleMs: 15 * 60_000, ready: false },
  { messages: 2, idleMs: 4 * 86_400_000, ready: false },
  { messages: 1, idleMs: 0, ready: true },
];

/** Counting further changes nothing. */
export const MOST_COUNTED = Math.max(...DUE_RULES.map(({ messages }) => messages));

export interface Waiting {
  /** Unsummarized messages, counted up to `MOST_COUNTED`. */
  readonly messages: number;
  readonly idleMs: number;
  readonly ready: boolean;
}

export function isDue(waiting: Waiting): boolean {
  return DUE_RULES.some(
    (rule) =>
      waiting.messages >= rule.messages && waiting.idleMs >= rule.idleMs && (waiting.ready || rule.ready === false),
  );
}

/** Summaries that go into one of the next level: at least, while nothing else is to be done, and at most. */
export const BRANCH_LEAVES = { least: 5, most: 8 } as const;
export const ROOT_BRANCHES = { least: 3, most: 5 } as const;

export interface Tree {
  /** Whether messages are due. */
  readonly messagesDue: boolean;
  /** Leaves that no branch has absorbed. */
  readonly leaves: number;
  /** Branches that no root has absorbed. */
  readonly branches: number;
}

/**
 * The next summary of a conversation, or null when there is none to write. While a backlog is worked off, summaries of the
 * next level are as wide as they may be; otherwise they come as soon as there is enough for one.
 */
export function nextStep({ messagesDue, leaves, branches }: Tree): SummaryKind | null {
  if (branches >= ROOT_BRANCHES.most) return "root";
  if (leaves >= BRANCH_LEAVES.most) return "branch";
  if (messagesDue) return "leaf";
  if (leaves >= BRANCH_LEAVES.least) return "branch";
  if (branches >= ROOT_BRANCHES.least) return "root";
  return null;
}

/** Attempts of a conversation whose summary fails by itself. */
export const MAX_ATTEMPTS = 5;
const FIRST_PAUSE_MS = 60_000;

/** Until the next attempt after so many failed ones: 1, 5, 25, 125 minutes; null when there is none. */
export function retryAfterMs(attempts: number): number | null {
  return attempts >= MAX_ATTEMPTS ? null : FIRST_PAUSE_MS * 5 ** (attempts - 1);
}
