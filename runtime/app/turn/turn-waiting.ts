/** A turn that waits for an answer or for tasks: how it begins to wait, and what wakes it (answers, the deadline, /stop). */

import type { Database, Transaction } from "../../contracts/database.ts";
import { RuntimeError } from "../../contracts/errors.ts";
import type { ToolCall } from "../../contracts/message.ts";
import type { NewId } from "../../contracts/ports.ts";
import { sanitize } from "../../domain/cap.ts";
import type { ChainLink } from "../../domain/delegation.ts";
import type { TaskLimits } from "../../domain/task-allowance.ts";
import type { TurnOwner } from "./queue-order.ts";
import { CHILD, delegationChain, limitsOf, spentByTasks, startDelegated, stopDelegated } from "./turn-delegation.ts";
import { stopped } from "./turn-end.ts";
import { isToStop, leaseLost } from "./turn-fence.ts";
import {
  type AskedQuestion,
  type ClaimedTurn,
  decidedBy,
  decidedIn,
  draftOf,
  type OpenQuestion,
  type OutboxPayload,
  type QuestionRow,
  questionPayload,
  toJson,
  toOpenQuestion,
  UUID,
  unsentText,
} from "./turn-rows.ts";

/** A call that asked, at its step. */
export interface AskingCall {
  readonly n: number;
  readonly call: ToolCall;
  /** Null: tasks of other calls of the batch come first. */
  readonly question: AskedQuestion | null;
  /** Ends of its earlier tasks that hooks have seen now: they see each once, however often the call is executed again. */
  readonly seen: readonly SeenEnd[];
}

export interface SeenEnd {
  readonly ordinal: number;
  /** As the hooks have left it. */
  readonly text: string;
}

/** One that has asked, with the id that its question gets. */
export type WaitingCall = AskingCall & { readonly questionId: string };

export interface GivenAnswer {
  readonly agent: string;
  readonly turnId: string;
  /** Absent: the turn's newest question. */
  readonly questionId?: string;
  readonly text: string;
  /** Channel-side user who answers. */
  readonly by: string;
  /** Id of the message that it is in, which may come again after the turn has asked more. */
  readonly message?: string | undefined;
}

const DUE_TASKS = stopDelegated("select child from due where child is not null");

const OVERDUE = stopDelegated(
  `select t.id as child from inbox i join turns t on t.inbox_id = i.id
   where i.deadline <= now() and i.done_at is null and i.agent = any($1::text[]) and not t.abort_requested`,
);

/** SQL over a waiting turn `t`: it waits for a person, not for another turn. */
export const ASKS_USER =
  "exists (select 1 from turn_questions q where q.turn_id = t.id and q.state = 'open' and q.question -> 'delegation' is null)";

/** Ahead of what /interrupt puts in line: a turn that is woken to be stopped ends before the next one begins. */
const ENDS_FIRST = 2;

export class TurnWaiting {
  readonly #database: Database;
  readonly #newId: NewId;
  readonly #node: string;

  constructor(deps: { database: Database; newId: NewId; owner: TurnOwner }) {
    this.#database = deps.database;
    this.#newId = deps.newId;
    this.#node = deps.owner.node;
  }

