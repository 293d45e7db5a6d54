import { createReadStream } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Database, Queryable, Transaction } from "../../contracts/database.ts";
import { linesOf } from "../../files/memory-archive.ts";
import { columnsOf, type Section, sectionsOf } from "./sections.ts";

/**
 * The store as it was at one moment, read in pages. On a server that is one REPEATABLE READ transaction. The embedded
 * store has one connection, which must not be held for minutes: there one short transaction copies what may change to a
 * file and notes how far the transcript reaches. What it does not copy never changes and is paged by its sequence up to
 * that point; with one connection, the order of sequences is the order of commits, so nothing below it can appear later.
 */

export interface Snapshot {
  readonly schemaVersion: number;
  readonly sections: readonly SnapshotSection[];
  /** Has the table of attachments as it was then, or with what came since. */
  readonly attachments: Queryable;
  /** Keeps the snapshot while nothing is read; call it every few seconds. */
  keepAlive(): Promise<void>;
}

export interface SnapshotSection {
  readonly name: string;
  readonly columns: readonly string[];
  /** Rows as JSON text, in pages of bounded size. */
  pages(): AsyncIterable<readonly string[]>;
}

const PAGE = 200;
/** A page of one statement of a large store; far more than it takes. */
const STATEMENT_TIMEOUT_MS = 120_000;

export async function withSnapshot<T>(
  database: Database,
  staging: string,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  return database.backend === "postgres" ? onServer(database, work) : onEmbedded(database, staging, work);
}

function onServer<T>(database: Database, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  return database.transaction(
    async (tx) => {
      await tx.query("set transaction isolation level repeatable read, read only");
      const sections = (await listSections(tx)).map(({ section, columns }) => ({
        name: section.name,
        columns,
        pages: () => cursorPages(tx, section, columns),
      }));
      const keepAlive = async () => void (await tx.query("select 1"));
      return work({ schemaVersion: await versionOf(tx), sections, attachments: tx, keepAlive });
    },
    { statementTimeoutMs: STATEMENT_TIMEOUT_MS },
  );
}

async function onEmbedded<T>(
  database: Database,
  staging: string,
  work: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(staging, ".backup-"));
  try {
    const copy = await database.transaction((tx) => copyChanging(tx, folder), {
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    });
    const sections = copy.sections.map(({ section, columns, file }) => ({
      name: section.name,
      columns,
      pages: () => (file === undefined ? sequencePages(database, section, columns, copy.reach) : filePages(file)),
    }));
    return await work({
      schemaVersion: copy.schemaVersion,
      sections,
      attachments: database,
      keepAlive: async () => {},
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Reach {
  readonly messages: number;
  readonly summaries: number;
}

interface Copied {
  readonly section: Section;
  readonly columns: readonly string[];
  /** Where its rows are; undefined for a section that is paged later. */
  readonly file?: string;
}

async function copyChanging(
  tx: Transaction,
  folder: string,
): Promise<{ readonly sections: Copied[]; readonly reach: Reach; readonly schemaVersion: number }> {
  const { rows } = await tx.query<Reach>(
    `select (select coalesce(max(seq), 0) from messages) as messages, (select coalesce(max(seq), 0) from summaries) as summaries`,
  );
  const sections: Copied[] = [];
  for (const { section, columns } of await listSections(tx)) {
    if (section.pagedBy !== undefined) {
      sections.push({ section, columns });
      continue;
    }
    const file = join(folder, `${sections.length}.jsonl`);
    const handle = await open(file, "wx", 0o600);
    try {
      for await (const page of cursorPages(tx, section, columns)) await handle.write(`${page.join("\n")}\n`);
    } finally {
      await handle.close();
    }
    sections.push({ section, columns, file });
  }
  return { sections, reach: rows[0] ?? { messages: 0, summaries: 0 }, schemaVersion: await versionOf(tx) };
}

async function listSections(database: Queryable) {
  const { rows } = await database.query<{ readonly id: number }>("select id from embedding_models order by id");
  const listed: { readonly section: Section; readonly columns: readonly string[] }[] = [];
  for (const section of sectionsOf(rows.map(({ id }) => id))) {
    const columns = await columnsOf(database, section);
    // A model that is listed but was never used has no table yet.
    if (columns.length > 0) listed.push({ section, columns });
  }
  return listed;
}

async function versionOf(database: Queryable): Promise<number> {
  const { rows } = await database.query<{ readonly version: number }>(
    "select coalesce(max(version), 0) as version from schema_migrations",
  );
  return rows[0]?.version ?? 0;
}

interface RowLine {
  readonly line: string;
}

function select(section: Section, columns: readonly string[], condition = ""): string {
  const list = columns.map((column) => `t."${column}"`).join(", ");
  const joint = condition === "" ? "" : `${section.from.includes(" where ") ? " and" : " where"} ${condition}`;
  return `select row_to_json(r)::text as line from
    (select ${list} from ${section.from}${joint} order by ${section.order}) as r`;
}

async function* cursorPages(tx: Transaction, section: Section, columns: readonly string[]) {
  await tx.query(`declare archive no scroll cursor for ${select(section, columns)}`);
  try {
    for (;;) {
      const { rows } = await tx.query<RowLine>(`fetch ${PAGE} from archive`);
      if (rows.length === 0) return;
      yield rows.map(({ line }) => line);
    }
  } finally {
    // A transaction that has failed has closed it already.
    await tx.query("close archive").catch(() => {});
  }
}

async function* sequencePages(database: Database, section: Section, columns: readonly string[], reach: Reach) {
  const { pagedBy } = section;
  if (pagedBy === undefined) return;
  const last = reach[pagedBy.sequence];
  const sql = select(section, columns, `${pagedBy.expression} > $1 and ${pagedBy.expression} <= $2`);
  for (let after = 0; after < last; after += PAGE) {
    const { rows } = await database.query<RowLine>(sql, [after, Math.min(after + PAGE, last)]);
    if (rows.length > 0) yield rows.map(({ line }) => line);
  }
}

async function* filePages(file: string) {
  let page: string[] = [];
  for await (const line of linesOf(createReadStream(file))) {
    page.push(line);
    if (page.length === PAGE) {
      yield page;
      page = [];
    }
  }
  if (page.length > 0) yield page;
}
