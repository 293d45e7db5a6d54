import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Database, Queryable } from "../contracts/database.ts";
import { MemoryError } from "../contracts/errors.ts";
import { unableToRead } from "../domain/mesh/schema-readers.ts";
import { liveReaders } from "./mesh/registry.ts";

/**
 * The schema: numbered SQL files (`001_transcript.sql`), each applied once, in order, in a transaction of its own.
 * A file may say in a line of its own `-- compatible-from: 3` that code which knows only the schema 3 still works on it.
 */

export interface MigrateOptions {
  /** Where the SQL files are. */
  readonly directory: string;
  /** Id of the node that starts: all others that live must be able to work with what is made. */
  readonly node?: string;
}

export interface MigrateReport {
  /** Version of the schema as it is now. */
  readonly version: number;
  /** Names of the files that were applied by this call. */
  readonly applied: readonly string[];
}

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
  readonly compatibleFrom: number;
  readonly sql: string;
}

interface AppliedRow {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
  readonly compatible_from: number;
}

const STATEMENT_TIMEOUT_MS = 30 * 60_000;
/** How long to wait for another migrating process, and then for the tables that are in use. */
const TURN_TIMEOUT_MS = 10 * 60_000;
const TABLE_LOCK_TIMEOUT_MS = 5_000;
/** Held while the schema is changed. Any number will do, as long as nothing else locks it: "cairn" in ASCII. */
export const SCHEMA_LOCK = 0x636169726e;

const FILE_NAME = /^(\d{3})_[a-z0-9_]+\.sql$/;

/**
 * Brings the schema up to date. Of several processes that do so at once, one applies each file under the lock; the others
 * wait, and find it applied. MEMORY_SCHEMA_MISMATCH when a file was changed after it was applied, when the database is newer
 * than this code can work with, when another node that runs could not work with the result, or when an extension cannot be
 * created; MEMORY_LOCK_TIMEOUT when tables stayed in use.
 */
export async function migrate(database: Database, { directory, node = "" }: MigrateOptions): Promise<MigrateReport> {
  const migrations = await readMigrations(directory);
  const pending = unapplied(migrations, await readApplied(database));
  const applied: string[] = [];
  for (const migration of pending) {
    if (await apply(database, migration, migrations, node)) applied.push(migration.name);
  }
  return { version: Math.max(...(await readApplied(database)).map(({ version }) => version)), applied };
}

/**
 * Runs `work` while nobody can change the schema, after a check that it is one that this code can work with: what the work makes
 * known is seen by whoever changes it next. MEMORY_SCHEMA_MISMATCH as `migrate`'s.
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

/** Changes nothing. MEMORY_SCHEMA_MISMATCH as `migrate`'s; the errors of a database that is unavailable. */
export async function checkSchema(database: Queryable, { directory }: MigrateOptions): Promise<void> {
  unapplied(await readMigrations(directory), await readApplied(database));
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
  node: string,
): Promise<boolean> {
  return database.transaction(
    async (tx) => {
      await tx.query("select pg_advisory_xact_lock($1)", [SCHEMA_LOCK]);
      await tx.query(`set local lock_timeout = ${TABLE_LOCK_TIMEOUT_MS}`);
      const applied = await readApplied(tx);
      const pending = unapplied(migrations, applied);
      if (!pending.includes(migration)) return false;
      await assertReadable(tx, applied, pending, node);
      if (migration.version === 1) await prepare(tx);
      await tx.query(migration.sql).catch((error: unknown) => {
        if (error instanceof MemoryError && error.code !== "MEMORY_QUERY_FAILED") throw error;
        throw new MemoryError("MEMORY_QUERY_FAILED", `The migration ${migration.name} failed.`, { cause: error });
      });
      const { version, name, checksum, compatibleFrom } = migration;
      await tx.query(
        "insert into schema_migrations (version, name, checksum, compatible_from) values ($1, $2, $3, $4)",
        [version, name, checksum, compatibleFrom],
      );
      return true;
    },
    { statementTimeoutMs: STATEMENT_TIMEOUT_MS, lockTimeoutMs: TURN_TIMEOUT_MS },
  );
}

/** The first migration that writes down what nodes know of the schema. Before it nodes refuse nothing, and are refused nothing. */
const NODES_SINCE = 22;

/** MEMORY_SCHEMA_MISMATCH, naming the node, where one that lives could not work with what is pending. */
async function assertReadable(
  tx: Queryable,
  applied: readonly AppliedRow[],
  pending: readonly Migration[],
  node: string,
): Promise<void> {
  if (!applied.some(({ version }) => version === NODES_SINCE)) return;
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

async function readMigrations(directory: string): Promise<readonly Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
  const migrations = await Promise.all(names.map((name) => readMigration(directory, name)));
  for (const [index, { version, name }] of migrations.entries()) {
    if (version !== index + 1)
      throw mismatch(`The migration ${name} is out of order: number ${index + 1} is expected.`);
  }
  return migrations;
}

async function readMigration(directory: string, name: string): Promise<Migration> {
  const digits = FILE_NAME.exec(name)?.[1];
  if (digits === undefined) throw mismatch(`The migration ${name} is not named like 001_what_it_is_about.sql.`);
  const sql = await readFile(join(directory, name), "utf8");
  const version = Number(digits);
  const compatibleFrom = /^-- compatible-from: (\d+)$/m.exec(sql)?.[1];
  return {
    version,
    name,
    // Line endings are a matter of the checkout, not of the migration.
    checksum: createHash("sha256").update(sql.replaceAll("\r\n", "\n")).digest("hex"),
    compatibleFrom: compatibleFrom === undefined ? version : Number(compatibleFrom),
    sql,
  };
}

function mismatch(message: string, hint?: string, cause?: unknown): MemoryError {
  return new MemoryError("MEMORY_SCHEMA_MISMATCH", message, { ...(hint ? { hint } : {}), ...(cause ? { cause } : {}) });
}
