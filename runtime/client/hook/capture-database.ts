/** Captures what is new in a session of OpenCode, from its SQLite database, which is only read. */

import { access } from "node:fs/promises";
import type { DatabaseSync } from "node:sqlite";
import { isCompleteMessage, openCodePart } from "../../domain/harnesses/opencode.ts";
import type { CaptureClient } from "../capture/types.ts";
import { Batches } from "./batches.ts";
import type { Cursors } from "./cursors.ts";

export interface CaptureDatabase {
  /** Absolute. */
  readonly path: string;
  readonly session: string;
  readonly client: Pick<CaptureClient, "send">;
  readonly cursors: Cursors;
  readonly signal: AbortSignal;
}

const BUSY_MS = 2_000;

interface MessageRow {
  readonly id: string;
  readonly time: number;
  readonly data: unknown;
}

/**
 * Answers how many events were sent; null when the database has no such session. A message counts once it is complete:
 * until then its parts still change. One that never was completed counts once another follows.
 */
export async function captureDatabase(work: CaptureDatabase): Promise<number | null> {
  const { path, session, cursors, client, signal } = work;
  const database = await openReadOnly(path);
  try {
    const title = titleOf(database, session);
    if (title === null) return null;
    const cursor = await cursors.read("session", path, session);
    const resumeFrom = cursor !== null && countUpTo(database, session, cursor) === cursor.count ? cursor : null;
    const batches = new Batches({
      client,
      harness: "opencode",
      sessionKey: `opencode:${session}`,
      signal,
      title: /^(New|Child) session - /.test(title) ? undefined : title,
      fromStart: resumeFrom === null,
    });
    let done: MessageRow | null = null;
    let count = resumeFrom?.count ?? 0;
    const save = async () => {
      await batches.flush();
      if (done !== null) {
        await cursors.write({ kind: "session", path, session, time: done.time, message: done.id, count });
      }
    };
    const messages = messagesAfter(database, session, resumeFrom);
    for (const [n, message] of messages.entries()) {
      if (!isCompleteMessage(message.data) && n === messages.length - 1) break;
      for (const part of partsOf(database, message.id)) {
        batches.add(
          openCodePart({ ...part, message: message.data }),
          { session_sqlite_path: path, session_sqlite_part_id: part.id },
          { session_sqlite_reasoning_part_id: part.id },
        );
      }
      done = message;
      count += 1;
      if (batches.isFull) await save();
    }
    await save();
    return batches.sent;
  } finally {
    database.close();
  }
}

/** Ids of the sessions of the database, oldest first. */
export async function sessionsIn(path: string): Promise<string[]> {
  const database = await openReadOnly(path);
  try {
    return database
      .prepare("select id from session order by time_created, id")
      .all()
      .map((row) => String(row["id"]));
  } finally {
    database.close();
  }
}

async function openReadOnly(path: string): Promise<DatabaseSync> {
  // Loaded only where a session is in SQLite, and only in versions of Node that have it.
  const { DatabaseSync: Sqlite } = await import("node:sqlite");
  await access(path);
  return new Sqlite(path, { readOnly: true, timeout: BUSY_MS });
}

function titleOf(database: DatabaseSync, session: string): string | null {
  const row = database.prepare("select title from session where id = ?").get(session);
  return row === undefined ? null : String(row["title"] ?? "");
}

function messagesAfter(
  database: DatabaseSync,
  session: string,
  after: { readonly time: number; readonly message: string } | null,
): MessageRow[] {
  return database
    .prepare(
      `select id, time_created, data from message
       where session_id = ? and (time_created > ? or (time_created = ? and id > ?))
       order by time_created, id`,
    )
    .all(session, after?.time ?? -1, after?.time ?? -1, after?.message ?? "")
    .map((row) => ({ id: String(row["id"]), time: Number(row["time_created"]), data: parse(row["data"]) }));
}

function countUpTo(
  database: DatabaseSync,
  session: string,
  { time, message }: { readonly time: number; readonly message: string },
): number {
  const row = database
    .prepare(
      `select count(*) as n from message
       where session_id = ? and (time_created < ? or (time_created = ? and id <= ?))`,
    )
    .get(session, time, time, message);
  return Number(row?.["n"]);
}

function partsOf(database: DatabaseSync, message: string) {
  return database
    .prepare("select id, time_created, data from part where message_id = ? order by id")
    .all(message)
    .map((row) => ({ id: String(row["id"]), timeCreated: Number(row["time_created"]), data: parse(row["data"]) }));
}

function parse(value: unknown): unknown {
  try {
    return JSON.parse(String(value));
  } catch {
    return undefined;
  }
}
