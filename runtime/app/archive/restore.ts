import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Database, Queryable, Transaction } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import {
  type ArchiveHeader,
  type ArchivePart,
  invalid,
  isBadData,
  readPackedArchive,
  type UnpackedLimit,
} from "../../files/memory-archive.ts";
import { type RestoreOptions, type RestoreReport, SCOPES } from "../api.ts";
import { schemaVersion } from "../migrate.ts";
import { isOwnerName } from "../tokens.ts";
import { AttachmentRestore } from "./attachment-lines.ts";
import { ATTACHMENTS, columnsOf, type Section, sectionNamed } from "./sections.ts";
import { createTables, dropUnusedModels, indexTables } from "./vector-tables.ts";

/**
 * Fills an empty store from an archive, all or nothing: the archive is first copied to a file and verified to its end,
 * and only then loaded, in one transaction.
 */

export interface RestoreDeps {
  readonly database: Database;
  readonly staging: string;
  readonly unpacked: UnpackedLimit;
}

const TOKENS = "api_tokens";
/** For a batch of rows. */
const STATEMENT_TIMEOUT_MS = 10 * 60_000;
/** For one index of vectors, which is one statement. */
const INDEX_TIMEOUT_MS = 6 * 60 * 60_000;
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
/** Columns that a node counts up from where the archive leaves them. */
const COUNTERS = [...SEQUENCES, ["turns", "epoch"], ["leases", "epoch"]] as const;
/** No store gets there by itself; from the end of its range a counter could not go on. */
const LARGEST = { seq: 1e15, epoch: 1e15, id: 1e9 } as const;

type Tokens = RestoreReport["tokens"];

