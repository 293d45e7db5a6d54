/** In which order waiting messages are started, and on which node: one statement, so that two nodes never claim the same turn. */

import type { Database } from "../../contracts/database.ts";
import { holderOf } from "./message-limits.ts";
import { type ClaimedTurn, type ClaimRow, toClaimed } from "./turn-rows.ts";

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

export interface Claim {
  readonly owner: TurnOwner;
  readonly leaseMs: number;
  readonly agents: readonly string[];
  readonly room: ClaimRoom;
  /** Turns that this process runs under leases that it counts as its own. */
  readonly running: readonly string[];
}

/**
 * The next turns that may run: queued, or running under a lease that has ended or whose process was an earlier
 * start of this node. Within a session only the first in line, and none while another one of it runs or waits. The owner's come
 * first; then the user who has the fewest. Raises the epoch.
 */
export async function claimTurns(database: Database, claim: Claim): Promise<readonly ClaimedTurn[]> {
  const { owner, leaseMs, agents, room, running } = claim;
  const { others } = room;
  const { rows } = await database.query<ClaimRow>(
    CLAIM,
    [
      agents,
      owner.node,
      owner.boot,
      leaseMs,
      room.turns,
      others.turns,
      others.ofOneUser,
      others.active.map(({ channel }) => channel),
      others.active.map(({ user }) => user),
      running,
    ],
    // A lost claim is claimed again; later writes of the turn make it durable with them.
    { durable: false },
  );
  return rows.map(toClaimed);
}

/** Attempts (waits aside) up to which a lease that expired in a process that lived on counts as no crash. */
const FREE_LAPSES = 5;

/**
 * SQL over a running turn: its runner has ended. A lease that ends minutes later than one that begins now is from before the
 * database's clock was set back. Where that is set forward, all leases end at once: what this process runs it goes on with, and renews.
 */
const isUnowned = (turn: string) =>
  `(${turn}.id <> all($10::uuid[]) and (${turn}.lease_until < now()
    or ${turn}.lease_until > now() + $4 * interval '1 millisecond' + interval '5 minutes'
    or (${turn}.lease_node = $2 and ${turn}.lease_boot <> $3)))`;

/** Of a longer queue the newest are not ranked yet: ranking is what a claim spends its time on. */
const RANKED = 2_000;

/**
 * Sessions with open turns lead to the turn that is first in line in each: a long queue of one session costs no more than a short
 * one, and what /interrupt puts ahead is found however late it came. `others` has the turns that run already, too (without an
 * id), so that they take the first places in every count: of their user, of the user's share, of all others. Priority counts
 * among the turns of one user alone. A turn that the claiming process itself has run before was not ended by a crash: a machine that is
 * starved or suspended lets leases expire. The condition on all three states is that of the index turns_open, which PostgreSQL uses only for
 * queries that repeat it.
 */
const CLAIM = `/* turn:claim */ with sessions as (
    select session_key from inbox where owner and done_at is null and agent = any($1::text[])
    union
    select session_key from (
      select session_key from inbox where not owner and done_at is null and agent = any($1::text[]) order by seq limit ${RANKED}) oldest),
  running as materialized (
    select id, inbox_id, session_key, agent, priority, seq, lease_until, lease_node, lease_boot from turns where state = 'running'),
  waiting as materialized (select session_key from turns where state = 'waiting'),
  head as (
    select t.id, t.inbox_id, t.priority, t.seq
    from sessions s cross join lateral (
      select id, inbox_id, priority, seq, agent from turns
      where session_key = s.session_key and state in ('queued', 'running', 'waiting') and state = 'queued'
      order by priority desc, seq limit 1) t
    where not exists (select 1 from running r where r.session_key = s.session_key)
      and not exists (select 1 from waiting w where w.session_key = s.session_key)
    union all
    select r.id, r.inbox_id, r.priority, r.seq from running r
    where r.agent = any($1::text[]) and ${isUnowned("r")}
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
    select t.id, t.state = 'running' and t.lease_node = $2 and t.lease_boot = $3 as lapsed
    from turns t join picked on picked.id = t.id
    where t.state = 'queued'
      or (t.state = 'running' and ${isUnowned("t")})
    for update of t skip locked),
  claimed as (
    update turns t set state = 'running', epoch = epoch + 1, attempt = attempt + 1,
      checkpoints = checkpoints + (next.lapsed is true and t.attempt - t.waits <= ${FREE_LAPSES})::int,
      lease_node = $2, lease_boot = $3, lease_until = now() + $4 * interval '1 millisecond', started_at = coalesce(started_at, now())
    from next where t.id = next.id
    returning t.*)
  select c.id, c.inbox_id, c.epoch, c.attempt, c.checkpoints, c.waits, c.abort_requested, c.agent, c.session_key, c.conversation_id,
         i.channel, i.conversation, i.user_id, i.owner, i.external_id, i.text, i.attachments, i.history, i.sent_at, i.chain,
         (select jsonb_build_object('ids', d.platform_ids, 'words', d.words) from drafts d where d.turn_id = c.id) as draft
  from claimed c join inbox i on i.id = c.inbox_id`;
