/**
 * Tasks that a turn hands to a turn of another session. The turn waits for it as for an answer: its question names the other turn,
 * and that one's conversation names the question. Both ends commit with the states of their turns, so that a restart loses neither.
 */

import type { Database, Queryable } from "../../contracts/database.ts";
import type { WaitingTurn } from "../../contracts/delegation.ts";
import { type ChainLink, MAX_DELEGATION_DEPTH, type TaskOutcome } from "../../domain/delegation.ts";
import { sessionKey } from "../../domain/session-key.ts";
import type { TaskLimits } from "../../domain/task-allowance.ts";
import { countUsage } from "../usage/count.ts";
import { TURN_CHANNEL } from "./turn-fence.ts";
import { type ClaimedTurn, type Delegate, type TurnEnd, UUID } from "./turn-rows.ts";

export interface Task extends Delegate {
  readonly message: string;
}

const CONVERSATION = /^delegation:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** The question of the turn of this database that waits for this one; null for another one. */
export function delegatedBy({ conversation }: Pick<ClaimedTurn, "conversation">): string | null {
  return CONVERSATION.exec(conversation)?.[1] ?? null;
}

/** Whether another turn waits for this one, here or on the node of a peer: its session was opened for it alone. */
export function isTask(turn: Pick<ClaimedTurn, "conversation" | "chain">): boolean {
  return turn.chain !== null || delegatedBy(turn) !== null;
}

/** Puts the other turn in line, as a message of the same user in a session of its own. */
export async function startDelegated(
  tx: Queryable,
  inboxId: string,
  turn: ClaimedTurn,
  questionId: string,
  { agent, message, turnId }: Pick<Task, "agent" | "message"> & { readonly turnId: string },
): Promise<void> {
  const conversation = `delegation:${questionId}`;
  const { channel, user } = turn;
  await tx.query(
    `/* turn:delegate */ with message as (
       insert into inbox (id, channel, agent, conversation, user_id, external_id, body_hash, session_key, text, owner)
       values ($1, $2, $3, $4, $5, $4, '', $6, $7, $8) returning id, seq, session_key, agent),
     queued as (
       insert into turns (id, inbox_id, seq, session_key, agent) select $9, id, seq, session_key, agent from message returning id)
     select pg_notify('${TURN_CHANNEL}', 'queued') from queued`,
    [
      inboxId,
      channel,
      agent,
      conversation,
      user,
      sessionKey({ agent, channel, conversation, user }),
      message,
      turn.owner,
      turnId,
    ],
  );
}

/** The turn and those that wait for it, its own first; no further up than a task may be handed down. */
export async function delegationChain(
  database: Database,
  node: string,
  turn: ClaimedTurn,
): Promise<readonly ChainLink[]> {
  const link = ({ id, agent }: { id: string; agent: string }): ChainLink => ({ node, agent, turn_id: id, own: true });
  const chain = [link({ id: turn.turnId, agent: turn.agent })];
  let below: Pick<ChainRow, "id" | "conversation" | "chain"> = { ...turn, id: turn.turnId };
  while (chain.length <= MAX_DELEGATION_DEPTH) {
    const question = delegatedBy(below);
    if (question === null) break;
    const { rows } = await database.query<ChainRow>(
      `/* turn:delegation-chain */ select t.id, t.agent, i.conversation, i.chain
       from turn_questions q join turns t on t.id = q.turn_id join inbox i on i.id = t.inbox_id
       where q.id = $1 and q.question -> 'delegation' ->> 'turn_id' = $2`,
      [question, below.id],
    );
    const [above] = rows;
    if (!above) break;
    chain.push(link(above));
    below = above;
  }
  return [...chain, ...(await withOwn(database, below.chain ?? []))];
}

interface ChainRow {
  readonly id: string;
  readonly agent: string;
  readonly conversation: string;
  readonly chain: readonly WaitingTurn[] | null;
}

/** A task may have come back to the database that it was handed out from. */
export async function withOwn(database: Queryable, chain: readonly WaitingTurn[]): Promise<readonly ChainLink[]> {
  if (chain.length === 0) return [];
  const { rows } = await database.query<{ id: string }>(
    "/* turn:own-chain */ select id from turns where id = any($1::uuid[])",
    [chain.map(({ turn_id }) => turn_id).filter((id) => UUID.test(id))],
  );
  const own = new Set(rows.map(({ id }) => id));
  return chain.map((turn) => ({ ...turn, own: own.has(turn.turn_id.toLowerCase()) }));
}

