/**
 * Builds an index beside the traffic: `create index concurrently`, which runs in no transaction and leaves an invalid index where
 * it is interrupted. Any node takes up what another one left.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../contracts/database.ts";
import { MemoryError } from "../contracts/errors.ts";
import {
  type BlockerWatch,
  isLockTimeout,
  TABLE_LOCK_TIMEOUT_MS,
  type Waiting,
  watchBlockers,
  whileTablesAreFree,
} from "./blocking-sessions.ts";
import { createLeaseTable } from "./leases.ts";
import type { ConcurrentIndex, Migration } from "./migration-files.ts";

const LEASE = "migration:index";
const LEASE_MS = 30_000;
const POLL_MS = 1_000;
/** Nothing waits for it but the node that starts. */
const BUILD_TIMEOUT_MS = 6 * 60 * 60_000;
const REPORT_MS = 5_000;

/** Runs work while no other node builds an index: two builds of one table would wait for each other. */
export async function withIndexLease<T>(
  database: Database,
  holder: string,
  { onWait, signal }: Waiting,
  work: () => Promise<T>,
): Promise<T> {
  const leases = createLeaseTable(database);
  for (let waited = 0; (await leases.acquire(LEASE, holder, LEASE_MS)) === null; waited += POLL_MS) {
    if (waited % REPORT_MS === 0) onWait?.("Another node builds an index.");
    await sleep(POLL_MS, undefined, signal ? { signal } : {});
  }
  // Where it is lost all the same, the lock of the table decides.
  const renewal = setInterval(() => void leases.acquire(LEASE, holder, LEASE_MS).catch(() => null), LEASE_MS / 3);
  try {
    return await work();
  } finally {
    clearInterval(renewal);
    await leases.release(LEASE, holder).catch(() => undefined);
  }
}

/** Resolves once the index is valid. Errors of the statement; MEMORY_LOCK_TIMEOUT as `whileTablesAreFree`'s. */
export async function buildIndex(
  database: Database,
  { name, sql }: Migration,
  index: ConcurrentIndex,
  waiting: Waiting,
): Promise<void> {
  const watch = watchBlockers(database);
  watch.follow({ table: index.table });
  const reporting = setInterval(() => {
    const blocker = watch.last();
    if (blocker !== null) waiting.onWait?.(`The migration ${name} waits for a transaction to end: ${blocker.words}.`);
  }, REPORT_MS);
  try {
    while ((await removeInvalid(database, name, index, watch, waiting)) !== "valid") {
      await database
        .script(sql, { statementTimeoutMs: BUILD_TIMEOUT_MS, lockTimeoutMs: BUILD_TIMEOUT_MS })
        .catch((error: unknown) => {
          // Another session has built it meanwhile, or the two waited for each other.
          if (isLockTimeout(error) || hasState(error, "42P07")) return sleep(POLL_MS);
          throw error;
        });
    }
  } finally {
    clearInterval(reporting);
    watch.stop();
  }
}

/** Whether the index is there and complete. */
export async function isValid(tx: Pick<Database, "query">, { name }: ConcurrentIndex): Promise<boolean | null> {
  const { rows } = await tx.query<{ valid: boolean }>(
    `/* migrate:index */ select i.indisvalid as valid from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relname = $1 and c.relnamespace = current_schema()::regnamespace`,
    [name],
  );
  return rows[0]?.valid ?? null;
}

/** What an interrupted build left is removed; one that goes on in the server, without its client, is waited for. */
async function removeInvalid(
  database: Database,
  name: string,
  index: ConcurrentIndex,
  watch: BlockerWatch,
  waiting: Waiting,
): Promise<"valid" | "absent"> {
  const remove = (): Promise<"valid" | "absent"> =>
    database.transaction(
      async (tx) => {
        const { rows } = await tx.query<{ pid: number }>("select pg_backend_pid() as pid");
        if (rows[0]) watch.follow(rows[0]);
        // A build holds this lock from its beginning to its end, and no reader or writer waits behind it.
        await tx.query(`lock table ${index.table} in share update exclusive mode`);
        const valid = await isValid(tx, index);
        if (valid === false) await tx.query(`drop index ${index.name}`);
        return valid === true ? "valid" : "absent";
      },
      { lockTimeoutMs: TABLE_LOCK_TIMEOUT_MS },
    );
  // A build that goes on may take hours.
  const lockAttempts = waiting.lockAttempts ?? BUILD_TIMEOUT_MS / TABLE_LOCK_TIMEOUT_MS / 2;
  try {
    return await whileTablesAreFree(`The migration ${name}`, watch, { ...waiting, lockAttempts }, remove);
  } finally {
    watch.follow({ table: index.table });
  }
}

function hasState(error: unknown, state: string): boolean {
  if (!(error instanceof MemoryError)) return false;
  const { cause } = error.details;
  return cause instanceof Error && Reflect.get(cause, "code") === state;
}
