/** The rows of tasks that turns of this database have for agents elsewhere: who may have them, and what became of them. */

import type { Database } from "../../contracts/database.ts";
import type { WaitingTurn } from "../../contracts/delegation.ts";
import type { TaskOutcome } from "../../domain/delegation.ts";
import { WAKE } from "./turn-delegation.ts";
import { TURN_CHANNEL } from "./turn-fence.ts";
import { toJson } from "./turn-rows.ts";

/** A task that is not ended. */
export interface OpenTask {
  readonly questionId: string;
  /** Its turn still waits for it. */
  readonly isWanted: boolean;
}

export interface RemoteTask extends OpenTask {
  readonly turnId: string;
  /** Of the turn that waits. */
  readonly attempt: number;
  readonly toolCallId: string;
  readonly target: string;
  readonly text: string;
  /** Stands for the user whose turn waits, apart from others; null: the owner. */
  readonly user: string | null;
  readonly chain: readonly WaitingTurn[];
  readonly key: string;
  /** Node that may have accepted it. */
  readonly peer: string | null;
  readonly sender: string | null;
  readonly peerTurn: string | null;
  /** Milliseconds until the wait ends; negative: for so long it has ended. */
  readonly remainingMs: number;
}

const WANTED = `q.state = 'open' and t.state = 'waiting' and q.expires_at > now() as "isWanted"`;

export function createRemoteTaskStore(database: Database) {
  return {
    /** Those of turns of these agents. */
    async open(agents: readonly string[]): Promise<readonly OpenTask[]> {
      const { rows } = await database.query<OpenTask>(
        `/* remote-tasks:open */ select r.question_id as "questionId", ${WANTED}
         from remote_tasks r join turn_questions q on q.id = r.question_id join turns t on t.id = q.turn_id
         where not r.ended and t.agent = any($1::text[])`,
        [agents],
      );
      return rows;
    },

    /** Null for one that is ended. */
    async read(questionId: string): Promise<RemoteTask | null> {
      const { rows } = await database.query<RemoteTask>(
        `/* remote-tasks:read */ select r.question_id as "questionId", ${WANTED}, q.turn_id as "turnId", t.attempt,
           s.tool_call_id as "toolCallId", r.target, q.question ->> 'text' as text,
           case when not i.owner then left(encode(sha256(convert_to(i.channel || '/' || i.user_id, 'UTF8')), 'hex'), 32) end as "user",
           r.chain, r.key, r.peer, r.sender, r.peer_turn as "peerTurn",
           (extract(epoch from q.expires_at - now()) * 1000)::float8 as "remainingMs"
         from remote_tasks r join turn_questions q on q.id = r.question_id join turns t on t.id = q.turn_id
           join inbox i on i.id = t.inbox_id join turn_steps s on s.turn_id = q.turn_id and s.n = q.n
         where r.question_id = $1 and not r.ended`,
        [questionId],
      );
      return rows[0] ?? null;
    },

    /** Before the first request, and by each process that goes on with it: false where another one has come first. */
    async take(questionId: string, peer: string, sender: string, before: string | null): Promise<boolean> {
      const { count } = await database.query(
        `/* remote-tasks:take */ update remote_tasks set peer = $2, sender = $3
         where question_id = $1 and not ended and sender is not distinct from $4::uuid and (peer is null or peer = $2)`,
        [questionId, peer, sender, before],
      );
      return count > 0;
    },

    /** The peer has refused it for certain: another one may have it. False where another process has gone on with it. */
    async giveUp(questionId: string, sender: string): Promise<boolean> {
      const { count } = await database.query(
        `/* remote-tasks:refused */ update remote_tasks set peer = null, sender = null
         where question_id = $1 and sender = $2 and peer_turn is null and not ended`,
        [questionId, sender],
      );
      return count > 0;
    },

    async accepted(questionId: string, peerTurn: string): Promise<void> {
      await database.query(
        "/* remote-tasks:accepted */ update remote_tasks set peer_turn = $2 where question_id = $1",
        [questionId, peerTurn],
        // What is lost is asked for again under the same key.
        { durable: false },
      );
    },

    /** The turn that waits gets the outcome and is put in line; what has ended before stays as it is. */
    async answer(questionId: string, outcome: TaskOutcome): Promise<void> {
      await database.transaction(async (tx) => {
        await tx.query(
          `/* remote-tasks:lock-waiting */ select t.id from turn_questions q join turns t on t.id = q.turn_id
           where q.id = $1 for update of t`,
          [questionId],
        );
        await tx.query(
          `/* remote-tasks:answer */ with ended as (update remote_tasks set ended = true where question_id = $1),
           answered as (
             update turn_questions q set state = 'answered', answer = $2, answered_at = now()
             where q.id = $1 and q.state = 'open' returning q.id, q.turn_id),
           ${WAKE}
           select pg_notify('${TURN_CHANNEL}', 'queued') from woken`,
          [questionId, toJson(outcome)],
        );
      });
    },

    /** Nothing is left to be done for it. */
    async end(questionId: string): Promise<void> {
      await database.query("/* remote-tasks:end */ update remote_tasks set ended = true where question_id = $1", [
        questionId,
      ]);
    },
  };
}

export type RemoteTaskStore = ReturnType<typeof createRemoteTaskStore>;
