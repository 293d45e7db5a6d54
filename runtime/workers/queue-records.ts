import { assertErrorPattern } from "../app/error-pattern.ts";
import type { Database } from "../contracts/database.ts";
import { MemoryError } from "../contracts/errors.ts";
import type { QueueName, QueueState, RetryFailedOptions, RetryFailedReport } from "../contracts/jobs.ts";
import { codeOf } from "../contracts/system-errors.ts";
import { COMPLETED_KEPT_S, FORMER_QUEUES, QUEUE_NAMES, settingsOf } from "./queue-policy.ts";

/** Our own statements over pg-boss's table: what it has no call for, or does otherwise than an operator expects. */

/** Jobs of one state that are counted in a queue: the answer is asked for every few seconds, however long the queues are. */
const MOST_COUNTED = 10_000;
const BUILD_TIMEOUT_MS = 600_000;

/** Attempts of a job beyond which a store that goes away under it costs one, too: it may be the job that brings it down. */
const MOST_ATTEMPTS = 30;

const UNIQUE_VIOLATION = "23505";

/** Prefix of the keys that jobs without one get: the policy would allow one such job at a time. */
const OWN_KEY = "~";

export function ownKey(id: string): string {
  return `${OWN_KEY}${id}`;
}

/**
 * Counts and the newest error of each queue; all zero where pg-boss never ran. What is beyond MOST_COUNTED is not read: of
 * waiting and dead jobs pg-boss's own count is told there, which it takes about once a minute, and of waiting ones the first to be
 * fetched say how long the oldest has been due.
 */
export async function queueStates(database: Database): Promise<readonly QueueState[]> {
  const states = new Map<string, Omit<QueueState, "queue">>();
  if (await installed(database)) {
    for (const { name, ...state } of await counted(database)) states.set(name, state);
  }
  const none = { waiting: 0, active: 0, failed: 0, completed: 0, last_error: null, oldest_waiting_ms: null };
  return QUEUE_NAMES.map((queue) => ({ queue, ...(states.get(queue) ?? none) }));
}

function counted(database: Database): Promise<readonly (Omit<QueueState, "queue"> & { readonly name: string })[]> {
  const counting = (state: string) =>
    `cross join lateral (
       select count(*)::int as ${state} from (
         select from pgboss.job where name = q.name and state = '${state}' order by completed_on limit ${MOST_COUNTED}) as first) as ${state}_jobs`;
  return database.transaction(async (tx) => {
    // Each count walks an index as far as it needs to. The planner, which knows of no queue that it has none of a state, would
    // rather read all jobs until it has as many.
    await tx.query("select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)");
    const { rows } = await tx.query<Omit<QueueState, "queue"> & { name: string }>(
      `select q.name, active, completed, e.error as "last_error", oldest as "oldest_waiting_ms",
         case when waiting < ${MOST_COUNTED} then waiting else greatest(waiting, own.queued_count) end as waiting,
         case when failed < ${MOST_COUNTED} then failed else greatest(failed, own.failed_count) end as failed
         from unnest($1::text[]) as q(name)
         left join pgboss.queue own on own.name = q.name
        ${counting("active")} ${counting("failed")} ${counting("completed")}
        cross join lateral (
          select count(*)::int as waiting,
                 (extract(epoch from now() - min(greatest(created_on, start_after)) filter (where start_after <= now()))
                   * 1000)::float8 as oldest
            from (select created_on, start_after from pgboss.job where name = q.name and state < 'active' and not blocked
                   order by priority desc, created_on limit ${MOST_COUNTED}) as first) w
         left join lateral (
           select coalesce(output->>'message', output->'value'->>'message', output::text) as error
             from pgboss.job where name = q.name and state = 'failed' and completed_on is not null
            order by completed_on desc limit 1) e on true`,
      [QUEUE_NAMES],
    );
    return rows;
  });
}

/** By queue and state: what is counted, swept and looked for here would else be found by reading every job. */
export async function ensureIndex(database: Database): Promise<void> {
  await database.script("create index if not exists job_queue_state on pgboss.job (name, state, completed_on)", {
    statementTimeoutMs: BUILD_TIMEOUT_MS,
  });
}

/**
 * See JobQueue.retryFailed; of several dead jobs with one key the newest lives again. It gets another id: numbers of attempts
 * begin anew, and a worker that ran it before it was dead must not be taken for the one that runs it now.
 */