  /**
   * Lets the turn wait: the steps of the calls that asked, their questions, the turn's state and the messages that bring the text so far
   * and the question to the user, or the turns that are to do the tasks, commit together. Calls without a question ask when they are
   * executed again. Null where the user is asked nothing. RUNTIME_TURN_ABORTED where /stop or /interrupt came first,
   * RUNTIME_LEASE_LOST as any write.
   */
  async begin(turn: ClaimedTurn, calls: readonly WaitingCall[], text: string): Promise<OpenQuestion | null> {
    const questionIds = calls.flatMap(({ question, questionId }) => (question === null ? [] : [questionId]));
    return this.#database.transaction(async (tx) => {
      const { count } = await tx.query(
        `/* turn:wait */ update turns t set state = 'waiting', waits = waits + 1, lease_node = null, lease_boot = null, lease_until = null
         where id = $1 and epoch = $2 and state = 'running' and not ${isToStop("t")}`,
        [turn.turnId, turn.epoch],
      );
      if (count === 0) {
        // The commit of an earlier try may have gone through although its answer was lost.
        const { rows } = await tx.query<QuestionRow & { delegated: boolean }>(
          `select id, question, expires_at, approval, question -> 'delegation' is not null as delegated
           from turn_questions where id = any($1::uuid[])`,
          [questionIds],
        );
        if (rows[0]) return rows[0].delegated ? null : toOpenQuestion(rows[0]);
        const held = await tx.query("select 1 from turns where id = $1 and epoch = $2 and state = 'running'", [
          turn.turnId,
          turn.epoch,
        ]);
        throw held.count > 0 ? stopped() : leaseLost(turn);
      }
      for (const asking of calls) {
        await tx.query(
          `/* turn:asked */ insert into turn_steps (turn_id, n, epoch, kind, tool_call_id, state, request)
           values ($1, $2, $3, 'tool', $4, 'asked', $5)
           on conflict (turn_id, n) do update set state = 'asked', epoch = excluded.epoch
             where turn_steps.state in ('intended', 'asked')`,
          [turn.turnId, asking.n, turn.epoch, asking.call.id, toJson(asking.call)],
        );
        for (const { ordinal, text: end } of asking.seen) {
          await tx.query(
            `/* turn:seen-end */ update turn_questions set question = question || jsonb_build_object('seen', $4::text)
             where turn_id = $1 and n = $2 and ordinal = $3`,
            [turn.turnId, asking.n, ordinal, sanitize(end)],
          );
        }
      }
      let open: OpenQuestion | null = null;
      for (const { n, question, questionId } of calls) {
        if (question === null) continue;
        const row = await this.#ask(tx, turn, n, question, questionId);
        if (row && question.delegate === null) open = toOpenQuestion(row);
      }
      if (open === null) return null;
      await this.#sendWords(tx, turn, open.id, text);
      await tx.query(
        `/* turn:question-outbox */ insert into outbox (id, turn_id, key, channel, agent, payload)
         values ($1, $2, $3, $4, $5, $6) on conflict (turn_id, key) do nothing`,
        [
          this.#newId(),
          turn.turnId,
          `question:${open.id}`,
          turn.channel,
          turn.agent,
          toJson(questionPayload(turn, open)),
        ],
      );
      return open;
    });
  }

  /** A question of a call, and the turn that is to answer it. Null for one that is open: an older version wakes a turn that waits for more. */
  async #ask(
    tx: Transaction,
    turn: ClaimedTurn,
    n: number,
    { text, choices, ordinal, deadlineMs, delegate, approval }: AskedQuestion,
    questionId: string,
  ): Promise<QuestionRow | null> {
    const task = delegate?.chain === null ? this.#newId() : null;
    const limits = delegate?.limits ? { limits: delegate.limits } : {};
    const delegation = delegate === null ? {} : { delegation: { agent: delegate.agent, turn_id: task, ...limits } };
    const { rows } = await tx.query<QuestionRow>(
      `/* turn:question */ insert into turn_questions (id, turn_id, n, ordinal, question, expires_at, approval)
       values ($1, $2, $3, $4, $5, now() + $6 * interval '1 millisecond', $7)
       on conflict (turn_id, n, ordinal) do nothing returning id, question, expires_at, approval`,
      [
        questionId,
        turn.turnId,
        n,
        ordinal,
        toJson({ text, choices, ...delegation }),
        deadlineMs,
        approval === undefined ? null : toJson(approval),
      ],
    );
    const [row] = rows;
    if (!row) return null;
    if (delegate && task !== null) {
      await startDelegated(tx, this.#newId(), turn, questionId, { agent: delegate.agent, message: text, turnId: task });
    }
    if (delegate?.chain) {
      await tx.query(
        "/* turn:hand-out */ insert into remote_tasks (question_id, target, chain, key) values ($1, $2, $3, $4)",
        [questionId, delegate.agent, toJson(delegate.chain), `${turn.turnId}:${n}:${ordinal}`],
      );
    }
    return row;
  }

  /** The text so far goes out before the question, in the messages that have shown it if there are any; the reply is sent without it. */
  async #sendWords(tx: Transaction, turn: ClaimedTurn, questionId: string, text: string): Promise<void> {
    const { turnId, conversation, user, channel, agent } = turn;
    const unsent = unsentText(turn, text);
    if (unsent.trim() === "") return;
    const payload = { conversation, user, text: unsent, notice: null } satisfies OutboxPayload;
    const draft = draftOf("$2");
    await tx.query(
      `/* turn:words */ with cut as (
         insert into drafts (turn_id, words) values ($2, $3)
         on conflict (turn_id) do update set words = excluded.words, platform_ids = '{}')
       insert into outbox (id, turn_id, key, channel, agent, payload, draft_ids, unsure)
       values ($1, $2, $4, $5, $6, $7, ${draft.ids}, ${draft.isUnheard})
       on conflict (turn_id, key) do nothing`,
      [this.#newId(), turnId, sanitize(text), `words:${questionId}`, channel, agent, toJson(payload)],
    );
  }

  /**
   * Durable when it resolves, with the question's id. The first answer counts; the same one by the same user again is no other
   * one. RUNTIME_CONFLICT where the turn does not wait for it (any more), RUNTIME_TURN_UNKNOWN.
   */
  async answer({ agent, turnId, questionId, text, by, message }: GivenAnswer): Promise<string> {
    const answer = sanitize(text);
    return this.#database.transaction(async (tx) => {
      const { rows: turns } = await tx.query<{ state: string }>(
        "/* turn:answer-lock */ select state from turns where id = $1 and agent = $2 for update",
        [UUID.test(turnId) ? turnId : null, agent],
      );
      const [turn] = turns;
      if (!turn) throw new RuntimeError("RUNTIME_TURN_UNKNOWN", `The agent "${agent}" has no such turn.`);
      // An answer may carry anything as an id, also what the database does not take for a text.
      if (questionId !== undefined && !UUID.test(questionId)) throw refused(turnId, "The turn has not asked this.");
      const { rows } = await tx.query<{
        id: string;
        state: string;
        answer: string | null;
        answered_by: string | null;
        late: boolean;
        approval: boolean;
      }>(
        `/* turn:answer-question */ select id, state, answer, answered_by, expires_at <= now() as late,
           approval is not null as approval from turn_questions
         where turn_id = $1 and ($2::uuid is null or id = $2::uuid) and question -> 'delegation' is null
           and question -> 'noted' is null
         order by (question ->> 'message' = $3::text) is true desc, created_at desc, id desc limit 1`,
        [turnId, questionId ?? null, message ?? null],
      );
      const [question] = rows;
      if (!question) throw refused(turnId, "The turn has not asked this.");
      // No free text is ever consent.
      if (question.approval)
        throw refused(turnId, "The turn waits for an approval, not for an answer: /approve or /deny.");
      if (question.state === "answered") {
        if (question.answer === answer && question.answered_by === by) return question.id;
        throw refused(turnId, "The question was answered already.");
      }
      if (question.state === "expired" || question.late)
        throw refused(turnId, "The time to answer the question is over.");
      if (turn.state !== "waiting") throw refused(turnId, "The turn does not wait for an answer any more.");
      await tx.query(
        `/* turn:answer */ with answered as (
           update turn_questions set state = 'answered', answer = $2, answered_by = $3, answered_at = now(),
             question = ${decidedIn("$4")} where id = $1 returning turn_id)
         update turns t set state = 'queued' from answered where t.id = answered.turn_id`,
        [question.id, answer, by, message ?? null],
      );
      return question.id;
    });
  }

  /** The turn and those that wait for it, its own first. */
  chain(turn: ClaimedTurn): Promise<readonly ChainLink[]> {
    return delegationChain(this.#database, this.#node, turn);
  }

  /** What the turn is limited to as a task, and the tokens that its own tasks have used; for most turns without a query. */
  async limits(turn: ClaimedTurn): Promise<{ readonly limits: TaskLimits | null; readonly spent: number }> {
    const limits = await limitsOf(this.#database, turn);
    const isCounted = limits !== null && limits.tokens !== null && turn.attempt > 1;
    return { limits, spent: isCounted ? await spentByTasks(this.#database, turn.turnId) : 0 };
  }

  /**
   * The session's turn whose question was answered in this message, which may be over by now, else the one that waits for the user; null
   * where there is none.
   */
  async inSession(
    sessionKey: string,
    message?: string,
  ): Promise<{ readonly turnId: string; readonly isOver: boolean } | null> {
    const { rows } = await this.#database.query<{ id: string; is_over: boolean }>(
      `/* turn:waiting */ select id, is_over from (
         select t.id, t.state not in ('queued', 'running', 'waiting') as is_over, true as answered from ${decidedBy("$2", "$1")}
         union all
         select t.id, false, false from turns t where t.session_key = $1 and t.state = 'waiting' and ${ASKS_USER}) t
       order by answered desc limit 1`,
      [sessionKey, message ?? null],
    );
    return rows[0] ? { turnId: rows[0].id, isOver: rows[0].is_over } : null;
  }

  /**
   * Ends what has waited long enough of the questions of these agents' turns, stops those that were to answer, and wakes turns that wait
   * for nothing any more. Turns that are tasks of other nodes are stopped when those wait no longer.
   */
  async expire(agents: readonly string[]): Promise<void> {
    await this.#database.query(
      `/* turn:expire */ with due as (
         select q.id as question_id, t.id as turn_id, ${CHILD} as child from turn_questions q join turns t on t.id = q.turn_id
         where q.state = 'open' and q.expires_at <= now() and t.state = 'waiting' and t.agent = any($1::text[])
         for update of t skip locked),
       expired as (update turn_questions q set state = 'expired' from due where q.id = due.question_id and q.state = 'open'),
       ${DUE_TASKS.part} ${DUE_TASKS.end}`,
      [agents],
      // What is lost expires again.
      { durable: false },
    );
    // By a statement of its own, which sees the end of a task that came just before.
    await this.#database.query(
      `/* turn:wake */ update turns t set state = 'queued' where t.state = 'waiting' and t.agent = any($1::text[])
         and not exists (select 1 from turn_questions q where q.turn_id = t.id and q.state = 'open')`,
      [agents],
      { durable: false },
    );
    await this.#database.query(`/* turn:deadline */ with ${OVERDUE.part} ${OVERDUE.end}`, [agents], { durable: false });
  }

  /**
   * Wakes the session's waiting turn to end as stopped, or lets one that was to go on end instead; its id, or null where there is
   * none. `only` names the one turn that is meant.
   */
  async stop(
    sessionKey: string,
    { except, only }: { except?: string | undefined; only?: string } = {},
  ): Promise<string | null> {
    const { rows } = await this.#database.query<{ id: string }>(
      `/* turn:stop-waiting */ update turns set state = 'queued', abort_requested = true, priority = ${ENDS_FIRST}
       where session_key = $1 and state in ('queued', 'running', 'waiting') and id is distinct from $2::uuid
         and ($3::uuid is null or id = $3::uuid) and (state = 'waiting' or (state = 'queued' and attempt > 0)) returning id`,
      [sessionKey, except ?? null, only ?? null],
    );
    return rows[0]?.id ?? null;
  }
}

function refused(turnId: string, message: string): RuntimeError {
  return new RuntimeError("RUNTIME_CONFLICT", message, { turnId });
}
