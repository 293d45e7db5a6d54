/**
 * The rows of turns: claim, lease, end, and what others see of them. Every write of a running turn reads the turn's row at its
 * epoch under a share lock in its own transaction, so that a runner that was paused past its lease writes nothing. Every write
 * may be repeated after a lost connection: the second time it changes nothing.
 */

import type { Database, Queryable, Transaction } from "../../contracts/database.ts";
import type { NewId } from "../../contracts/ports.ts";
import type { SentAttachment } from "../../contracts/stream.ts";
import { sanitize } from "../../domain/cap.ts";
import type { CountedCall } from "../../domain/usage.ts";
import { countUsage } from "../usage/count.ts";
import { type ClaimRoom, claimTurns, type TurnOwner } from "./queue-order.ts";
import { filesOf, listFiles, type OpenedFile, openFile, type SentFile, writeFiles } from "./sent-files.ts";
import { StepStore } from "./step-store.ts";
import { delegatedBy, LOCK_WAITING, outcomeOf, REPLY_TO_TURN, STOP_TASKS } from "./turn-delegation.ts";
import { assertFence, isToStop, leaseLost } from "./turn-fence.ts";
import {
  type ClaimedTurn,
  draftOf,
  type EndRow,
  type Fence,
  HOLDS_UP,
  type OutboxPayload,
  outboxPayload,
  type TurnEnd,
  type TurnRow,
  toJson,
  toOpenQuestion,
  UUID,
} from "./turn-rows.ts";
import { ASKS_USER, TurnWaiting } from "./turn-waiting.ts";

const DRAFT = draftOf("$3");

/** The last statement of the turn's last transaction: that one is rolled back as a whole where the turn has ended before. */
const QUEUE_REPLY = `/* turn:outbox */ with done as (update inbox set done_at = now() where id = $1),
  counted as (${countUsage({ guard: "(select 1) once", agent: "$5::text", calls: "$7::jsonb" })})
  insert into outbox (id, turn_id, channel, agent, payload, draft_ids, unsure)
  values ($2, $3, $4, $5::text, $6, ${DRAFT.ids}, ${DRAFT.isUnheard})`;

const CHECKPOINT = `/* turn:checkpoint */ with done as (
    update turns set state = 'queued', checkpoints = checkpoints + 1, lease_node = null, lease_boot = null, lease_until = null
    where id = $1 and epoch = $2 and state = 'running'
    returning agent)
  ${countUsage({ guard: "done", agent: "done.agent", calls: "$3::jsonb" })}`;

export class TurnStore {
  /** Steps of turns, behind the same fence. */
  readonly steps: StepStore;
  /** Turns that wait for an answer. */
  readonly waiting: TurnWaiting;
  readonly #database: Database;
  readonly #owner: TurnOwner;
  readonly #leaseMs: number;
  readonly #newId: NewId;

  constructor(deps: { database: Database; owner: TurnOwner; leaseMs: number; newId: NewId }) {
    this.#database = deps.database;
    this.#owner = deps.owner;
    this.#leaseMs = deps.leaseMs;
    this.#newId = deps.newId;
    this.steps = new StepStore(deps);
    this.waiting = new TurnWaiting(deps);
  }

