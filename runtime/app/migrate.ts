/**
 * The schema: numbered SQL files (`001_transcript.sql`), each applied once, in order, in a transaction of its own or, where it
 * says so, as an index that is built beside the traffic (migration-files.ts has what a file says of itself).
 */

import type { Database, Queryable, Transaction } from "../contracts/database.ts";
import { MemoryError } from "../contracts/errors.ts";
import { assertWithinSkew } from "../contracts/version-skew.ts";
import { unableToRead } from "../domain/mesh/schema-readers.ts";
import { TABLE_LOCK_TIMEOUT_MS, type Waiting, watchBlockers, whileTablesAreFree } from "./blocking-sessions.ts";
import { buildIndex, isValid, withIndexLease } from "./index-build.ts";
import { liveReaders } from "./mesh/registry.ts";
import { type Migration, readMigrations, withoutConcurrency } from "./migration-files.ts";

export interface MigrateOptions extends Waiting {
  /** Where the SQL files are. */
  readonly directory: string;
  /** Id of the node that starts: all others that live must be able to work with what is made. */
  readonly node?: string;
  /** Version of Cairn that starts, where it is to serve beside them. */
  readonly release?: string;
}

export interface MigrateReport {
  /** Version of the schema as it is now. */
  readonly version: number;
  /** Names of the files that were applied by this call. */
  readonly applied: readonly string[];
}

interface AppliedRow {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
  readonly compatible_from: number;
}

const STATEMENT_TIMEOUT_MS = 30 * 60_000;
/** How long to wait for another migrating process. */
const TURN_TIMEOUT_MS = 10 * 60_000;
/** Held while the schema is changed. Any number will do, as long as nothing else locks it: "cairn" in ASCII. */
export const SCHEMA_LOCK = 0x636169726e;

/**
 * Brings the schema up to date. Of several processes that do so at once, one applies each file under the lock; the others
 * wait, and find it applied. What was interrupted goes on with the next call. MEMORY_SCHEMA_MISMATCH when a file was changed after
 * it was applied, when the database is newer than this code can work with, when another node that runs could not work with the
 * result, or when an extension cannot be created; RUNTIME_VERSION_SKEW when one that runs is of a release too far from this one;
 * MEMORY_LOCK_TIMEOUT when tables stayed in use.
 */
export async function migrate(database: Database, options: MigrateOptions): Promise<MigrateReport> {
  const migrations = await readMigrations(options.directory);
  const pending = await checked(database, migrations, options);
  const applied: string[] = [];
  for (const migration of pending) {
    if (await apply(database, migration, migrations, options)) applied.push(migration.name);
  }
  return { version: Math.max(...(await readApplied(database)).map(({ version }) => version)), applied };
}

/**
 * Runs `work` while nobody can change the schema, after a check that it is one that this code can work with: what the work makes
 * known is seen by the next process that changes it. MEMORY_SCHEMA_MISMATCH as `migrate`'s.
 */
export async function withSchemaHeld<T>(
  database: Database,
  { directory }: Pick<MigrateOptions, "directory">,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  const migrations = await readMigrations(directory);
  return database.transaction(
    async (tx) => {
      await tx.query("select pg_advisory_xact_lock_shared($1)", [SCHEMA_LOCK]);
      unapplied(migrations, await readApplied(tx));
      return work(tx);
    },
    { lockTimeoutMs: TURN_TIMEOUT_MS },
  );
}

/** Number of the latest migration of this code. */
export async function latestMigration(directory: string): Promise<number> {
  return (await readMigrations(directory)).at(-1)?.version ?? 0;
}

/** Changes nothing. MEMORY_SCHEMA_MISMATCH and RUNTIME_VERSION_SKEW as `migrate`'s; the errors of a database that is unavailable. */
export async function checkSchema(database: Queryable, options: MigrateOptions): Promise<void> {
  await checked(database, await readMigrations(options.directory), options);
}

/** What is still to be applied, after a check that this code may work on this database, beside the nodes that do. */
async function checked(
  database: Queryable,
  migrations: readonly Migration[],
  { node = "", release }: MigrateOptions,
): Promise<readonly Migration[]> {
  const applied = await readApplied(database);
  const pending = unapplied(migrations, applied);
  if (release !== undefined && knowsNodes(applied)) assertWithinSkew(release, await liveReaders(database, node));
  await assertReadable(database, applied, pending, node);
  return pending;
}

/** The version of the schema, or null where no migration was ever applied. */
export async function schemaVersion(database: Queryable): Promise<number | null> {
  const applied = await readApplied(database);
  return applied.at(-1)?.version ?? null;
}

/** False when another process was faster. */
async function apply(
  database: Database,
  migration: Migration,
  migrations: readonly Migration[],
  options: MigrateOptions,
): Promise<boolean> {
  const { index } = migration;
  const inTurn = (work: (tx: Transaction) => Promise<void>): Promise<boolean> =>
    whileNobodyElseMigrates(database, migration, migrations, options.node ?? "", work);
  if (index !== null && database.backend === "postgres") {
    return withIndexLease(database, options.node ?? "", options, async () => {
      if (!(await inTurn(async () => undefined))) return false;
      await buildIndex(database, migration, index, options).catch(rethrow(migration, options));
      return inTurn(async (tx) => {
        if (await isValid(tx, index)) return record(tx, migration);
        throw new MemoryError("MEMORY_LOCK_TIMEOUT", `The index ${index.name} was removed while it was built.`);
      });
    });
  }
  const watch = watchBlockers(database);
  try {
    return await inTurn(async (tx) => {
      if (database.backend === "postgres") {
        const { rows } = await tx.query<{ pid: number }>("select pg_backend_pid() as pid");
        if (rows[0]) watch.follow(rows[0]);
      }
      if (migration.version === 1) await prepare(tx);
      await whileTablesAreFree(`The migration ${migration.name}`, watch, options, () =>
        tx.savepoint((attempt) => attempt.query(withoutConcurrency(migration))),
      ).catch(rethrow(migration, options));
      await record(tx, migration);
    });
  } finally {
    watch.stop();
  }
}

