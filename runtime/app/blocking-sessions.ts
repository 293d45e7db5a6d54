/** Changes of tables that are in use: they wait briefly and often, so that nothing waits behind them, and say for whom they wait. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../contracts/database.ts";
import { MemoryError } from "../contracts/errors.ts";

/**
 * How long a change waits for a table at a time. All that comes later to the table waits behind it: less than the two seconds
 * after which a statement of a node gives up.
 */
export const TABLE_LOCK_TIMEOUT_MS = 1_000;
const PAUSE_MS = 1_000;
const ASK_MS = 250;

export interface Waiting {
  /** Called of each wait that was in vain, with what is waited for. */
  readonly onWait?: ((reason: string) => void) | undefined;
  /** How often a table is waited for. */
  readonly lockAttempts?: number;
  readonly signal?: AbortSignal | undefined;
}

const ATTEMPTS = 30;

/** Knows who keeps a session waiting. */
export interface BlockerWatch {
  /** Whose waiting is meant: a session by its id, or what builds an index of a table. */
  follow(waiting: { readonly pid: number } | { readonly table: string }): void;
  /** The session that was seen last, in words and by its id. */
  last(): { readonly pid: number; readonly words: string } | null;
  stop(): void;
}

/** Asks on another connection from now on. To be made outside of the transaction that waits. */
export function watchBlockers(database: Database): BlockerWatch {
  let followed: { readonly pid?: number; readonly table?: string } = {};
  let last: ReturnType<BlockerWatch["last"]> = null;
  let asking = false;
  const ask = async (): Promise<void> => {
    if (asking || (followed.pid ?? followed.table) === undefined) return;
    asking = true;
    try {
      last = (await blockerOf(database, followed)) ?? last;
    } catch {
      // A server that does not answer says by its other statements what is wrong.
    } finally {
      asking = false;
    }
  };
  // The embedded store has one session.
  const timer = database.backend === "embedded" ? undefined : setInterval(() => void ask(), ASK_MS);
  return {
    follow(waiting) {
      followed = waiting;
    },
    last: () => last,
    stop: () => clearInterval(timer),
  };
}

/**
 * Runs work again while tables that it needs are in use. MEMORY_LOCK_TIMEOUT, naming `what` and the session that keeps it, after
 * so many attempts.
 */
export async function whileTablesAreFree<T>(
  what: string,
  watch: BlockerWatch,
  { onWait, lockAttempts = ATTEMPTS, signal }: Waiting,
  work: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      const blocked = blockedError(what, watch, error);
      if (attempt >= lockAttempts) throw blocked;
      onWait?.(blocked.message);
      await sleep(PAUSE_MS, undefined, signal ? { signal } : {});
    }
  }
}

export function isLockTimeout(error: unknown): boolean {
  return error instanceof MemoryError && error.code === "MEMORY_LOCK_TIMEOUT";
}

function blockedError(what: string, watch: BlockerWatch, cause: unknown): MemoryError {
  const blocker = watch.last();
  if (blocker === null) return new MemoryError("MEMORY_LOCK_TIMEOUT", `${what} waits for a table in use.`, { cause });
  return new MemoryError(
    "MEMORY_LOCK_TIMEOUT",
    `${what} waits for a table that another session uses: ${blocker.words}.`,
    {
      cause,
      hint: `It goes on when that session has ended its transaction. \`select pg_terminate_backend(${blocker.pid})\` ends it.`,
    },
  );
}

async function blockerOf(
  database: Database,
  { pid, table }: { readonly pid?: number; readonly table?: string },
): Promise<ReturnType<BlockerWatch["last"]>> {
  const { rows } = await database.query<{
    pid: number;
    program: string;
    role: string | null;
    state: string | null;
    seconds: number | null;
  }>(
    `/* migrate:blocker */ select a.pid, coalesce(nullif(a.application_name, ''), a.backend_type) as program, a.usename as role,
       a.state, extract(epoch from now() - a.xact_start)::int as seconds
     from pg_stat_activity a
     where a.pid = any(pg_blocking_pids(coalesce($1::int,
       (select p.pid from pg_stat_progress_create_index p where p.relid = to_regclass($2) limit 1))))
     order by a.xact_start limit 1`,
    [pid ?? null, table ?? null],
  );
  const [found] = rows;
  if (found === undefined) return null;
  const since = found.seconds === null ? "" : ` for ${found.seconds} s`;
  const role = found.role === null ? "" : `, as ${found.role}`;
  return { pid: found.pid, words: `${found.program} (pid ${found.pid}${role}, ${found.state ?? "active"}${since})` };
}
