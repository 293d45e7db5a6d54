import type { Database } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import type { HistoryEntry } from "../../contracts/memory.ts";
import type { SessionSettings } from "../../contracts/records.ts";
import { sanitize, sanitizeJson } from "../../domain/cap.ts";
import { parseSessionKey } from "../../domain/session-key.ts";
import type { Writer } from "../transcript/writer.ts";

/** What a session needs to go on after a restart: its history and its settings. */

type HistoryRow = Omit<HistoryEntry, "created_at"> & { readonly created_at: Date };

/**
 * The newest `limit` rows of the session's active conversation, oldest first; of one that turns opened, whatever others stored.
 * The row with which `bytes` are reached is the last that is read; no text beyond it leaves the database.
 */
export async function sessionHistory(
  database: Database,
  sessionKey: string,
  limit: number,
  bytes?: number,
): Promise<HistoryEntry[]> {
  const { rows } = await database.query<HistoryRow>(
    `with newest as (
       select id, role, content, tool_name, tool_args, tool_result, metadata, created_at, seq,
         octet_length(content) + coalesce(octet_length(tool_args::text), 0) + coalesce(octet_length(tool_result), 0) as size
       from messages
       where conversation_id = (select id from conversations where session_key = $1 and opened_by = 'turn' and active)
       order by seq desc limit $2),
     summed as (select *, sum(size) over (order by seq desc) - size as newer from newest)
     select id, role, content, tool_name, tool_args, tool_result, metadata, created_at
     from summed where $3::bigint is null or newer < $3::bigint
     order by seq desc`,
    [sanitize(sessionKey), limit, bytes === undefined ? null : Math.trunc(bytes)],
  );
  return rows.reverse().map((row) => ({ ...row, created_at: row.created_at.toISOString() }));
}

/** Of the active conversation, else of the newest one, whose settings the next conversation takes over; else null. */
export async function loadSettings(database: Database, sessionKey: string): Promise<SessionSettings | null> {
  const { rows } = await database.query<{ readonly settings: SessionSettings }>(
    "select settings from conversations where session_key = $1 and opened_by = 'turn' order by active desc, created_at desc, id desc limit 1",
    [sanitize(sessionKey)],
  );
  return rows[0]?.settings ?? null;
}

/** Replaces the settings of the active conversation, which is opened when the session has none yet. */
export async function saveSettings(
  database: Database,
  writer: Writer,
  sessionKey: string,
  settings: SessionSettings,
): Promise<void> {
  const text = JSON.stringify(sanitizeJson(settings));
  const update =
    "update conversations set settings = $2::jsonb where session_key = $1 and opened_by = 'turn' and active";
  const { count } = await database.query(update, [sanitize(sessionKey), text]);
  if (count > 0) return;
  const parts = parseSessionKey(sessionKey);
  if (parts === null) throw new MemoryError("MEMORY_NOT_FOUND", "There is no such session.");
  await database.transaction(async (tx) => {
    const { agent, channel, conversation, user } = parts;
    const { conversationId } = await writer.writeIn(tx, {
      sessionKey,
      agent,
      channel,
      channelId: conversation,
      user,
      openedBy: "turn",
      entries: [],
    });
    await tx.query("update conversations set settings = $2::jsonb where id = $1", [conversationId, text]);
  });
}