/** False, without the work, when the migration was applied meanwhile. */
function whileNobodyElseMigrates(
  database: Database,
  migration: Migration,
  migrations: readonly Migration[],
  node: string,
  work: (tx: Transaction) => Promise<void>,
): Promise<boolean> {
  return database.transaction(
    async (tx) => {
      await tx.query("select pg_advisory_xact_lock($1)", [SCHEMA_LOCK]);
      await tx.query(`set local lock_timeout = ${TABLE_LOCK_TIMEOUT_MS}`);
      const applied = await readApplied(tx);
      const pending = unapplied(migrations, applied);
      if (!pending.includes(migration)) return false;
      await assertReadable(tx, applied, pending, node);
      await work(tx);
      return true;
    },
    { statementTimeoutMs: STATEMENT_TIMEOUT_MS, lockTimeoutMs: TURN_TIMEOUT_MS },
  );
}

async function record(tx: Queryable, { version, name, checksum, compatibleFrom }: Migration): Promise<void> {
  await tx.query("insert into schema_migrations (version, name, checksum, compatible_from) values ($1, $2, $3, $4)", [
    version,
    name,
    checksum,
    compatibleFrom,
  ]);
}

const rethrow =
  ({ name }: Migration, { signal }: MigrateOptions) =>
  (error: unknown): never => {
    signal?.throwIfAborted();
    if (error instanceof MemoryError && error.code !== "MEMORY_QUERY_FAILED") throw error;
    throw new MemoryError("MEMORY_QUERY_FAILED", `The migration ${name} failed.`, { cause: error });
  };

/** The first migration that writes down what nodes know of the schema. Before it nodes refuse nothing, and are refused nothing. */
const NODES_SINCE = 22;

function knowsNodes(applied: readonly AppliedRow[]): boolean {
  return applied.some(({ version }) => version === NODES_SINCE);
}

/** MEMORY_SCHEMA_MISMATCH, naming the node, where one that lives could not work with what is pending. */
async function assertReadable(
  tx: Queryable,
  applied: readonly AppliedRow[],
  pending: readonly Migration[],
  node: string,
): Promise<void> {
  if (pending.length === 0 || !knowsNodes(applied)) return;
  const floor = Math.max(...applied.map(({ compatible_from: compatibleFrom }) => compatibleFrom));
  const reader = unableToRead(pending, await liveReaders(tx, node), floor);
  if (reader === null) return;
  const latest = pending.at(-1)?.version ?? 0;
  throw mismatch(
    `The node ${reader.name} runs and cannot work with the schema ${latest} that this version of Cairn needs: ` +
      (reader.schema === null ? "it is older." : `it knows ${reader.schema}.`),
    `Stop ${reader.name}, start this node, and then start ${reader.name} with this version, too.`,
  );
}

async function prepare(tx: Queryable): Promise<void> {
  for (const extension of ["vector", "pg_trgm"]) {
    await tx.query(`create extension if not exists ${extension}`).catch((error: unknown) => {
      if (error instanceof MemoryError && error.code !== "MEMORY_QUERY_FAILED") throw error;
      throw mismatch(
        `The extension ${extension} cannot be created in this database.`,
        `Let a superuser run \`create extension ${extension}\` in it once.`,
        error,
      );
    });
  }
  await tx.query(
    `create table if not exists schema_migrations (
       version         integer primary key,
       name            text not null,
       checksum        text not null,
       compatible_from integer not null,
       applied_at      timestamptz not null default now()
     )`,
  );
}

/** Oldest first; empty where the table does not exist yet. */
async function readApplied(database: Queryable): Promise<readonly AppliedRow[]> {
  // Not to_regclass: inside a transaction it may still answer what it answered before the wait for the advisory lock.
  const { rows } = await database.query(
    "select from pg_tables where schemaname = current_schema() and tablename = 'schema_migrations'",
  );
  if (rows.length === 0) return [];
  const applied = await database.query<AppliedRow>(
    "select version, name, checksum, compatible_from from schema_migrations order by version",
  );
  return applied.rows;
}

/** What is still to be applied, after a check that what was applied is what this code knows. */
function unapplied(migrations: readonly Migration[], applied: readonly AppliedRow[]): readonly Migration[] {
  const byVersion = new Map(migrations.map((migration) => [migration.version, migration]));
  const latest = migrations.at(-1)?.version ?? 0;
  for (const { version, name, checksum, compatible_from: compatibleFrom } of applied) {
    const migration = byVersion.get(version);
    if (migration === undefined) {
      if (version > latest && compatibleFrom <= latest) continue;
      throw mismatch(
        `The database's schema (${version}) is newer than this version of Cairn can work with (${latest}).`,
        "Start a newer version of Cairn.",
      );
    }
    if (migration.checksum === checksum) continue;
    throw mismatch(
      `The migration ${migration.name} was changed after it had been applied (as ${name}).`,
      "Put the file back as it was, or start with an empty database.",
    );
  }
  const done = new Set(applied.map(({ version }) => version));
  return migrations.filter(({ version }) => !done.has(version));
}

function mismatch(message: string, hint?: string, cause?: unknown): MemoryError {
  return new MemoryError("MEMORY_SCHEMA_MISMATCH", message, { ...(hint ? { hint } : {}), ...(cause ? { cause } : {}) });
}
