import type { Database, Transaction } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import type { Clock, NewId } from "../../contracts/ports.ts";
import { sanitize } from "../../domain/cap.ts";
import type { PendingReport, WriteBatch, WriteReport, WrittenRow } from "./batch.ts";
import { type Cuts, type Row, toRow, validateBatch } from "./rows.ts";

/**
 * The one writer of messages: turn, capture, append, ingest and import all come through here.
 * Under the session's lock, taken in a statement of its own so that the next one sees what the last holder committed,
 * it checks the dedupe keys and inserts what is new (specification, "Writer convention").
 */

export interface Writer {
  /** In a transaction of its own: all rows or none. MEMORY_INVALID_ARGUMENT lists what is wrong with a batch. */
  write(batch: WriteBatch): Promise<WriteReport>;
  /** In the caller's transaction. The session stays locked until it ends; call `afterCommit` once it has committed. */
  writeIn(tx: Transaction, batch: WriteBatch): Promise<PendingReport>;
}

export interface WriterOptions {
  readonly database: Database;
  readonly newId: NewId;
  readonly clock: Clock;
  /** Called after each commit that stored a row; must return at once and never throw. */
  readonly onWritten?: (written: WrittenNotice) => void;
}

export interface WrittenNotice {
  readonly conversationId: string;
  readonly sessionKey: string;
  readonly agent: string;
  /** Ids of the new rows, in order. */
  readonly inserted: readonly string[];
  /** Those of them whose content is empty beside a tool name: it can be synthesized. */
  readonly toolCalls: readonly string[];
}

/** Bounds of one statement, so that the largest batch stays within the statement deadline. */
const ROWS_PER_STATEMENT = 200;
const UNITS_PER_STATEMENT = 250_000;

export function createWriter(options: WriterOptions): Writer {
  const { database, newId, clock, onWritten } = options;

  async function writeIn(tx: Transaction, batch: WriteBatch): Promise<PendingReport> {
    validateBatch(batch);
    const now = clock.now();
    const prepared = batch.entries.map((entry) => toRow(entry, newId, now));
    const unique = firstOfEachKey(prepared.map(({ row }) => row));
    // The first insert follows on the wire, without waiting for the answer: it begins once the lock is held all the same.
    const locked = lockSession(tx, batch.sessionKey);
    locked.catch(() => undefined);
    const stored = new Map<string, { readonly id: string; readonly inserted: boolean }>();
    let conversation: { readonly id: string; readonly created: boolean } | undefined;
    for (const rows of statements(unique)) {
      const inserted = insert(tx, batch, rows, newId(), now);
      inserted.catch(() => undefined);
      // Its failure brings about the insert's.
      await locked;
      const outcome = await inserted;
      conversation ??= { id: outcome.conversationId, created: outcome.created };
      for (const { key, id, inserted } of outcome.rows) stored.set(key, { id, inserted });
    }
    if (conversation === undefined) throw new MemoryError("MEMORY_NOT_FOUND", "The session has no such conversation.");
    const report: WriteReport = {
      conversationId: conversation.id,
      created: conversation.created,
      rows: prepared.map(({ row, cuts }) => writtenRow(row, cuts, stored.get(row.key))),
    };
    const fresh = unique.filter((row) => stored.get(row.key)?.inserted === true);
    return { ...report, afterCommit: () => announce(batch, report.conversationId, fresh) };
  }

  function announce(batch: WriteBatch, conversationId: string, fresh: readonly Row[]): void {
    if (fresh.length === 0 || onWritten === undefined) return;
    onWritten({
      conversationId,
      sessionKey: batch.sessionKey,
      agent: batch.agent,
      inserted: fresh.map((row) => row.id),
      toolCalls: fresh.filter((row) => row.content === "" && row.tool_name !== null).map((row) => row.id),
    });
  }

  return {
    async write(batch) {
      const { afterCommit, ...report } = await database.transaction((tx) => writeIn(tx, batch));
      afterCommit();
      return report;
    },
    writeIn,
  };
}

/**
 * Excludes every other writer of the session until the transaction ends. Code that closes or opens the session's
 * conversation takes it too. MEMORY_LOCK_TIMEOUT when another one holds it for too long.
 */
export async function lockSession(tx: Transaction, sessionKey: string): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('cairn.session:' || $1::text, 0))", [
    sanitize(sessionKey),
  ]);
}

/** SQL of what a tombstone keeps of a dedupe key; of its conversation, as the key is. */
export function keyHash(conversation: string, key: string): string {
  return `encode(sha256(convert_to(${conversation}::text || ':' || ${key}, 'UTF8')), 'hex')`;
}

interface Outcome {
  readonly conversationId: string;
  readonly created: boolean;
  readonly rows: readonly { readonly key: string; readonly id: string; readonly inserted: boolean }[];
}

interface OutcomeRow {
  readonly conversation_id: string;
  readonly created: boolean;
  readonly key: string | null;
  readonly id: string | null;
  readonly inserted: boolean | null;
}

/**
 * One statement and so one round trip. Its parts share the snapshot taken after the lock; foreign keys are checked at
 * its end, when conversation and messages are both there.
 */
