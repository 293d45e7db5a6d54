/**
 * The rows of turns: claim, fence, steps, end. Every write of a running turn reads the turn's row at its epoch under a
 * share lock in its own transaction, so that a runner that was paused past its lease writes nothing. Every write may be
 * repeated after a lost connection: the second time it changes nothing.
 */

import type { Database, Queryable, Transaction } from "../../contracts/database.ts";
import { RuntimeError } from "../../contracts/errors.ts";
import type { ToolCall } from "../../contracts/message.ts";
import type { NewId } from "../../contracts/ports.ts";
import type { ToolResult } from "../../contracts/tool.ts";
import { sanitize, sanitizeJson } from "../../domain/cap.ts";
import { holderOf } from "./others.ts";
import {
  type ClaimedTurn,
  type ClaimRow,
  type EndRow,
  type Fence,
  outboxPayload,
  type Steer,
  type StepRow,
  type StoredReply,
  type StoredStep,
  type TurnEnd,
  type TurnRow,
  toClaimed,
  toStep,
} from "./turn-rows.ts";

export interface TurnOwner {
  readonly node: string;
  /** One start of the process. */
  readonly boot: string;
}

/** How many turns a node has room for. */
export interface ClaimRoom {
  /** Of all users, the owner included. */
  readonly turns: number;
  /** Turns that are not the owner's, with those that run already. */
  readonly others: {
    readonly turns: number;
    readonly ofOneUser: number;
    /** Whose turns run already, one entry a turn. */
    readonly active: readonly { readonly channel: string; readonly user: string }[];
  };
}

export class TurnStore {
  readonly #database: Database;
  readonly #owner: TurnOwner;
  readonly #leaseMs: number;
  readonly #newId: NewId;

  constructor(deps: { database: Database; owner: TurnOwner; leaseMs: number; newId: NewId }) {
    this.#database = deps.database;
    this.#owner = deps.owner;
    this.#leaseMs = deps.leaseMs;
    this.#newId = deps.newId;
  }

