/** A part of a session that is kept in SQLite, read without a chance to change it. */

import type { DatabaseSync } from "node:sqlite";
import { openRegular, UnreadablePointer } from "./session-files.ts";

/** What a part's JSON may be long. */
const MAX_DATA = 64 * 1024 * 1024;
const BUSY_MS = 1_000;

export interface StoredPart {
  readonly id: string;
  readonly timeCreated: number;
  readonly data: unknown;
  readonly message: unknown;
}

/** The part, and before it those of the same message from `reasoningFrom` on, where that is given. */
export async function readParts(
  path: string,
  partId: string,
  reasoningFrom: string | undefined,
): Promise<StoredPart[]> {
  await (await openRegular(path)).close();
  // Loaded only here: few nodes ever read a session of this kind.
  const { DatabaseSync: Sqlite } = await import("node:sqlite");
  let database: DatabaseSync;
  try {
    database = new Sqlite(path, { readOnly: true, timeout: BUSY_MS, allowExtension: false });
  } catch {
    throw new UnreadablePointer("the session database cannot be opened");
  }
  try {
    return query(database, partId, reasoningFrom ?? partId);
  } catch (error) {
    if (error instanceof UnreadablePointer) throw error;
    throw new UnreadablePointer("the session database cannot be read");
  } finally {
    database.close();
  }
}

function query(database: DatabaseSync, partId: string, from: string): StoredPart[] {
  // A view could compute anything.
  const tables = database
    .prepare("select count(*) as n from sqlite_schema where type = 'table' and name in ('part', 'message')")
    .get();
  if (tables?.["n"] !== 2) throw new UnreadablePointer("the session database is not of a kind that is known here");
  const rows = database
    .prepare(
      `select p.id, p.time_created, p.data, m.data as message
       from part target
       join part p on p.message_id = target.message_id and (p.id = target.id or (p.id >= ? and p.id < target.id))
       join message m on m.id = p.message_id
       where target.id = ? and length(p.data) <= ${MAX_DATA} and length(m.data) <= ${MAX_DATA}
       order by p.id`,
    )
    .all(from, partId);
  if (rows.length === 0) throw new UnreadablePointer("the session database has no such part any more");
  return rows.map((row) => ({
    id: String(row["id"]),
    timeCreated: Number(row["time_created"]),
    data: JSON.parse(String(row["data"])),
    message: JSON.parse(String(row["message"])),
  }));
}
