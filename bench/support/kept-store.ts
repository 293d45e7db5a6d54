/**
 * A store of the corpus for a bench: a new one, or one that is kept. `CAIRN_BENCH_STORE=postgres://...` names a database
 * that is filled when it is new and used again when it holds what is wanted; filling it takes minutes to an hour, searching
 * it seconds.
 */

import { isDeepStrictEqual } from "node:util";
import pg from "pg";
import { migrate } from "../../runtime/app/migrate.ts";
import { createTermCounter } from "../../runtime/app/terms/terms.ts";
import type { Database } from "../../runtime/contracts/database.ts";
import { openPostgres } from "../../runtime/plugins/memory/postgres/index.ts";
import { MIGRATIONS, quietLogger } from "../../test/support/databases.ts";
import type { BenchContext } from "./bench.ts";
import { fillStore } from "./filled-store.ts";

export interface Wanted {
  readonly messages: number;
  readonly dimensions: number;
  /** Whether each conversation has a summary. */
  readonly summaries: boolean;
}

const POOL = 10;
const HOUR = { statementTimeoutMs: 3_600_000 };
const NO_SUCH_DATABASE = "3D000";

/**
 * Filled, migrated, with its words counted and its tables vacuumed; closed at the end of the bench. Throws when the kept
 * database holds anything else than what is wanted: it is never emptied.
 */
export async function openFilledStore(context: BenchContext, wanted: Wanted): Promise<Database> {
  const kept = process.env.CAIRN_BENCH_STORE;
  if (kept !== undefined) await createDatabase(kept);
  const database = await open(kept ?? (await context.postgres()));
  context.defer(() => database.close());
  await fill(context, database, wanted);
  return database;
}

/** The same for a bench that writes: a copy of what is kept, which goes with the bench. */
export async function openStoreToChange(context: BenchContext, wanted: Wanted): Promise<Database> {
  const kept = process.env.CAIRN_BENCH_STORE;
  if (kept === undefined) return openFilledStore(context, wanted);
  await createDatabase(kept);
  const source = await open(kept);
  try {
    await fill(context, source, wanted);
  } finally {
    await source.close();
  }
  const [url, from] = [new URL(kept), nameOf(kept)];
  const to = `${from}_copy`;
  await onServer(kept, `drop database if exists ${pg.escapeIdentifier(to)}`);
  await onServer(kept, `create database ${pg.escapeIdentifier(to)} template ${pg.escapeIdentifier(from)}`);
  context.defer(() => onServer(kept, `drop database ${pg.escapeIdentifier(to)}`));
  url.pathname = `/${encodeURIComponent(to)}`;
  const database = await open(url.href);
  context.defer(() => database.close());
  return database;
}

function open(connectionString: string): Promise<Database> {
  return openPostgres({ connectionString, pool: POOL, logger: quietLogger });
}

async function fill(context: BenchContext, database: Database, wanted: Wanted): Promise<void> {
  const onProgress = (text: string) => process.stderr.write(`  ${wanted.messages} messages: ${text}\n`);
  const { applied } = await migrate(database, { directory: MIGRATIONS });
  const filled = await fillOnce(database, wanted, onProgress);
  onProgress("words");
  const counted = await createTermCounter(database).run(context.signal);
  if (!filled && applied.length === 0 && counted === 0) return;
  // None may stand in a script with another: that would be one transaction.
  for (const one of ["vacuum analyze", "checkpoint"]) {
    onProgress(one);
    await database.script(one, HOUR);
  }
}

/** Whether it was filled by this call. What it was filled with stands in it once that has come to its end. */
async function fillOnce(database: Database, wanted: Wanted, onProgress: (text: string) => void): Promise<boolean> {
  await database.script(
    `create table if not exists bench_store (messages integer, dimensions integer);
     alter table bench_store add column if not exists summaries boolean not null default true`,
  );
  const { rows } = await database.query<Wanted>("select messages, dimensions, summaries from bench_store");
  const [found] = rows;
  if (found !== undefined) {
    if (isDeepStrictEqual({ ...found }, wanted)) return false;
    throw new Error(`The kept store has ${JSON.stringify(found)}, and not ${JSON.stringify(wanted)}.`);
  }
  const { rows: some } = await database.query("select 1 from messages limit 1");
  if (some.length > 0)
    throw new Error("The kept store has messages that the bench has not finished filling in: drop it.");
  await fillStore(database, { ...wanted, onProgress });
  await database.query("insert into bench_store (messages, dimensions, summaries) values ($1, $2, $3)", [
    wanted.messages,
    wanted.dimensions,
    wanted.summaries,
  ]);
  return true;
}

/** Where it is missing. */
async function createDatabase(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  try {
    await client.connect();
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== NO_SUCH_DATABASE) throw error;
    await onServer(connectionString, `create database ${pg.escapeIdentifier(nameOf(connectionString))}`);
  } finally {
    await client.end();
  }
}

function nameOf(connectionString: string): string {
  return decodeURIComponent(new URL(connectionString).pathname.slice(1));
}

/** In the server's own database. */
async function onServer(connectionString: string, sql: string): Promise<void> {
  const server = new URL(connectionString);
  server.pathname = "/postgres";
  const client = new pg.Client({ connectionString: server.href });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
