/** The SQL of turn_steps: what a running turn has done so far; and of the texts of /steer that it has not seen yet. */

import type { Database, Queryable } from "../../contracts/database.ts";
import type { ToolCall } from "../../contracts/message.ts";
import type { NewId } from "../../contracts/ports.ts";
import type { ToolResult } from "../../contracts/tool.ts";
import { sanitize } from "../../domain/cap.ts";
import type { CountedCall } from "../../domain/usage.ts";
import { countUsage } from "../usage/count.ts";
import { leaseLost } from "./turn-fence.ts";
import {
  type ClaimedTurn,
  type Fence,
  type Steer,
  type StepRow,
  type StoredReply,
  type StoredStep,
  toJson,
  toStep,
} from "./turn-rows.ts";

const RECORD_REPLY = `/* turn:reply */ with step as (
    insert into turn_steps (turn_id, n, epoch, kind, state, result, finished_at)
    values ($1, $2, $3, 'reply', 'done', $4, now())
    on conflict (turn_id, n) do nothing
    returning n)
  ${countUsage({ guard: "step", agent: "$5::text", calls: "$6::jsonb" })}`;

export class StepStore {
  readonly #database: Database;
  readonly #newId: NewId;

  constructor(deps: { database: Database; newId: NewId }) {
    this.#database = deps.database;
    this.#newId = deps.newId;
  }

  /** Counts `calls` with it: not again where the step is there already. */
  async recordReply(
    tx: Queryable,
    turn: Pick<ClaimedTurn, "turnId" | "epoch" | "agent">,
    n: number,
    reply: StoredReply,
    calls: readonly CountedCall[],
  ): Promise<void> {
    await tx.query(RECORD_REPLY, [turn.turnId, n, turn.epoch, toJson(reply), turn.agent, toJson(calls)]);
  }

  /** The intention to call, committed before the call: after a crash it is known that the call may have happened. */
  async recordIntention(fence: Fence, n: number, call: ToolCall): Promise<void> {
    const { count } = await this.#database.query(
      `/* turn:intention */ with fence as (select id from turns where id = $1 and epoch = $2 and state = 'running' for share)
       insert into turn_steps (turn_id, n, epoch, kind, tool_call_id, state, request)
       select id, $3, $2, 'tool', $4, 'intended', $5 from fence
       on conflict (turn_id, n) do update set epoch = excluded.epoch, state = 'intended', request = excluded.request
         where turn_steps.tool_call_id = excluded.tool_call_id
           and (turn_steps.state = 'asked' or (turn_steps.state = 'intended' and turn_steps.epoch = excluded.epoch))
       returning n`,
      [fence.turnId, fence.epoch, n, call.id, toJson(call)],
    );
    if (count === 0) throw leaseLost(fence);
  }

  /** What a call has done once, as the answer to a question that nobody was asked. The same ordinal again is the same note. */
  async note(fence: Fence, n: number, ordinal: number, text: string): Promise<void> {
    const { count } = await this.#database.query(
      `/* turn:note */ with fence as (select id from turns where id = $1 and epoch = $2 and state = 'running' for share)
       insert into turn_questions (id, turn_id, n, ordinal, question, state, answer, answered_at, expires_at)
       select $3, id, $4, $5, '{"text": "", "choices": [], "noted": true}', 'answered', $6, now(), now() from fence
       on conflict (turn_id, n, ordinal) do update set answer = turn_questions.answer
       returning id`,
      [fence.turnId, fence.epoch, this.#newId(), n, ordinal, text],
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
      [fence.turnId, n, state, toJson(result)],
    );
  }

  async recordSteer(tx: Queryable, fence: Fence, n: number, steer: Steer): Promise<void> {
    await tx.query(
      `/* turn:steer */ with step as (
         insert into turn_steps (turn_id, n, epoch, kind, state, request, finished_at)
         values ($1, $2, $3, 'steer', 'done', $4, now()) on conflict (turn_id, n) do nothing)
       update turn_steers set step = $2 where id = $5`,
      [fence.turnId, n, fence.epoch, toJson({ steer_id: steer.id, text: steer.text }), steer.id],
    );
  }

  /** In their order. */
  async list(turnId: string): Promise<StoredStep[]> {
    const { rows } = await this.#database.query<StepRow>(
      `/* turn:steps */ select n, kind, state, request, result,
         (select jsonb_agg(jsonb_build_object('state', q.state, 'answer', q.answer, 'id', q.id,
             'digest', q.approval ->> 'digest', 'noted', q.question -> 'noted' is not null, 'decision', q.decision,
             'delegated', q.question -> 'delegation' is not null, 'text', q.question ->> 'text', 'seen', q.question ->> 'seen',
             'sent', case when r.question_id is not null then r.peer is not null end) order by q.ordinal)
          from turn_questions q left join remote_tasks r on r.question_id = q.id where q.turn_id = s.turn_id and q.n = s.n) as questions
       from turn_steps s where turn_id = $1 order by n`,
      [turnId],
    );
    return rows.map(toStep);
  }

  /**
   * Durable for a turn that still runs or waits and has fewer than `most`, shown ones included. The same id again is the same steer,
   * whatever has become of its turn.
   */
  async addSteer({ id, text }: Steer, turnId: string | null, most: number | null): Promise<"added" | "ended" | "full"> {
    const { rows } = await this.#database.query<{ running: boolean; added: boolean }>(
      `/* turn:add-steer */ with fence as (select id from turns where id = $1 and state in ('running', 'waiting') for share),
       earlier as (select id from turn_steers where id = $2),
       added as (
         insert into turn_steers (id, turn_id, text) select $2, id, $3 from fence
         where not exists (select from earlier) and ($4::int is null
           or (select count(*) from turn_steers where turn_id = $1 and step is null)
            + (select count(*) from turn_steps where turn_id = $1 and kind = 'steer') < $4::int)
         returning id)
       select exists (select from fence) as running,
         exists (select from added union all select from earlier) as added`,
      [turnId, id, sanitize(text), most],
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
}