const INSERT = `
with entry as (
  select * from jsonb_to_recordset($1::jsonb) as entry (
    n int, id uuid, key text, role text, content text, tool_name text, tool_args jsonb, tool_result text,
    metadata jsonb, created_at timestamptz, payload jsonb)
),
found as (
  select id from conversations
  where session_key = $2 and case when $3::uuid is null then active and opened_by = $13
    else id = $3 and (opened_by = 'turn') = ($13 = 'turn') end
),
opened as (
  insert into conversations
    (id, session_key, agent, channel, channel_id, bot_identity, user_id, title, settings, finalized_at, created_at, updated_at,
      opened_by, by_owner)
  select $4, $2, $5, $6, $7, $8, coalesce($9, ''), $10,
    coalesce((select settings - 'todo' from conversations where session_key = $2 and opened_by = $13
      order by created_at desc, id desc limit 1), '{}'),
    case when $11 then $12::timestamptz end, $12, $12, $13, $14
  where $3::uuid is null and not exists (select 1 from found)
  returning id
),
conversation as (
  select id, false as created from found union all select id, true from opened
),
known as (
  select entry.n, message_keys.message_id
  from entry
  cross join conversation
  join message_keys on message_keys.conversation_id = conversation.id and message_keys.key = entry.key
  union all
  -- What was forgotten does not come back with the same event.
  select entry.n, forgotten_keys.message_id
  from entry
  cross join conversation
  join forgotten_keys on forgotten_keys.conversation_id = conversation.id
    and forgotten_keys.key_hash = ${keyHash("conversation.id", "entry.key")}
),
fresh as (
  select entry.*, conversation.id as conversation_id
  from entry cross join conversation
  where not exists (select 1 from known where known.n = entry.n)
),
stored as (
  insert into messages
    (id, conversation_id, agent, channel, role, content, tool_name, tool_args, tool_result, metadata, created_at)
  select id, conversation_id, $5, $6, role, content, tool_name, tool_args, tool_result, metadata, created_at
  from fresh order by n
),
keyed as (
  insert into message_keys (conversation_id, key, message_id) select conversation_id, key, id from fresh
),
paid as (
  insert into payloads (message_id, content, tool_args, tool_result)
  select id, payload ->> 'content', nullif(payload -> 'tool_args', 'null'), payload ->> 'tool_result'
  from fresh where jsonb_typeof(payload) = 'object'
),
touched as (
  update conversations set
    updated_at = greatest(updated_at, $12::timestamptz),
    title = coalesce(title, $10),
    -- Never before what it covers, though that was written by a node whose clock is ahead.
    finalized_at = case when $11 then greatest(updated_at, $12::timestamptz) else finalized_at end
  where id in (select id from found) and ($11 or exists (select 1 from fresh))
)
select conversation.id as conversation_id, conversation.created, entry.key,
  coalesce(known.message_id, entry.id) as id, known.message_id is null as inserted
from conversation
left join entry on true
left join known on known.n = entry.n`;

async function insert(
  tx: Transaction,
  batch: WriteBatch,
  rows: readonly Row[],
  conversationId: string,
  now: Date,
): Promise<Outcome> {
  const optional = (text: string | undefined) => (text === undefined ? null : sanitize(text));
  const result = await tx.query<OutcomeRow>(INSERT, [
    JSON.stringify(rows.map((row, n) => ({ n, ...row }))),
    sanitize(batch.sessionKey),
    batch.conversationId ?? null,
    conversationId,
    sanitize(batch.agent),
    sanitize(batch.channel),
    optional(batch.channelId),
    optional(batch.botIdentity),
    optional(batch.user),
    optional(batch.title),
    batch.finalize ?? false,
    now.toISOString(),
    batch.openedBy,
    batch.openedBy === "turn" && batch.byOwner === true,
  ]);
  const first = result.rows[0];
  if (first === undefined) throw new MemoryError("MEMORY_NOT_FOUND", "The session has no such conversation.");
  return {
    conversationId: first.conversation_id,
    created: first.created,
    rows: result.rows.flatMap(({ key, id, inserted }) =>
      key === null || id === null ? [] : [{ key, id, inserted: inserted === true }],
    ),
  };
}

/** Within a batch the first of equal keys is stored, as it would be in a batch of its own. */
function firstOfEachKey(rows: readonly Row[]): Row[] {
  const seen = new Map<string, Row>();
  for (const row of rows) if (!seen.has(row.key)) seen.set(row.key, row);
  return [...seen.values()];
}

/** At least one statement, also for a batch without entries: it may open or finalize the conversation. */
function statements(rows: readonly Row[]): Row[][] {
  const result: Row[][] = [[]];
  let units = 0;
  for (const row of rows) {
    const size = row.content.length + (row.tool_result?.length ?? 0);
    const current = result.at(-1) ?? [];
    if (current.length > 0 && (current.length >= ROWS_PER_STATEMENT || units + size > UNITS_PER_STATEMENT)) {
      result.push([row]);
      units = size;
    } else {
      current.push(row);
      units += size;
    }
  }
  return result;
}

function writtenRow(row: Row, cuts: Cuts, stored: { id: string; inserted: boolean } | undefined): WrittenRow {
  // The first of equal keys in a batch has the row's id; the later ones find it taken.
  const inserted = stored?.inserted === true && stored.id === row.id;
  return { id: stored?.id ?? row.id, key: row.key, inserted, ...cuts };
}