  /**
   * The next turns that may run: queued, or left behind by a runner whose lease has ended or whose process was an earlier
   * start of this node. Within a session only the first in line, and none while another one of it runs. The owner's come
   * first; then the user who has the fewest. Raises the epoch.
   */
  async claim(agents: readonly string[], room: ClaimRoom): Promise<readonly ClaimedTurn[]> {
    const { others } = room;
    const { rows } = await this.#database.query<ClaimRow>(
      CLAIM,
      [
        agents,
        this.#owner.node,
        this.#owner.boot,
        this.#leaseMs,
        room.turns,
        others.turns,
        others.ofOneUser,
        others.active.map(({ channel }) => channel),
        others.active.map(({ user }) => user),
      ],
      // A lost claim is claimed again; later writes of the turn make it durable with them.
      { durable: false },
    );
    return rows.map(toClaimed);
  }

  /** Extends the leases of running turns; those not returned are lost. `abort` tells that /stop was asked for elsewhere. */
  async renew(
    turnIds: readonly string[],
  ): Promise<ReadonlyMap<string, { readonly epoch: number; readonly abort: boolean }>> {
    const { rows } = await this.#database.query<{ id: string; epoch: number; abort_requested: boolean }>(
      `/* turn:renew */ update turns set lease_until = now() + $4 * interval '1 millisecond'
       where id = any($1::uuid[]) and state = 'running' and lease_node = $2 and lease_boot = $3
       returning id, epoch, abort_requested`,
      [turnIds, this.#owner.node, this.#owner.boot, this.#leaseMs],
      { durable: false },
    );
    return new Map(rows.map((row) => [row.id, { epoch: Number(row.epoch), abort: row.abort_requested }]));
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

  async recordReply(tx: Queryable, fence: Fence, n: number, reply: StoredReply): Promise<void> {
    await tx.query(
      `/* turn:reply */ insert into turn_steps (turn_id, n, epoch, kind, state, result, finished_at)
       values ($1, $2, $3, 'reply', 'done', $4, now())
       on conflict (turn_id, n) do nothing`,
      [fence.turnId, n, fence.epoch, json(reply)],
    );
  }

  /** The intention to call, committed before the call: after a crash it is known that the call may have happened. */
  async recordIntention(fence: Fence, n: number, call: ToolCall): Promise<void> {
    const { count } = await this.#database.query(
      `/* turn:intention */ with fence as (select id from turns where id = $1 and epoch = $2 and state = 'running' for share)
       insert into turn_steps (turn_id, n, epoch, kind, tool_call_id, state, request)
       select id, $3, $2, 'tool', $4, 'intended', $5 from fence
       on conflict (turn_id, n) do update set epoch = excluded.epoch
         where turn_steps.epoch = excluded.epoch and turn_steps.tool_call_id = excluded.tool_call_id
       returning n`,
      [fence.turnId, fence.epoch, n, call.id, json(call)],
    );
    if (count === 0) throw leaseLost(fence);
  }

  async recordResult(
    tx: Queryable,
    fence: Fence,
    n: number,
    state: "done" | "failed" | "unknown",
    result: ToolResult,
  ): Promise<void> {
    await tx.query(
      `/* turn:result */ update turn_steps set state = $3, result = $4, finished_at = now()
       where turn_id = $1 and n = $2 and state = 'intended'`,
      [fence.turnId, n, state, json(result)],
    );
  }

  async recordSteer(tx: Queryable, fence: Fence, n: number, steer: Steer): Promise<void> {
    await tx.query(
      `/* turn:steer */ with step as (
         insert into turn_steps (turn_id, n, epoch, kind, state, request, finished_at)
         values ($1, $2, $3, 'steer', 'done', $4, now()) on conflict (turn_id, n) do nothing)
       update turn_steers set step = $2 where id = $5`,
      [fence.turnId, n, fence.epoch, json({ steer_id: steer.id, text: steer.text }), steer.id],
    );
  }

  async steps(turnId: string): Promise<StoredStep[]> {
    const { rows } = await this.#database.query<StepRow>(
      "/* turn:steps */ select n, kind, state, request, result from turn_steps where turn_id = $1 order by n",
      [turnId],
    );
    return rows.map(toStep);
  }

  /** Durable for a turn that still runs and has fewer than `most`, shown ones included. */
  async addSteer(turnId: string, text: string, most: number | null): Promise<"added" | "ended" | "full"> {
    const { rows } = await this.#database.query<{ running: boolean; added: boolean }>(
      `/* turn:add-steer */ with fence as (select id from turns where id = $1 and state = 'running' for share),
       added as (
         insert into turn_steers (id, turn_id, text) select $2, id, $3 from fence
         where $4::int is null
           or (select count(*) from turn_steers where turn_id = $1 and step is null)
            + (select count(*) from turn_steps where turn_id = $1 and kind = 'steer') < $4::int
         returning id)
       select exists (select from fence) as running, exists (select from added) as added`,
      [turnId, this.#newId(), sanitize(text), most],
    );
    const [row] = rows;
    return row?.added ? "added" : row?.running ? "full" : "ended";
  }

  async waitingSteers(turnId: string): Promise<Steer[]> {
    const { rows } = await this.#database.query<Steer>(
      "/* turn:steers */ select id, text from turn_steers where turn_id = $1 and step is null order by seq",
      [turnId],
    );
    return rows;
  }

  /**
   * Ends the turn: its state, what `write` adds (the reply's transcript row), the inbox row's end and the reply's outbox row
   * commit together. False when a steer is waiting that the agent has not seen: the turn goes on.
   */
  async finish(turn: ClaimedTurn, end: TurnEnd, write: (tx: Transaction) => Promise<void>): Promise<boolean> {
    return this.#database
      .transaction(async (tx) => {
        const updating = tx.query(
          `/* turn:finish */ update turns set state = $3, reply = $4, usage = $5, interrupted = $6, notice = $7, error = $8,
           finished_at = now(), lease_until = null
         where id = $1 and epoch = $2 and state = 'running'`,
          [
            turn.turnId,
            turn.epoch,
            end.state,
            sanitize(end.reply),
            json(end.usage),
            end.interrupted,
            end.notice && sanitize(end.notice),
            end.error && json(end.error),
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
        // Sent without waiting for each other's answers: whatever one of them says against it, all of it is rolled back.
        const unseen = end.state === "done" ? assertNoSteer(tx, turn.turnId) : Promise.resolve();
        const written = write(tx);
        const queued = tx.query(
          `/* turn:outbox */ with done as (update inbox set done_at = now() where id = $1)
         insert into outbox (id, turn_id, channel, agent, payload) values ($2, $3, $4, $5, $6)`,
          [turn.inboxId, this.#newId(), turn.turnId, turn.channel, turn.agent, json(outboxPayload(turn, end))],
        );
        await inOrder([ended, unseen, written], queued);
        return true;
      })
      .catch((error: unknown) => {
        if (error instanceof SteerWaiting) return false;
        if (error instanceof EndedBefore) return true;
        throw error;
      });
  }

  /** Puts the turn back in line for the next process: an orderly shutdown, not a crash. */
  async checkpoint(fence: Fence): Promise<void> {
    await this.#database.query(
      `/* turn:checkpoint */ update turns set state = 'queued', checkpoints = checkpoints + 1, lease_node = null, lease_boot = null, lease_until = null
       where id = $1 and epoch = $2 and state = 'running'`,
      [fence.turnId, fence.epoch],
    );
  }

  /** Asks the runner of the session's turn, wherever it is, to stop; the id of that turn, or null. */
  async requestAbort(sessionKey: string): Promise<string | null> {
    const { rows } = await this.#database.query<{ id: string }>(
      "/* turn:abort */ update turns set abort_requested = true where session_key = $1 and state = 'running' returning id",
      [sessionKey],
    );
    return rows[0]?.id ?? null;
  }

  /** Running and queued turns of a session. */
  async session(sessionKey: string): Promise<{
    readonly running: { readonly turnId: string; readonly startedAt: Date } | null;
    readonly queued: number;
  }> {
    const { rows } = await this.#database.query<{ id: string; state: string; started_at: Date }>(
      "/* turn:session */ select id, state, started_at from turns where session_key = $1 and state in ('queued', 'running')",
      [sessionKey],
    );
    const running = rows.find((row) => row.state === "running");
    return {
      running: running ? { turnId: running.id, startedAt: running.started_at } : null,
      queued: rows.filter((row) => row.state === "queued").length,
    };
  }

  /** Null for a turn that is not the agent's. */
  async look(agent: string, turnId: string): Promise<TurnRow | null> {
    if (!UUID.test(turnId)) return null;
    const { rows } = await this.#database.query<EndRow>(
      `/* turn:look */ select t.state, t.attempt, t.reply, t.usage, t.interrupted, t.notice, t.error, i.conversation, i.user_id
       from turns t join inbox i on i.id = t.inbox_id where t.id = $1 and t.agent = $2`,
      [turnId, agent],
    );
    const row = rows[0];
    if (!row) return null;
    if (row.state === "queued" || row.state === "running")
      return { state: row.state, attempt: row.attempt, user: row.user_id };
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
      },
    };
  }

  /** Open turns by agent, for health and metrics. */
  async open(): Promise<readonly { readonly agent: string; readonly running: number; readonly queued: number }[]> {
    const { rows } = await this.#database.query<{ agent: string; running: number; queued: number }>(
      `/* turn:open */ select agent, count(*) filter (where state = 'running')::int as running, count(*) filter (where state = 'queued')::int as queued
       from turns where state in ('queued', 'running') group by agent`,
    );
    return rows;
  }
}

