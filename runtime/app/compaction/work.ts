import type { Database, Queryable } from "../../contracts/database.ts";
import { sanitize } from "../../domain/cap.ts";
import { isDue, MOST_COUNTED, type Waiting } from "../../domain/summaries/steps.ts";
import { claimEnd, RELEASED, UNCLAIMED } from "../claims.ts";

/** Which conversations are due, and whose they are. A conversation without unsummarized messages costs one look into an index. */

export interface Claim {
  readonly conversationId: string;
  /** Of this claim alone. */
  readonly owner: string;
  /** How often it has failed by itself since it last succeeded. */
  readonly attempts: number;
  /** Every message up to this insertion number is in a leaf. */
  readonly summarizedSeq: number;
}

/** Conversations of one statement. */
const PAGE = 500;
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/** Looks through all conversations and marks those that are due now. Resolves to how many that were. */
export async function markDue(database: Database, signal: AbortSignal): Promise<number> {
  let marked = 0;
  for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
    signal.throwIfAborted();
    const page: readonly ScannedConversation[] = await scan(database, after);
    const due = page.filter((one) => !one.taken && isDue(one)).map(({ id }) => id);
    if (due.length > 0) {
      const { count } = await database.query(
        `insert into compaction_work (conversation_id, due_at) select id, now() from unnest($1::uuid[]) as due (id)
         on conflict (conversation_id) do update set due_at = excluded.due_at
         where compaction_work.due_at is null and compaction_work.failed_at is null`,
        [due],
        { durable: false },
      );
      marked += count;
    }
    after = page.length < PAGE ? undefined : page.at(-1)?.id;
  }
  return marked;
}

/** Marks one conversation, whose messages are about to leave a prompt. Those of a conversation that was given up stay as they are. */
export async function markConversation(database: Pick<Database, "query">, conversationId: string): Promise<void> {
  await database.query(
    `insert into compaction_work (conversation_id, due_at) values ($1, now())
     on conflict (conversation_id) do update set due_at = excluded.due_at
     where compaction_work.due_at is null and compaction_work.failed_at is null`,
    [conversationId],
  );
}

interface ScannedConversation extends Waiting {
  readonly id: string;
  /** Due already, or given up. */
  readonly taken: boolean;
}

async function scan(database: Database, after: string): Promise<readonly ScannedConversation[]> {
  const { rows } = await database.query<ScannedConversation>(
    `with page as (
       select id, active, finalized_at, updated_at from conversations where id > $1 order by id limit ${PAGE}
     )
     select page.id, waiting.n as messages,
       (extract(epoch from now() - page.updated_at) * 1000)::float8 as "idleMs",
       (not page.active or coalesce(page.finalized_at >= page.updated_at, false)) as ready,
       (work.due_at is not null or work.failed_at is not null) as taken
     from page
     left join compaction_work work on work.conversation_id = page.id
     cross join lateral (
       select count(*)::int as n from (
         select 1 from messages m where m.conversation_id = page.id and m.seq > coalesce(work.summarized_seq, 0)
         order by m.seq limit ${MOST_COUNTED}
       ) as counted
     ) as waiting
     order by page.id`,
    [after],
  );
  return rows;
}

/** The conversation without a claim that has been due for the longest time; null when there is none. */
export async function claim(database: Database, owner: string, leaseMs: number): Promise<Claim | null> {
  const { rows } = await database.query<Omit<Claim, "owner">>(
    `/* compaction:claim */ with next as (
       select conversation_id from compaction_work
       where due_at <= now() and ${UNCLAIMED}
       order by due_at limit 1 for update skip locked
     )
     update compaction_work as work
     set claimed_by = $1, claimed_until = ${claimEnd("$2")}
     from next where work.conversation_id = next.conversation_id
     returning work.conversation_id as "conversationId", work.attempts, work.summarized_seq as "summarizedSeq"`,
    [owner, leaseMs],
  );
  const row = rows[0];
  return row === undefined ? null : { ...row, owner };
}

/** Gives the conversation back, for others to come first: it is due again after the pause. */
export async function postpone(database: Database, { conversationId, owner }: Claim, pauseMs: number): Promise<void> {
  await database.query(
    `update compaction_work set ${RELEASED}, due_at = now() + make_interval(secs => $3)
     where conversation_id = $1 and claimed_by = $2`,
    [conversationId, owner, pauseMs / 1_000],
  );
}

/** There is nothing to do for the conversation until it is marked again. `summarizedSeq` as it was found to be. */
export async function markIdle(
  database: Database,
  { conversationId, owner }: Claim,
  summarizedSeq: number,
): Promise<void> {
  await database.query(
    `update compaction_work set due_at = null, attempts = 0, error = null, ${RELEASED},
       summarized_seq = greatest(summarized_seq, $3)
     where conversation_id = $1 and claimed_by = $2`,
    [conversationId, owner, summarizedSeq],
  );
}

/** Notes a failure that is the conversation's own; with `againInMs` null it is given up. */
export async function recordFailure(
  database: Database,
  { conversationId, owner, attempts }: Claim,
  error: string,
  againInMs: number | null,
): Promise<void> {
  await database.query(
    `update compaction_work set attempts = $3, error = $4, ${RELEASED},
       due_at = now() + make_interval(secs => $5::float8), failed_at = case when $5::float8 is null then now() end
     where conversation_id = $1 and claimed_by = $2`,
    [conversationId, owner, attempts + 1, sanitize(error), againInMs === null ? null : againInMs / 1_000],
  );
}

/** How a run came out. */
export async function recordRun(database: Queryable, error: string | null): Promise<void> {
  await database.query(
    `insert into compaction_status (last_run_at, last_error) values (now(), $1)
     on conflict (id) do update set last_run_at = excluded.last_run_at, last_error = excluded.last_error`,
    [error === null ? null : sanitize(error)],
  );
}
