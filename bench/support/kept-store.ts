/**
 * A store of the corpus for a bench: a new one, or one that is kept. `CAIRN_BENCH_STORE=postgres://...` names a database
 * that is filled when it is new and used again when it holds what is wanted; filling it takes minutes to an hour, searching
 * it seconds.
 */

import pg from "pg";
import { migrate } from "../../runtime/app/migrate.ts";
import { createTermCounter } from "../../runtime/app/terms/terms.ts";
import type { Database } from "../../runtime/contracts/database.ts";
import { openPostgres } from "../../runtime/plugins/memory/postgres/index.ts";
import { MIGRATIONS, silent } from "../../test/support/databases.ts";
import type { BenchContext } from "./bench.ts";
import { fillStore } from "./filled-store.ts";

export interface Wanted {
  readonly messages: number;
  readonly dimensions: number;
}

const HOUR = { statementTimeoutMs: 3_600_000 };
const NO_SUCH_DATABASE = "3D000";

/**
 * Filled, migrated, with its words counted and its tables vacuumed; closed at the end of the bench. Throws when the kept
 * database holds anything else than what is wanted: it is never emptied.
 */
export async function openFilledStore(context: BenchContext, wanted: Wanted): Promise<Database> {
  const kept = process.env.CAIRN_BENCH_STORE;
  if (kept !== undefined) await createDatabase(kept);
  const connectionString = kept ?? (await context.postgres());
  const database = await openPostgres({ connectionString, pool: 4, logger: silent });
  context.defer(() => database.close());
  const onProgress = (text: string) => process.stderr.write(`  ${wanted.messages} messages: ${text}\n`);
  const { applied } = await migrate(database, { directory: MIGRATIONS, mode: "apply" });
  const filled = await fillOnce(database, wanted, onProgress);
  onProgress("words");
  const counted = await createTermCounter(database).run(context.signal);
  if (!filled && applied.length === 0 && counted === 0) return database;
  // None may stand in a script with another: that would be one transaction.
  for (const one of ["vacuum analyze", "checkpoint"]) {
    onProgress(one);
    await database.script(one, HOUR);
  }
  return database;
}

/** Whether it was filled by this call. What it was filled with stands in it once that has come to its end. */
async function fillOnce(database: Database, wanted: Wanted, onProgress: (text: string) => void): Promise<boolean> {
  await database.query("create table if not exists bench_store (messages integer, dimensions integer)");
  const { rows } = await database.query<Wanted>("select messages, dimensions from bench_store");
  const [found] = rows;
  if (found !== undefined) {
    if (found.messages === wanted.messages && found.dimensions === wanted.dimensions) return false;
    throw new Error(
      `The kept store has ${found.messages} messages of ${found.dimensions} dimensions, and not ${wanted.messages} of ` +
        `${wanted.dimensions} (CAIRN_BENCH_MESSAGES, CAIRN_BENCH_DIMENSIONS).`,
    );
  }
  const { rows: some } = await database.query("select 1 from messages limit 1");
  if (some.length > 0)
    throw new Error("The kept store has messages that the bench has not finished filling in: drop it.");
  await fillStore(database, { ...wanted, summaries: true, onProgress });
  await database.query("insert into bench_store values ($1, $2)", [wanted.messages, wanted.dimensions]);
  return true;
}

/** Where it is missing. */
async function createDatabase(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  try {
    await client.connect();
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== NO_SUCH_DATABASE) throw error;
    const server = new URL(connectionString);
    const name = decodeURIComponent(server.pathname.slice(1));
    server.pathname = "/postgres";
    const admin = new pg.Client({ connectionString: server.href });
    await admin.connect();
    try {
      await admin.query(`create database ${admin.escapeIdentifier(name)}`);
    } finally {
      await admin.end();
    }
  } finally {
    await client.end();
  }
}