export async function retryFailed(
  database: Database,
  queue: QueueName,
  { errorPattern, dryRun = false }: RetryFailedOptions,
): Promise<RetryFailedReport> {
  if (errorPattern !== undefined) await assertErrorPattern(database, errorPattern);
  if (!(await installed(database))) return { matched: 0, retried: 0, skipped: 0 };
  const chosen = `
    with matched as (
      select id, singleton_key,
             row_number() over (partition by coalesce(singleton_key, id::text) order by created_on desc, id desc) as n
        from pgboss.job
       where name = $1 and state = 'failed' and ($2::text is null or coalesce(output::text, '') ~* $2)
    ), chosen as (
      select id from matched m
       where n = 1 and not exists (
         select 1 from pgboss.job live
          where live.name = $1 and live.state <= 'active' and live.singleton_key = m.singleton_key)
    )`;
  const count = `${chosen} select (select count(*) from matched)::int as matched, (select count(*) from chosen)::int as retried`;
  const update = `${chosen}, revived as (
      update pgboss.job j
         set id = gen_random_uuid(), state = 'created', retry_count = 0, retry_limit = $4, output = null,
             started_on = null, completed_on = null, heartbeat_on = null, created_on = now(), start_after = now(),
             keep_until = now() + make_interval(secs => $3)
        from chosen where j.id = chosen.id and j.name = $1 and j.state = 'failed'
   returning j.id)
    select (select count(*) from matched)::int as matched, (select count(*) from revived)::int as retried`;
  try {
    const { retentionSeconds, retryLimit } = settingsOf(queue);
    const { rows } = await whileKeysChange(() =>
      database.query<{ matched: number; retried: number }>(dryRun ? count : update, [
        queue,
        errorPattern ?? null,
        ...(dryRun ? [] : [retentionSeconds, retryLimit]),
      ]),
    );
    const { matched, retried } = rows[0] ?? { matched: 0, retried: 0 };
    return { matched, retried, skipped: matched - retried };
  } catch (error) {
    if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
    throw new MemoryError("MEMORY_LOCK_TIMEOUT", "A job with the same key was enqueued meanwhile; try again.", {
      cause: error,
    });
  }
}

export function failedKeys(database: Database, queue: QueueName): Promise<ReadonlySet<string>> {
  return keysOf(database, queue, "state = 'failed'");
}

export function liveKeys(database: Database, queue: QueueName): Promise<ReadonlySet<string>> {
  return keysOf(database, queue, "state <= 'active'");
}

async function keysOf(database: Database, queue: QueueName, condition: string): Promise<ReadonlySet<string>> {
  if (!(await installed(database))) return new Set();
  const { rows } = await database.query<{ key: string }>(
    `select distinct singleton_key as key from pgboss.job
      where name = $1 and ${condition} and singleton_key is not null and not starts_with(singleton_key, $2)`,
    [queue, OWN_KEY],
  );
  return new Set(rows.map(({ key }) => key));
}

/**
 * Running jobs that a shutdown interrupts wait again, and the interruption costs no attempt. It is one all the same, by its
 * number: a late report of the interrupted worker must not count for the worker that runs it by then.
 */
export async function restoreJobs(
  database: Database,
  running: readonly Pick<EndedJob, "id" | "attempt">[],
): Promise<void> {
  await database.query(
    `update pgboss.job as job set state = case when retry_count > 0 then 'retry' else 'created' end::pgboss.job_state,
            retry_limit = retry_limit + 1, heartbeat_on = null
       from unnest($2::uuid[], $3::int[]) as given (id, attempt)
      where job.name = any($1::text[]) and job.id = given.id and job.retry_count = given.attempt and job.state = 'active'`,
    [QUEUE_NAMES, running.map(({ id }) => id), running.map(({ attempt }) => attempt)],
  );
}

export interface EndedJob {
  readonly queue: QueueName;
  readonly id: string;
  /** Of the job, as it was fetched: another worker's run of it has another one. */
  readonly attempt: number;
  /** `unavailable`: it could not do its work because the store was unavailable. */
  readonly outcome: "done" | "failed" | "unavailable";
  readonly message: string | null;
}

/** Notes how jobs ended, where that has not been done. Answers how many that were. */
export async function noteEnds(database: Database, ended: readonly EndedJob[]): Promise<number> {
  if (ended.length === 0) return 0;
  const { count } = await whileKeysChange(() =>
    database.query(
      `with given as (
       select * from unnest($1::text[], $2::uuid[], $3::int[], $4::text[], $5::text[])
         as given (name, id, attempt, outcome, message)
     ), noted as (
       select given.*, free, job.state as was, case when outcome = 'done' then 'completed'
                                  when free or job.retry_count < job.retry_limit then 'retry'
                                  else 'failed' end::pgboss.job_state as state
         from given join pgboss.job job on job.name = given.name and job.id = given.id
        cross join lateral (select outcome = 'unavailable' and job.retry_limit < ${MOST_ATTEMPTS} as free) as cost
        where job.retry_count = given.attempt
          -- pg-boss itself may have noted it as a failure since.
          and (job.state = 'active' or (given.outcome = 'unavailable' and job.state in ('retry', 'failed')))
          and (job.state <> 'failed' or not exists (
            select 1 from pgboss.job live
             where live.name = job.name and live.state <= 'active' and live.singleton_key = job.singleton_key))
     )
     update pgboss.job job
        set state = noted.state,
            retry_limit = job.retry_limit + noted.free::int,
            -- At once, and then ever later.
            start_after = now() + make_interval(secs => case noted.outcome when 'failed' then job.retry_delay
                                                                           else job.retry_count end),
            completed_on = case when noted.state = 'retry' then null else now() end,
            output = case when noted.message is not null then jsonb_build_object('message', noted.message) end
       from noted where job.name = noted.name and job.id = noted.id
         -- A transaction that had it under a lock meanwhile may have given it to another worker.
         and job.retry_count = noted.attempt and job.state = noted.was`,
      [
        ended.map(({ queue }) => queue),
        ended.map(({ id }) => id),
        ended.map(({ attempt }) => attempt),
        ended.map(({ outcome }) => outcome),
        ended.map(({ message }) => message),
      ],
    ),
  );
  return count;
}