/** What a model or a tool says may hold what PostgreSQL does not store: a turn must not fail to end because of it. */
function json(value: unknown): string {
  return JSON.stringify(sanitizeJson(value));
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function leaseLost(fence: Fence): RuntimeError {
  return new RuntimeError("RUNTIME_LEASE_LOST", "Another runner has taken this turn over.", { turnId: fence.turnId });
}

async function assertFence(tx: Queryable, fence: Fence): Promise<void> {
  const { count } = await tx.query(
    "/* turn:fence */ select 1 from turns where id = $1 and epoch = $2 and state = 'running' for share",
    [fence.turnId, fence.epoch],
  );
  if (count === 0) throw leaseLost(fence);
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

/** Of a longer queue the newest are not ranked yet: ranking is what a claim spends its time on. */
const RANKED = 2_000;

/**
 * Sessions with open turns lead to the turn that is first in line in each: a long queue of one session costs no more than a short
 * one, and what /interrupt puts ahead is found however late it came. `others` has the turns that run already, too (without an
 * id), so that they take the first places in every count: of their user, of the user's share, of all others. Priority counts
 * among the turns of one user alone.
 */
const CLAIM = `/* turn:claim */ with sessions as (
    select session_key from inbox where owner and done_at is null and agent = any($1::text[])
    union
    select session_key from (
      select session_key from inbox where not owner and done_at is null and agent = any($1::text[]) order by seq limit ${RANKED}) oldest),
  running as materialized (
    select id, inbox_id, session_key, agent, priority, seq, lease_until, lease_node, lease_boot from turns where state = 'running'),
  head as (
    select t.id, t.inbox_id, t.priority, t.seq
    from sessions s cross join lateral (
      select id, inbox_id, priority, seq, agent from turns
      where session_key = s.session_key and state in ('queued', 'running') and state = 'queued'
      order by priority desc, seq limit 1) t
    where not exists (select 1 from running r where r.session_key = s.session_key)
    union all
    select r.id, r.inbox_id, r.priority, r.seq from running r
    where r.agent = any($1::text[]) and (r.lease_until < now() or (r.lease_node = $2 and r.lease_boot <> $3))
      and not exists (select 1 from running o where o.session_key = r.session_key and o.id <> r.id)),
  open as (
    select h.id, h.priority, h.seq, i.owner, i.channel, i.user_id from head h join inbox i on i.id = h.inbox_id),
  others as (
    select id, priority, seq, channel collate "C" as channel, user_id collate "C" as user_id from open where not owner
    union all
    select null, 0, 0, channel, user_id from unnest($8::text[], $9::text[]) as active (channel, user_id)),
  of_user as (
    select *, row_number() over (partition by channel, user_id order by id is not null, priority desc, seq) as nth_of_user from others),
  of_holder as (
    select *, row_number() over (
      partition by channel, ${holderOf("user_id")}
      order by id is not null, nth_of_user, seq) as nth
    from of_user where id is null or nth_of_user <= $7),
  of_others as (
    select *, row_number() over (order by id is not null, nth, seq) as place from of_holder
    where id is null or nth <= $7),
  picked as (
    select id from (
      select id, 0 as place, priority, seq from open where owner
      union all
      select id, place, priority, seq from of_others where id is not null and place <= $6) allowed
    order by place, priority desc, seq
    limit $5),
  next as (
    select t.id from turns t join picked on picked.id = t.id
    where t.state = 'queued'
      or (t.state = 'running' and (t.lease_until < now() or (t.lease_node = $2 and t.lease_boot <> $3)))
    for update of t skip locked),
  claimed as (
    update turns t set state = 'running', epoch = epoch + 1, attempt = attempt + 1, abort_requested = false,
      lease_node = $2, lease_boot = $3, lease_until = now() + $4 * interval '1 millisecond', started_at = coalesce(started_at, now())
    from next where t.id = next.id
    returning t.*)
  select c.id, c.inbox_id, c.epoch, c.attempt, c.checkpoints, c.agent, c.session_key, c.conversation_id,
         i.channel, i.conversation, i.user_id, i.owner, i.text, i.attachments, i.history, i.sent_at
  from claimed c join inbox i on i.id = c.inbox_id`;