/** What the turn is limited to as the task of another one of this database; null: nothing. */
export async function limitsOf(database: Queryable, turn: ClaimedTurn): Promise<TaskLimits | null> {
  const question = delegatedBy(turn);
  if (question === null) return null;
  const { rows } = await database.query<{ limits: TaskLimits | null }>(
    `/* turn:limits */ select q.question -> 'delegation' -> 'limits' as limits from turn_questions q
     where q.id = $1 and q.question -> 'delegation' ->> 'turn_id' = $2`,
    [question, turn.turnId],
  );
  return rows[0]?.limits ?? null;
}

/** Tokens that tasks of the turn have used with all that they have handed on; one that has not ended counts as what it was given. */
export async function spentByTasks(database: Queryable, turnId: string): Promise<number> {
  const task = "c.id, c.usage, (q.question #>> '{delegation,limits,tokens}')::float8 as granted";
  const { rows } = await database.query<{ tokens: number }>(
    `/* turn:spent-by-tasks */ with recursive tasks as (
       select ${task} from turn_questions q join turns c on c.id = ${CHILD} where q.turn_id = $1
       union all
       select ${task} from tasks t join turn_questions q on q.turn_id = t.id join turns c on c.id = ${CHILD}
       where t.usage is not null)
     select coalesce(sum(case when usage is null then coalesce(granted, 0)
       else (usage ->> 'inputTokens')::float8 + (usage ->> 'outputTokens')::float8 end), 0) as tokens from tasks`,
    [turnId],
  );
  return rows[0]?.tokens ?? 0;
}

/**
 * The first statement of a delegated turn's end: the turn that waits is locked before the one below it, as where the upper one ends or
 * its deadline passes.
 */
export const LOCK_WAITING = `/* turn:lock-waiting */ select t.id from turn_questions q join turns t on t.id = q.turn_id
  where q.id = $1 and q.question -> 'delegation' ->> 'turn_id' = $2 for update of t`;

/**
 * A part of a statement: wakes the turn whose question is in `answered`, unless it waits for another task, too. A statement before it has
 * locked that turn, so that of two last tasks that end at once the second one sees the first one's end.
 */
export const WAKE = `woken as (
  update turns t set state = 'queued' from answered a where t.id = a.turn_id and t.state = 'waiting'
    and not exists (select 1 from turn_questions o where o.turn_id = t.id and o.state = 'open' and o.id <> a.id)
  returning t.id)`;

/** In place of a reply in the outbox: the turn that waits gets it and is put in line. */
export const REPLY_TO_TURN = `/* turn:delegated */ with done as (update inbox set done_at = now() where id = $1),
  counted as (${countUsage({ guard: "(select 1) once", agent: "$5::text", calls: "$6::jsonb" })}),
  answered as (
    update turn_questions q set state = 'answered', answer = $4, answered_at = now()
    where q.id = $2 and q.state = 'open' and q.question -> 'delegation' ->> 'turn_id' = $3 returning q.id, q.turn_id),
  ${WAKE}
  select pg_notify('${TURN_CHANNEL}', 'queued') from woken`;

export function outcomeOf(turn: ClaimedTurn, { state, reply, notice, error }: TurnEnd): TaskOutcome {
  const { turnId } = turn;
  if (state === "done") return { ok: true, text: reply, turnId };
  const { code, message } = error ?? { code: "RUNTIME_TURN_ABORTED", message: notice ?? "Stopped." };
  return { ok: false, code, message, turnId };
}

/** A part of a statement, and its end: stops the turns whose ids `children` selects as `child`, wherever they run or wait. */
export function stopDelegated(children: string): { readonly part: string; readonly end: string } {
  return {
    part: `stopped as (
      update turns c set abort_requested = true, state = case when c.state = 'waiting' then 'queued' else c.state end
      from (${children}) d where c.id = d.child and c.state in ('queued', 'running', 'waiting') returning c.id)`,
    end: `select pg_notify('${TURN_CHANNEL}', 'abort:' || id) from stopped`,
  };
}

/** The turn of a question's task; null for a question to the user. */
export const CHILD = "(q.question -> 'delegation' ->> 'turn_id')::uuid";

const OPEN_TASKS = stopDelegated(
  `select ${CHILD} as child from turn_questions q where q.turn_id = $1 and q.state = 'open'`,
);
/** Of a turn that ends without its reply: what it has handed on ends with it. */
export const STOP_TASKS = `/* turn:stop-delegated */ with ${OPEN_TASKS.part} ${OPEN_TASKS.end}`;

const ONE_TURN = stopDelegated("select $1::uuid as child");
/** The number of its rows: 1, or 0 where the turn has ended. */
export const STOP_TURN = `/* turn:stop */ with ${ONE_TURN.part} ${ONE_TURN.end}`;