  /** See `claimTurns`. */
  async claim(agents: readonly string[], room: ClaimRoom, running: readonly string[]): Promise<readonly ClaimedTurn[]> {
    return claimTurns(this.#database, { owner: this.#owner, leaseMs: this.#leaseMs, agents, room, running });
  }

  /**
   * Extends the leases of running turns; those not returned are lost. `abort`: /stop was given elsewhere, or
   * /interrupt has put a turn ahead of one that was being claimed just then.
   */
  async renew(
    turnIds: readonly string[],
  ): Promise<ReadonlyMap<string, { readonly epoch: number; readonly abort: boolean }>> {
    const { rows } = await this.#database.query<{ id: string; epoch: number; abort: boolean }>(
      `/* turn:renew */ update turns t set lease_until = now() + $4 * interval '1 millisecond'
       where id = any($1::uuid[]) and state = 'running' and lease_node = $2 and lease_boot = $3
       returning id, epoch, ${isToStop("t")} as abort`,
      [turnIds, this.#owner.node, this.#owner.boot, this.#leaseMs],
      { durable: false },
    );
    return new Map(rows.map((row) => [row.id, { epoch: Number(row.epoch), abort: row.abort }]));
  }

  /**
   * Runs work in a transaction that reads the turn's row at its epoch first; RUNTIME_LEASE_LOST, and nothing is written, when
   * it has moved on. The work's first statements follow without waiting for that answer: work must only write to `tx`.
   */
  async fenced<T>(fence: Fence, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#database.transaction((tx) => inOrder([assertFence(tx, fence)], work(tx)));
  }

  /** The conversation that is the session's active one now is the turn's, whatever becomes of it. */
  async setConversation(tx: Queryable, turn: Pick<ClaimedTurn, "turnId" | "sessionKey">): Promise<void> {
    await tx.query(
      `/* turn:conversation */ update turns set conversation_id =
         (select id from conversations where session_key = $2 and opened_by = 'turn' and active)
       where id = $1`,
      [turn.turnId, turn.sessionKey],
    );
  }

  /**
   * Ends the turn: its state, what `write` adds (the reply's transcript row), the inbox row's end and the reply's outbox row
   * commit together, and with them `calls` are counted. False when a steer is waiting that the agent has not seen: the turn goes on.
   */
  async finish(
    turn: ClaimedTurn,
    end: TurnEnd,
    calls: readonly CountedCall[],
    write: (tx: Transaction) => Promise<void>,
  ): Promise<boolean> {
    return this.#database
      .transaction(async (tx) => {
        const question = delegatedBy(turn);
        const locked = question === null ? Promise.resolve() : tx.query(LOCK_WAITING, [question, turn.turnId]);
        const updating = tx.query(
          `/* turn:finish */ update turns set state = $3, reply = $4, usage = $5, interrupted = $6, notice = $7, error = $8,
           finished_at = now(), lease_until = null
         where id = $1 and epoch = $2 and state = 'running'`,
          [
            turn.turnId,
            turn.epoch,
            end.state,
            sanitize(end.reply),
            toJson(end.usage),
            end.interrupted,
            end.notice && sanitize(end.notice),
            end.error && toJson(end.error),
          ],
        );
        const ended = updating.then(async ({ count }) => {
          if (count > 0) return;
          // The commit of an earlier try may have gone through although its answer was lost.
          const again = await tx.query("select 1 from turns where id = $1 and epoch = $2 and state = $3", [
            turn.turnId,
            turn.epoch,
            end.state,
          ]);
          throw again.count > 0 ? new EndedBefore() : leaseLost(turn);
        });
        // Pipelined: when one of them fails, the whole transaction is rolled back.
        const unseen = end.state === "done" ? assertNoSteer(tx, turn.turnId) : Promise.resolve();
        const written = write(tx);
        const stopping = end.state === "done" ? Promise.resolve() : tx.query(STOP_TASKS, [turn.turnId]);
        const queued =
          question === null
            ? tx.query(QUEUE_REPLY, [
                turn.inboxId,
                this.#newId(),
                turn.turnId,
                turn.channel,
                turn.agent,
                toJson(outboxPayload(turn, end)),
                toJson(calls),
              ])
            : tx.query(REPLY_TO_TURN, [
                turn.inboxId,
                question,
                turn.turnId,
                toJson(outcomeOf(turn, end)),
                turn.agent,
                toJson(calls),
              ]);
        await inOrder([locked, ended, unseen, written, stopping], queued);
        return true;
      })
      .catch((error: unknown) => {
        if (error instanceof SteerWaiting) return false;
        if (error instanceof EndedBefore) return true;
        throw error;
      });
  }

  /** A message of the running turn beside its reply; the same key again is the same message. */
  async deliver(turn: ClaimedTurn, key: string, text: string): Promise<void> {
    const payload = { conversation: turn.conversation, user: turn.user, text, notice: null } satisfies OutboxPayload;
    await this.fenced(turn, (tx) =>
      tx.query(
        `/* turn:deliver */ insert into outbox (id, turn_id, key, channel, agent, payload) values ($1, $2, $3, $4, $5, $6)
         on conflict (turn_id, key) do nothing`,
        [this.#newId(), turn.turnId, key, turn.channel, turn.agent, toJson(payload)],
      ),
    );
  }

  /** Files of the running turn, in the transaction of the result of the call that sends them, whose step is `n`. */
  sendFiles(tx: Transaction, turn: ClaimedTurn, n: number, files: readonly SentFile[]): Promise<void> {
    return writeFiles(tx, { turn, n, files, newId: this.#newId });
  }

  /** Those that the turn has sent, in their order. */
  files(turnId: string): Promise<readonly SentAttachment[]> {
    return listFiles(this.#database, turnId);
  }

  /** One of them. RUNTIME_NOT_FOUND. */
  openFile(turnId: string, sha256: string): Promise<OpenedFile> {
    return openFile(this.#database, turnId, sha256);
  }

  /** Whether the turn has begun, and whether another one of its session has not ended. */
  async standing(turnId: string): Promise<{ readonly isQueued: boolean; readonly isBehind: boolean }> {
    const { rows } = await this.#database.query<{ queued: boolean; behind: boolean }>(
      `/* turn:standing */ select t.state = 'queued' as queued, exists (select from turns o where o.session_key = t.session_key
         and o.id <> t.id and o.state in ('queued', 'running', 'waiting')) as behind from turns t where t.id = $1`,
      [turnId],
    );
    return { isQueued: rows[0]?.queued ?? false, isBehind: rows[0]?.behind ?? false };
  }

  /** Whether a message of another turn, or one that this turn has sent on the way, comes before its next words. */
  async isBehind({ channel, conversation }: ClaimedTurn): Promise<boolean> {
    const { rows } = await this.#database.query<{ behind: boolean }>(
      `/* turn:behind */ select exists (select 1 from outbox o where state = 'pending' and channel = $1
         and payload->>'conversation' = $2 and ${HOLDS_UP} and not exists (
           select 1 from outbox p where p.turn_id = o.turn_id and p.state = 'pending' and p.seq < o.seq)) as behind`,
      [channel, conversation],
    );
    return rows[0]?.behind ?? false;
  }

  /** The messages that show what is written of the turn's reply. */
  async keepDraft(fence: Fence, ids: readonly string[]): Promise<void> {
    await this.fenced(fence, (tx) =>
      tx.query(
        `/* turn:draft */ insert into drafts (turn_id, platform_ids) values ($1, $2::text[])
         on conflict (turn_id) do update set platform_ids = excluded.platform_ids`,
        [fence.turnId, ids],
      ),
    );
  }

  /** Puts the turn back in line for the next process: an orderly shutdown, not a crash. Counts `calls` with it. */
  async checkpoint(fence: Fence, calls: readonly CountedCall[]): Promise<void> {
    await this.#database.query(CHECKPOINT, [fence.turnId, fence.epoch, toJson(calls)]);
  }

  /** Asks the runner of the session's turn other than `except`, wherever it is, to stop; the id of that turn, or null. */
  async requestAbort(sessionKey: string, except?: string): Promise<string | null> {
    const { rows } = await this.#database.query<{ id: string }>(
      `/* turn:abort */ update turns set abort_requested = true
       where session_key = $1 and state = 'running' and id is distinct from $2::uuid returning id`,
      [sessionKey, except ?? null],
    );
    return rows[0]?.id ?? null;
  }

  /** Running, waiting and queued turns of a session; one that waits for another turn counts as running. */
  async session(sessionKey: string): Promise<{
    readonly running: { readonly turnId: string; readonly startedAt: Date } | null;
    readonly waiting: { readonly turnId: string; readonly approval: boolean } | null;
    readonly queued: number;
  }> {
    const { rows } = await this.#database.query<{ id: string; state: string; started_at: Date; approval: boolean }>(
      `/* turn:session */ select id, case when state = 'waiting' and not ${ASKS_USER} then 'running' else state end as state, started_at,
         exists (select 1 from turn_questions q where q.turn_id = t.id and q.state = 'open' and q.approval is not null) as approval
       from turns t where session_key = $1 and state in ('queued', 'running', 'waiting')`,
      [sessionKey],
    );
    const waiting = rows.find((row) => row.state === "waiting");
    const running = rows.find((row) => row.state === "running");
    return {
      running: running ? { turnId: running.id, startedAt: running.started_at } : null,
      waiting: waiting ? { turnId: waiting.id, approval: waiting.approval } : null,
      queued: rows.filter((row) => row.state === "queued").length,
    };
  }

  /** Null for a turn that is not the agent's. One that waits for another turn counts as running, since the user has nothing to answer. */
  async read(agent: string, turnId: string): Promise<TurnRow | null> {
    if (!UUID.test(turnId)) return null;
    const { rows } = await this.#database.query<EndRow>(
      `/* turn:read */ select t.state, t.attempt, t.reply, t.usage, t.interrupted, t.notice, t.error, i.conversation, i.user_id,
         case when t.state = 'waiting' then (select to_jsonb(q) from turn_questions q where q.turn_id = t.id and q.state = 'open'
           and q.question -> 'delegation' is null) end as question,
         case when t.state in ('done', 'failed', 'aborted') then ${filesOf("t.id")} end as files
       from turns t join inbox i on i.id = t.inbox_id where t.id = $1 and t.agent = $2`,
      [turnId, agent],
    );
    const row = rows[0];
    if (!row) return null;
    if (row.state === "queued" || row.state === "running")
      return { state: row.state, attempt: row.attempt, user: row.user_id };
    if (row.state === "waiting") {
      if (!row.question) return { state: "running", attempt: row.attempt, user: row.user_id };
      return {
        state: "waiting",
        attempt: row.attempt,
        user: row.user_id,
        conversation: row.conversation,
        question: toOpenQuestion(row.question),
      };
    }
    return {
      state: "ended",
      user: row.user_id,
      turn: {
        turnId,
        agent,
        state: row.state,
        conversation: row.conversation,
        attempt: row.attempt,
        reply: row.reply ?? "",
        usage: row.usage ?? { inputTokens: 0, outputTokens: 0 },
        interrupted: row.interrupted,
        notice: row.notice,
        error: row.error,
        files: row.files ?? [],
      },
    };
  }

  /** Open turns by agent, for health and metrics. */
  async open(): Promise<readonly OpenTurns[]> {
    const { rows } = await this.#database.query<OpenTurns>(
      `/* turn:open */ select agent, count(*) filter (where state = 'running')::int as running,
         count(*) filter (where state = 'waiting')::int as waiting, count(*) filter (where state = 'queued')::int as queued
       from turns where state in ('queued', 'running', 'waiting') group by agent`,
    );
    return rows;
  }
}

export interface OpenTurns {
  readonly agent: string;
  readonly running: number;
  /** For an answer. */
  readonly waiting: number;
  readonly queued: number;
}

async function assertNoSteer(tx: Queryable, turnId: string): Promise<void> {
  const { count } = await tx.query("select 1 from turn_steers where turn_id = $1 and step is null limit 1", [turnId]);
  if (count > 0) throw new SteerWaiting();
}

/** The last one's value; of several failures the first in this order, which may have brought about the others. */
async function inOrder<T>(before: readonly Promise<unknown>[], last: Promise<T>): Promise<T> {
  for (const step of [...before, last]) step.catch(() => undefined);
  for (const step of before) await step;
  return last;
}

class SteerWaiting extends Error {}
class EndedBefore extends Error {}
