/** The files of the schema, `migrations/NNN_name.sql`, and what they say of themselves in comments of a line each. */

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { MemoryError } from "../contracts/errors.ts";

export interface Migration {
  readonly version: number;
  /** Of the file. */
  readonly name: string;
  readonly checksum: string;
  /** `-- compatible-from: N`: code that knows only the schema N still works on it. */
  readonly compatibleFrom: number;
  /** `-- concurrently`: what the file builds, in no transaction. */
  readonly index: ConcurrentIndex | null;
  readonly sql: string;
}

/** The one statement of a file: `create index concurrently NAME on TABLE ...`. */
export interface ConcurrentIndex {
  readonly name: string;
  readonly table: string;
}

const FILE_NAME = /^(\d{3})_[a-z0-9_]+\.sql$/;
const BUILDS_INDEX = /^create (?:unique )?index concurrently (\w+)\s+on (\w+)\b[^;]*;?$/i;

/** All of a directory, in their order. MEMORY_SCHEMA_MISMATCH where one is misnamed, out of order, or not what it says of itself. */
export async function readMigrations(directory: string): Promise<readonly Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
  const migrations = await Promise.all(names.map((name) => readMigration(directory, name)));
  for (const [index, { version, name }] of migrations.entries()) {
    if (version !== index + 1)
      throw mismatch(`The migration ${name} is out of order: number ${index + 1} is expected.`);
  }
  return migrations;
}

/** The statement for a store that has one session only, and so nothing to build beside. */
export function withoutConcurrency({ sql, index }: Migration): string {
  return index === null ? sql : sql.replace(/\bindex concurrently\b/i, "index");
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
    index: /^-- concurrently\r?$/m.test(sql) ? indexOf(name, sql) : null,
    sql,
  };
}

function indexOf(name: string, sql: string): ConcurrentIndex {
  const statement = sql
    .replace(/^--.*$/gm, "")
    .replace(/\s+/g, " ")
    .trim();
  const [, index, table] = BUILDS_INDEX.exec(statement) ?? [];
  if (index !== undefined && table !== undefined) return { name: index, table };
  throw mismatch(`The migration ${name} is more or less than one \`create index concurrently NAME on TABLE ...\`.`);
}

function mismatch(message: string): MemoryError {
  return new MemoryError("MEMORY_SCHEMA_MISMATCH", message);
}