export async function restore(
  deps: RestoreDeps,
  archive: AsyncIterable<Uint8Array>,
  { withTokens = false }: RestoreOptions = {},
): Promise<RestoreReport> {
  const { database, unpacked } = deps;
  await assertEmpty(database);
  const folder = await mkdtemp(join(deps.staging, ".restore-"));
  try {
    const path = join(folder, "archive");
    await pipeline(archive, createWriteStream(path, { mode: 0o600 }));
    const file = { path, unpacked };
    await verify(file, (await schemaVersion(database)) ?? 0);
    const report = await database.transaction(
      async (tx) => {
        // Locks out other writers while the store is filled.
        await tx.query("lock table conversations, messages, inbox in share row exclusive mode");
        await assertEmpty(tx);
        // A node that runs has begun them without the archive's pauses.
        await tx.query("delete from schedules");
        return load(tx, { backend: database.backend, file, withTokens });
      },
      { statementTimeoutMs: STATEMENT_TIMEOUT_MS, lockTimeoutMs: LOCK_TIMEOUT_MS },
    );
    // What searches need to know about the words; they work without.
    await database.script("analyze", { statementTimeoutMs: STATEMENT_TIMEOUT_MS }).catch(() => {});
    return report;
  } catch (error) {
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

interface ArchiveFile {
  readonly path: string;
  readonly unpacked: UnpackedLimit;
}

/** An archive at a path that this version can restore, read to its end; MEMORY_ARCHIVE_INVALID for any other file. */
export async function verifyArchive(path: string, unpacked: UnpackedLimit, schemaVersion: number): Promise<void> {
  await verify({ path, unpacked }, schemaVersion);
}

async function verify(file: ArchiveFile, schemaVersion: number): Promise<void> {
  const seen = new Set<string>();
  for await (const part of parts(file)) {
    if (part.part === "header") assertReadable(part.header, schemaVersion);
    if (part.part !== "section") continue;
    if (part.name !== ATTACHMENTS && sectionNamed(part.name) === undefined) throw unknownSection(part.name);
    if (seen.has(part.name)) throw invalid(`its section ${part.name} is there twice`);
    seen.add(part.name);
  }
}

function assertReadable(header: ArchiveHeader, schemaVersion: number): void {
  if (header.schema_version <= schemaVersion) return;
  throw invalid(
    `it was made by version ${header.version}, whose schema ${header.schema_version} is newer than ${schemaVersion}`,
  );
}

async function* parts({ path, unpacked }: ArchiveFile): AsyncGenerator<ArchivePart> {
  const { size } = await stat(path);
  const file = createReadStream(path);
  try {
    yield* readPackedArchive(file, size, unpacked);
  } finally {
    file.destroy();
  }
}

interface Load {
  readonly backend: Database["backend"];
  readonly file: ArchiveFile;
  readonly withTokens: boolean;
}

async function load(tx: Transaction, { backend, file, withTokens }: Load): Promise<RestoreReport> {
  const attachments = new AttachmentRestore(tx);
  await dropUnusedModels(tx);
  const counts: Record<string, number> = {};
  const restored: Tokens["restored"][number][] = [];
  let leftOut = 0;
  let open = "";
  let target: Target | undefined;
  let batch: string[] = [];
  let units = 0;
  // The next lines are read while the store takes these.
  let written = Promise.resolve();
  const insert = async (into: Target, lines: readonly string[]) => {
    const { rows, count } = await tx.query<TokenRow>(into.sql, [`[${lines.join(",")}]`]);
    if (into.section.how !== "merge" && count !== lines.length) throw invalid("a line of it is not one row");
    if (into.section.name === TOKENS) {
      if (rows.some(({ name }) => isOwnerName(name))) throw invalid("one of its tokens has the owner's name");
      restored.push(...rows.map(tokenOf));
    }
  };
  const flush = async () => {
    await written;
    if (target !== undefined && batch.length > 0) {
      written = insert(target, batch);
      written.catch(() => {});
    }
    batch = [];
    units = 0;
  };
  try {
    for await (const part of parts(file)) {
      if (part.part === "section") {
        const into = part.name === ATTACHMENTS || (part.name === TOKENS && !withTokens) ? undefined : part.name;
        target = into === undefined ? undefined : await targetOf(tx, into, part.columns);
        open = part.name;
      }
      if (part.part === "line" && open === ATTACHMENTS) await attachments.line(part.line);
      if (part.part === "line" && target !== undefined) {
        batch.push(part.line);
        units += part.line.length;
        if (batch.length >= ROWS || units >= UNITS) await flush();
      }
      if (part.part === "end") {
        await flush();
        await written;
        await attachments.end();
        if (part.end.name === TOKENS) leftOut = part.end.count - restored.length;
        else counts[part.end.name] = part.end.count;
        if (part.end.name === "embedding_models") await createTables(tx, backend);
        target = undefined;
      }
    }
  } finally {
    await written.catch(() => {});
  }
  await tx.limit(INDEX_TIMEOUT_MS);
  await indexTables(tx, backend);
  await assertCountable(tx);
  for (const [table, column] of SEQUENCES) {
    await tx.query(
      `select setval(pg_get_serial_sequence('${table}', '${column}'), greatest(max(${column}), 1), max(${column}) is not null)
       from ${table}`,
    );
  }
  return {
    counts: restored.length > 0 ? { ...counts, [TOKENS]: restored.length } : counts,
    tokens: { left_out: leftOut, restored },
  };
}

interface TokenRow {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly revoked_at: Date | null;
}

function tokenOf({ name, scopes, revoked_at }: TokenRow): Tokens["restored"][number] {
  return { name, scopes: SCOPES.filter((scope) => scopes.includes(scope)), revoked: revoked_at !== null };
}

async function assertCountable(tx: Transaction): Promise<void> {
  for (const [table, column] of COUNTERS) {
    const sql = `select coalesce(max(${column}), 0) > $1 or coalesce(min(${column}), 0) < 0 as beyond from ${table}`;
    const { rows } = await tx.query<{ readonly beyond: boolean }>(sql, [LARGEST[column]]);
    if (rows[0]?.beyond !== false) throw invalid(`its ${table} are numbered beyond what a store counts`);
  }
}

interface Target {
  readonly section: Section;
  readonly sql: string;
}

async function targetOf(tx: Transaction, name: string, columns: readonly string[]): Promise<Target> {
  const section = sectionNamed(name);
  if (section === undefined) throw unknownSection(name);
  const existing = new Set(await columnsOf(tx, section));
  const unknown = columns.filter((column) => !existing.has(column));
  if (unknown.length > 0) throw invalid(`its section ${name} has the unknown column ${unknown[0]}`);
  const missing = section.required?.filter((column) => !columns.includes(column)) ?? [];
  if (missing.length > 0) throw invalid(`its section ${name} lacks the column ${missing[0]}`);
  if (columns.length === 0 || new Set(columns).size < columns.length) {
    throw invalid(`its section ${name} does not name each of its columns once`);
  }
  return { section, sql: statementOf(section, columns) };
}

function unknownSection(name: string): MemoryError {
  return invalid(`its section ${name} is not known here`);
}

/** Names of columns are those of the catalog: they were compared with it. */
function statementOf(section: Section, columns: readonly string[]): string {
  const rows = `jsonb_populate_recordset(null::${section.table}, $1::jsonb)`;
  if (section.how === "update") {
    const [key, ...changed] = (section.only ?? columns).map((column) => `"${column}"`);
    const changes = changed.map((column) => `${column} = r.${column}`).join(", ");
    return `update ${section.table} as t set ${changes} from ${rows} as r where t.${key} = r.${key}`;
  }
  const all = [...new Set([...columns, ...Object.keys(section.restored ?? {})])];
  const list = all.map((column) => `"${column}"`).join(", ");
  const values = all.map((column) => section.restored?.[column] ?? `"${column}"`).join(", ");
  const merge = section.how === "merge" ? "on conflict do nothing" : "";
  const returning = section.name === TOKENS ? "returning name, scopes, revoked_at" : "";
  return `insert into ${section.table} (${list}) overriding system value select ${values} from ${rows} as r ${merge} ${returning}`;
}
