/**
 * The owner's decisions about calls of tools that wait for one (turn-waiting.ts), and those that stand. A decision is bound to
 * the digest of what was shown, and counts once; nothing but these functions makes one.
 */

import type {
  ApprovalPage,
  DecidedApproval,
  PendingApproval,
  StandingApproval,
  WaitingApprovals,
} from "../contracts/approvals.ts";
import type { Database, Transaction } from "../contracts/database.ts";
import { RuntimeError } from "../contracts/errors.ts";
import type { NewId } from "../contracts/ports.ts";
import type { SecurityLog } from "../contracts/security-log.ts";
import type { ApprovalRequest } from "../contracts/stream.ts";
import { decidedBy, decidedIn } from "./turn/turn-rows.ts";

export type { WaitingApprovals };

export interface Decision {
  /** Of the question, or its last eight digits. */
  readonly id: string;
  readonly decision: "approved" | "denied";
  /** Of an approval: the same call is not asked about again. */
  readonly always: boolean;
  readonly by: DecidedBy;
}

export interface DecidedBy {
  /** Name of the token; `owner` in a chat. */
  readonly name: string;
  /** For the audit log: where a person has said it. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Id of the message that says it, which may come again after the turn has asked more. */
  readonly message?: string | undefined;
}

export interface PageQuery {
  /** Entries, at most 200. */
  readonly limit: number;
  /** `next` of the page before. */
  readonly after?: string | undefined;
}

export interface StandingCall {
  readonly agent: string;
  readonly tool: string;
  readonly digest: string;
}

export interface Approvals {
  /** Those that wait, the oldest first. */
  pending(query: PageQuery): Promise<ApprovalPage<PendingApproval>>;
  /** How many wait, and how long the oldest has: whatever node has asked. */
  waiting(): Promise<WaitingApprovals>;
  /** Durable when it resolves; the turn then goes on. RUNTIME_NOT_FOUND, RUNTIME_CONFLICT where it does not wait any more. */
  decide(decision: Decision): Promise<DecidedApproval>;
  /**
   * The one that was decided in this message, also where its turn has ended, else the one that the session's turn waits for; null where
   * there is none. `isNew`: nobody can have read it yet.
   */
  inSession(sessionKey: string, message?: string): Promise<{ readonly id: string; readonly isNew: boolean } | null>;
  /** Calls that run without a question. */
  standing(query: PageQuery): Promise<ApprovalPage<StandingApproval>>;
  /** The call is asked about again. RUNTIME_NOT_FOUND. */
  revoke(id: string, by: DecidedBy): Promise<StandingApproval>;
  isStanding(call: StandingCall): Promise<boolean>;
  /** For the audit log: the owner has been asked. */
  asked(turn: { readonly turnId: string; readonly agent: string }, id: string, request: ApprovalRequest): void;
  /** For the audit log: nobody has decided in time. */
  expired(question: { readonly id: string; readonly agent: string; readonly turnId: string }): void;
}

