import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type { Database, Queryable, Transaction } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import type { RestoreReport } from "../api.ts";
import { schemaVersion } from "../migrate.ts";
import { createEmbeddingTable, embeddingTable } from "../recall/embedding-tables.ts";
import { AttachmentRestore } from "./attachment-files.ts";
import { type ArchiveHeader, type ArchivePart, invalid, isBadData, linesOf, readArchive } from "./format.ts";
import { columnsOf, type Section, sectionNamed } from "./sections.ts";

/**
 * Fills an empty store from an archive, all or nothing: the archive is first copied to a file and verified to its end,
 * and only then loaded, in one transaction.
 */

export interface RestoreDeps {
  readonly database: Database;
  readonly attachments: string;
  readonly staging: string;
}

const STATEMENT_TIMEOUT_MS = 10 * 60_000;
const LOCK_TIMEOUT_MS = 10_000;
const ROWS = 500;
const UNITS = 4_000_000;
/** Columns that number rows in the order of insertion. */
const SEQUENCES = [
  ["messages", "seq"],
  ["summaries", "seq"],
  ["inbox", "seq"],
  ["outbox", "seq"],
  ["turn_steers", "seq"],
  ["embedding_models", "id"],
] as const;

export async function restore(deps: RestoreDeps, archive: AsyncIterable<Uint8Array>): Promise<RestoreReport> {
  const { database, attachments } = deps;
  await assertEmpty(database);
  const folder = await mkdtemp(join(deps.staging, ".restore-"));
  const files = new AttachmentRestore(attachments, folder);
  try {
    const path = join(folder, "archive");
    await pipeline(archive, createWriteStream(path, { mode: 0o600 }));
    await verify(path, (await schemaVersion(database)) ?? 0);
    const counts = await database.transaction(
      async (tx) => {
        // Nobody begins to write while the store is filled.
        await tx.query("lock table conversations, messages, inbox in share row exclusive mode");
        await assertEmpty(tx);
        const loaded = await load(tx, database.backend, path, files);
        await files.place();
        return loaded;
      },
      { statementTimeoutMs: STATEMENT_TIMEOUT_MS, lockTimeoutMs: LOCK_TIMEOUT_MS },
    );
    // What searches need to know about the words; they work without.
    await database.script("analyze", { statementTimeoutMs: STATEMENT_TIMEOUT_MS }).catch(() => {});
    return { counts };
  } catch (error) {
    await files.discard();
    throw isBadData(error) ? invalid("one of its rows is not one that a store can hold", error) : error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function assertEmpty(database: Queryable): Promise<void> {
  const { rows } = await database.query<{ readonly full: boolean }>(
    `select exists (select 1 from conversations) or exists (select 1 from messages) or exists (select 1 from summaries)
       or exists (select 1 from inbox) as full`,
  );
  if (rows[0]?.full !== false) {
    throw new MemoryError(
      "MEMORY_STORE_NOT_EMPTY",
      "The store is not empty: it can only be restored into an empty one.",
      {
        hint: "Point the configuration at a new database or directory.",
      },
    );
  }
}

async function verify(path: string, known: number): Promise<void> {
  for await (const part of parts(path)) {
    if (part.part === "header") assertReadable(part.header, known);
    if (part.part === "section" && part.name !== "attachments" && sectionNamed(part.name) === undefined) {
      throw invalid(`its section ${part.name} is not known here`);
    }
  }
}

function assertReadable(header: ArchiveHeader, known: number): void {
  if (header.schema_version <= known) return;
  throw invalid(
    `it was made by version ${header.version}, whose schema ${header.schema_version} is newer than ${known}`,
  );
}

async function* parts(path: string): AsyncGenerator<ArchivePart> {
  const file = createReadStream(path);
  const gunzip = createGunzip();
  const piped = pipeline(file, gunzip);
  piped.catch(() => {});
  try {
    yield* readArchive(linesOf(gunzip));
    await piped;
  } catch (error) {
    throw error instanceof MemoryError ? error : invalid("it is cut off or altered", error);
  } finally {
    gunzip.destroy();
    file.destroy();
  }
}

async function load(
  tx: Transaction,
  backend: Database["backend"],
  path: string,
  files: AttachmentRestore,
): Promise<Record<string, number>> {
  await dropUnusedModels(tx);
  const counts: Record<string, number> = {};
  let target: { readonly section: Section; readonly sql: string } | undefined;
  let batch: string[] = [];
  let units = 0;
  const flush = async () => {
    if (target !== undefined && batch.length > 0) await tx.query(target.sql, [`[${batch.join(",")}]`]);
    batch = [];
    units = 0;
  };
  for await (const part of parts(path)) {
    if (part.part === "section" && part.name !== "attachments") target = await targetOf(tx, part.name, part.columns);
    if (part.part === "line" && target === undefined) await files.line(part.line);
    if (part.part === "line" && target !== undefined) {
      batch.push(part.line);
      units += part.line.length;
      if (batch.length >= ROWS || units >= UNITS) await flush();
    }
    if (part.part === "end") {
      await flush();
      await files.end();
      counts[part.end.name] = part.end.count;
      if (part.end.name === "embedding_models") await createTables(tx, backend);
      target = undefined;
    }
  }
  for (const [table, column] of SEQUENCES) {
    await tx.query(
      `select setval(pg_get_serial_sequence('${table}', '${column}'), greatest(max(${column}), 1), max(${column}) is not null)
       from ${table}`,
    );
  }
  return counts;
}

/** A model that is configured already has a table without vectors; the archive's models take their numbers. */
async function dropUnusedModels(tx: Transaction): Promise<void> {
  const { rows } = await tx.query<{ readonly id: number }>("select id from embedding_models");
  for (const { id } of rows) await tx.query(`drop table if exists ${embeddingTable(id)}`);
  await tx.query("delete from embedding_models");
}

async function createTables(tx: Transaction, backend: Database["backend"]): Promise<void> {
  const { rows } = await tx.query<{ readonly id: number; readonly dimensions: number }>(
    "select id, dimensions from embedding_models order by id",
  );
  for (const model of rows) await createEmbeddingTable(tx, backend, model);
}

async function targetOf(
  tx: Transaction,
  name: string,
  columns: readonly string[],
): Promise<{ readonly section: Section; readonly sql: string }> {
  const section = sectionNamed(name);
  if (section === undefined) throw invalid(`its section ${name} is not known here`);
  const known = new Set(await columnsOf(tx, section));
  const unknown = columns.filter((column) => !known.has(column));
  if (unknown.length > 0) throw invalid(`its section ${name} has the unknown column ${unknown[0]}`);
  return { section, sql: statementOf(section, columns) };
}

/** Names of columns are those of the catalog: they were compared with it. */
function statementOf(section: Section, columns: readonly string[]): string {
  const rows = `jsonb_populate_recordset(null::${section.table}, $1::jsonb)`;
  if (section.how === "update") {
    const [key, ...changed] = columns.map((column) => `"${column}"`);
    const changes = changed.map((column) => `${column} = r.${column}`).join(", ");
    return `update ${section.table} as t set ${changes} from ${rows} as r where t.${key} = r.${key}`;
  }
  const list = columns.map((column) => `"${column}"`).join(", ");
  const values = columns.map((column) => section.restored?.[column] ?? `"${column}"`).join(", ");
  const merge = section.how === "merge" ? "on conflict do nothing" : "";
  return `insert into ${section.table} (${list}) overriding system value select ${values} from ${rows} as r ${merge}`;
}