export interface StalledJob {
  readonly id: string;
  /** Its last heartbeat, as the store writes it. */
  readonly heartbeat: string;
}

/** Running jobs without a heartbeat for so long, except the caller's own. */
export async function stalledJobs(
  database: Database,
  running: readonly string[],
  staleS: number,
): Promise<readonly StalledJob[]> {
  const { rows } = await database.query<StalledJob>(
    `select id, extract(epoch from heartbeat_on)::text as heartbeat from pgboss.job
      where name = any($1::text[]) and state = 'active' and heartbeat_on < now() - make_interval(secs => $2)
        and id <> all($3::uuid[])`,
    [QUEUE_NAMES, staleS, running],
  );
  return rows;
}

/** Takes up those without a heartbeat since. That counts as an attempt: a job may be what killed its process. */
export async function reclaimStalled(database: Database, stalled: readonly StalledJob[]): Promise<number> {
  if (stalled.length === 0) return 0;
  const { count } = await database.query(
    `update pgboss.job j set state = case when retry_count < retry_limit then 'retry' else 'failed' end::pgboss.job_state,
            completed_on = case when retry_count < retry_limit then null else now() end, start_after = now(),
            output = jsonb_build_object('message', 'the process ended while the job was running')
       from unnest($2::uuid[], $3::text[]) as silent (id, heartbeat)
      where j.name = any($1::text[]) and j.id = silent.id and j.state = 'active' and extract(epoch from j.heartbeat_on)::text = silent.heartbeat`,
    [QUEUE_NAMES, stalled.map(({ id }) => id), stalled.map(({ heartbeat }) => heartbeat)],
  );
  return count;
}

/** Jobs of a process that has ended, and that only the caller can know to have ended: tried again, or given up. */
export async function reclaimJobs(database: Database): Promise<void> {
  await database.query(
    `update pgboss.job set state = case when retry_count < retry_limit then 'retry' else 'failed' end::pgboss.job_state,
            completed_on = case when retry_count < retry_limit then null else now() end, start_after = now(),
            output = jsonb_build_object('message', 'the process ended while the job was running')
      where state = 'active'`,
  );
}

/** Deletes what was completed long ago, a part at a time. */
export async function sweepCompleted(database: Database): Promise<number> {
  const { rows } = await database.query<{ swept: number }>(
    `with old as (select name, id from pgboss.job
                   where name = any($2::text[]) and state in ('completed', 'cancelled')
                     and completed_on < now() - make_interval(secs => $1) limit 5000),
          swept as (delete from pgboss.job j using old where j.name = old.name and j.id = old.id returning 1)
     select count(*)::int as swept from swept`,
    [COMPLETED_KEPT_S, QUEUE_NAMES],
  );
  return rows[0]?.swept ?? 0;
}

/**
 * Deletes the jobs of queues that an earlier version had. A node of that version may run one beside this node: it keeps those
 * that have a heartbeat.
 */
export async function deleteFormerJobs(database: Database): Promise<void> {
  await database.query(
    `delete from pgboss.job
      where name = any($1::text[]) and (state <> 'active' or heartbeat_on is null or heartbeat_on < now() - interval '1 minute')`,
    [FORMER_QUEUES],
  );
}

/**
 * A dead job's key may be given to another job while the statement that lets it live again runs. Then that is undone, and
 * the next look sees the other job.
 */
async function whileKeysChange<T>(statement: () => Promise<T>, reads = 3): Promise<T> {
  try {
    return await statement();
  } catch (error) {
    if (reads <= 1 || sqlState(error) !== UNIQUE_VIOLATION) throw error;
    return whileKeysChange(statement, reads - 1);
  }
}

async function installed(database: Database): Promise<boolean> {
  const { rows } = await database.query<{ there: boolean }>("select to_regclass('pgboss.job') is not null as there");
  return rows[0]?.there ?? false;
}

function sqlState(error: unknown): unknown {
  const cause = error instanceof MemoryError ? error.details.cause : undefined;
  return codeOf(cause);
}