export interface ApprovalsDeps {
  readonly database: Pick<Database, "query" | "transaction">;
  readonly newId: NewId;
  readonly security: SecurityLog;
  /** A turn may go on, here or on another node. */
  wake(): Promise<void>;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const CODE = /^[0-9a-f]{8}$/i;
/** A word that was sent before the question came is not meant for it. */
const UNREAD = "5 seconds";

/** Of questions `q` and their turns `t`. */
const PENDING = "where q.approval is not null and q.state = 'open' and t.state = 'waiting' and q.expires_at > now()";

interface QuestionRow {
  readonly id: string;
  readonly turn_id: string;
  readonly agent: string;
  readonly approval: ApprovalRequest;
}

export function createApprovals({ database, newId, security, wake }: ApprovalsDeps): Approvals {
  /** Locks the turn's row first: every transaction that changes both locks them in this order. */
  async function locked(tx: Transaction, id: string): Promise<QuestionRow> {
    const { rows } = await tx.query<QuestionRow & { state: string }>(
      `/* approval:find */ select q.id, q.turn_id, t.agent, q.approval, q.state from turn_questions q join turns t on t.id = q.turn_id
       where q.approval is not null and (q.id = $1::uuid or right(q.id::text, 8) = $2)
       order by q.state = 'open' desc, q.id desc limit 2`,
      [UUID.test(id) ? id : null, CODE.test(id) ? id.toLowerCase() : null],
    );
    const [row, other] = rows;
    if (!row) throw notFound("There is no approval with this id.", "`cairn approvals list` shows those that wait.");
    if (other?.state === row.state)
      throw notFound("Several approvals have this id.", "Give the whole id: `cairn approvals list --json`.");
    const { rows: turns } = await tx.query<{ state: string }>(
      "/* approval:lock */ select state from turns where id = $1 for update",
      [row.turn_id],
    );
    const { rows: questions } = await tx.query<{ state: string; decision: string | null; late: boolean }>(
      "/* approval:state */ select state, decision, expires_at <= now() as late from turn_questions where id = $1",
      [row.id],
    );
    const [question] = questions;
    const problem =
      question?.state === "answered"
        ? `The call was ${question.decision ?? "denied"} already.`
        : question?.state !== "open" || question.late
          ? "The time to decide is over: the call was refused."
          : turns[0]?.state === "waiting"
            ? null
            : "The turn does not wait for an approval any more.";
    if (problem !== null) throw new RuntimeError("RUNTIME_CONFLICT", problem, { turnId: row.turn_id });
    return row;
  }

  return {
    async pending({ limit, after }) {
      const { rows } = await database.query<
        QuestionRow & { channel: string; conversation: string; created_at: Date; expires_at: Date }
      >(
        `/* approval:pending */ select q.id, q.turn_id, t.agent, i.channel, i.conversation, q.approval, q.created_at, q.expires_at
         from turn_questions q join turns t on t.id = q.turn_id join inbox i on i.id = t.inbox_id
         ${PENDING} and ($1::uuid is null or q.id > $1::uuid) order by q.id limit $2`,
        [after ?? null, limit + 1],
      );
      return pageOf(
        rows.map(({ id, agent, turn_id, channel, conversation, approval, created_at, expires_at }) => ({
          id,
          agent,
          ...requestOf(approval),
          turn_id,
          channel,
          conversation,
          asked_at: created_at.toISOString(),
          expires_at: expires_at.toISOString(),
        })),
        limit,
      );
    },
    async waiting() {
      const { rows } = await database.query<{ waiting: number; oldest_ms: number | null }>(
        `/* approval:waiting */ select count(*)::int as waiting,
           (extract(epoch from now() - min(q.created_at)) * 1000)::float8 as oldest_ms
         from turn_questions q join turns t on t.id = q.turn_id ${PENDING}`,
      );
      const { waiting = 0, oldest_ms: oldest = null } = rows[0] ?? {};
      return { waiting, oldest_waiting_ms: oldest === null ? null : Math.max(0, Math.round(oldest)) };
    },
    async decide({ id, decision, always: isAlways, by }) {
      const { approval, ...question } = await database.transaction(async (tx) => {
        const row = await locked(tx, id);
        await tx.query(
          `/* approval:decide */ with decided as (
             update turn_questions set state = 'answered', decision = $2, answered_by = $3, answered_at = now(),
               question = ${decidedIn("$4")} where id = $1 returning turn_id)
           update turns t set state = 'queued' from decided where t.id = decided.turn_id`,
          [row.id, decision, by.name, by.message ?? null],
        );
        if (decision === "approved" && isAlways) {
          const { tool, digest, call, reason } = row.approval;
          await tx.query(
            `/* approval:add-standing */ insert into approvals (id, agent, tool, digest, call, reason, approved_by, turn_id)
             values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (agent, tool, digest) do nothing`,
            [newId(), row.agent, tool, digest, call, reason, by.name, row.turn_id],
          );
        }
        return row;
      });
      const { agent, turn_id } = question;
      const { tool, digest } = approval;
      const always = decision === "approved" && isAlways;
      security.record({
        event: `approval.${decision}`,
        outcome: "done",
        by: by.name,
        details: { id: question.id, agent, turn_id, tool, digest, always, ...by.details },
      });
      await wake();
      return { id: question.id, agent, tool, turn_id, decision, always };
    },
    async inSession(sessionKey, message) {
      const { rows } = await database.query<{ id: string; is_new: boolean }>(
        `/* approval:session */ select id, is_new from (
           select q.id, false as is_new, true as decided from ${decidedBy("$2", "$1")} and q.approval is not null
           union all
           select q.id, q.created_at > now() - interval '${UNREAD}', false
           from turns t join turn_questions q on q.turn_id = t.id
           where t.session_key = $1 and t.state = 'waiting' and q.state = 'open' and q.approval is not null) q
         order by decided desc limit 1`,
        [sessionKey, message ?? null],
      );
      return rows[0] ? { id: rows[0].id, isNew: rows[0].is_new } : null;
    },
    async standing({ limit, after }) {
      const { rows } = await database.query<StandingRow>(
        `/* approval:standing */ select ${STANDING} from approvals
         where $1::uuid is null or id > $1::uuid order by id limit $2`,
        [after ?? null, limit + 1],
      );
      return pageOf(rows.map(toStanding), limit);
    },
    async revoke(id, by) {
      const { rows } = await database.query<StandingRow>(
        `/* approval:revoke */ delete from approvals where id = $1 returning ${STANDING}`,
        [UUID.test(id) ? id : null],
      );
      const [row] = rows;
      if (!row) throw notFound("No approval stands with this id.", "`cairn approvals list --standing` shows them.");
      const { agent, tool, digest } = row;
      security.record({
        event: "approval.revoked",
        outcome: "done",
        by: by.name,
        details: { id, agent, tool, digest, ...by.details },
      });
      return toStanding(row);
    },
    async isStanding({ agent, tool, digest }) {
      const { count } = await database.query(
        "/* approval:is-standing */ select 1 from approvals where agent = $1 and tool = $2 and digest = $3",
        [agent, tool, digest],
      );
      return count > 0;
    },
    asked({ turnId, agent }, id, { tool, digest, reason }) {
      const details = { id, agent, turn_id: turnId, tool, digest, reason };
      security.record({ event: "approval.asked", outcome: "done", details });
    },
    expired({ id, agent, turnId }) {
      security.record({ event: "approval.expired", outcome: "done", details: { id, agent, turn_id: turnId } });
    },
  };
}

interface StandingRow extends ApprovalRequest {
  readonly id: string;
  readonly agent: string;
  readonly approved_by: string;
  readonly created_at: Date;
}

const STANDING = "id, agent, tool, digest, call, reason, approved_by, created_at";

function toStanding({ id, agent, approved_by, created_at, ...request }: StandingRow): StandingApproval {
  return { id, agent, ...requestOf(request), approved_by, approved_at: created_at.toISOString() };
}

function requestOf({ tool, call, reason, digest }: ApprovalRequest): ApprovalRequest {
  return { tool, call, reason, digest };
}

/** `entries`: one more than the page has room for, where there are more. */
function pageOf<Entry extends { readonly id: string }>(entries: readonly Entry[], limit: number): ApprovalPage<Entry> {
  const approvals = entries.slice(0, limit);
  return { approvals, next: entries.length > limit ? (approvals.at(-1)?.id ?? null) : null };
}

function notFound(message: string, hint: string): RuntimeError {
  return new RuntimeError("RUNTIME_NOT_FOUND", message, { hint });
}
