import type { Database, Transaction } from "../../contracts/database.ts";
import { Values } from "../recall/sql.ts";
import { keyHash, lockSession } from "../transcript/writer.ts";
import { eraseSummaries } from "./erase-summaries.ts";
import { eraseApprovals, eraseAttachments, eraseTurns } from "./erase-turns.ts";
import { deleteVectors, LOCK_WORDS, lockEmbedders, uncountWords } from "./search-data.ts";

/**
 * One batch of an erasure, of one conversation, in one transaction: the messages, and all that other tables say of them. Under the
 * session's lock no writer and no compactor stores anything of the conversation meanwhile; under the embedders' no row is claimed.
 */

/** A search through all rows for what names them takes longer than ordinary statements. */
export const STATEMENTS = { statementTimeoutMs: 120_000, lockTimeoutMs: 20_000 };
const ROWS = 200;

/** False where nothing was left, and the erasure has ended. */
export function eraseBatch(database: Database, erasureId: string): Promise<boolean> {
  return database.transaction(async (tx) => {
    const conversation = await nextConversation(tx, erasureId);
    if (conversation === null) {
      await tx.query(
        "update erasures set finished_at = now(), selector_hash = '' where id = $1 and finished_at is null",
        [erasureId],
      );
      return false;
    }
    await lockSession(tx, conversation.session_key);
    await lockEmbedders(tx);
    await tx.query(LOCK_WORDS);
    const ids = await pendingIds(tx, erasureId, conversation.id);
    if (ids.length > 0) await erase(tx, { erasureId, conversationId: conversation.id, ids });
    return true;
  }, STATEMENTS);
}

interface Batch {
  readonly erasureId: string;
  readonly conversationId: string;
  readonly ids: readonly string[];
}

async function nextConversation(
  tx: Transaction,
  erasureId: string,
): Promise<{ readonly id: string; readonly session_key: string } | null> {
  const { rows } = await tx.query<{ readonly id: string; readonly session_key: string }>(
    `select c.id, c.session_key from forgotten f join conversations c on c.id = f.conversation_id
     where f.erasure_id = $1 and f.erased_at is null order by f.conversation_id limit 1`,
    [erasureId],
  );
  return rows[0] ?? null;
}

/** After the locks: another node may have erased some meanwhile. */
async function pendingIds(tx: Transaction, erasureId: string, conversationId: string): Promise<readonly string[]> {
  const { rows } = await tx.query<{ readonly message_id: string }>(
    `select message_id from forgotten where erasure_id = $1 and conversation_id = $2 and erased_at is null
     order by message_id limit ${ROWS} for update`,
    [erasureId, conversationId],
  );
  return rows.map(({ message_id: id }) => id);
}

async function erase(tx: Transaction, batch: Batch): Promise<void> {
  const { erasureId, conversationId, ids } = batch;
  const files = await attachmentsOf(tx, ids);
  const values = new Values();
  const named = await turnsOf(tx, ids);
  const turns = await eraseTurns(tx, `t.id::text = any(${values.add(named)}::text[])`, values);
  // Also of turns that were deleted since.
  await eraseApprovals(tx, named);
  const summaries = await eraseSummaries(tx, batch);
  await uncountWords(tx, "message", ids);
  await tx.query(
    `/* forget:keys */ insert into forgotten_keys (conversation_id, key_hash, message_id)
     select conversation_id, ${keyHash("conversation_id", "key")}, message_id from message_keys where message_id = any($1::uuid[])
     on conflict do nothing`,
    [ids],
  );
  await tx.query("delete from message_keys where message_id = any($1::uuid[])", [ids]);
  await tx.query("delete from payloads where message_id = any($1::uuid[])", [ids]);
  // The trigger of the transcript lets these rows go, in this transaction.
  await tx.query("select set_config('cairn.erasure', $1, true)", [erasureId]);
  await tx.query("delete from messages where id = any($1::uuid[])", [ids]);
  await tx.query("select set_config('cairn.erasure', '', true)");
  await deleteVectors(tx, "message", ids);
  const attachments = await eraseAttachments(tx, files);
  // A title is the beginning of what was said first, and an agent's list repeats what it was asked for.
  await tx.query("update conversations set title = null, settings = settings - 'todo' where id = $1", [conversationId]);
  await tx.query("update forgotten set erased_at = now() where message_id = any($1::uuid[])", [ids]);
  await tx.query(
    `update erasures set messages = messages + $2, summaries = summaries + $3, turns = turns + $4,
       attachments = attachments + $5 where id = $1`,
    [erasureId, ids.length, summaries, turns.turns, turns.attachments + attachments],
  );
}

async function turnsOf(tx: Transaction, ids: readonly string[]): Promise<readonly string[]> {
  const { rows } = await tx.query<{ readonly id: string }>(
    `select distinct m.metadata ->> 'turn_id' as id from messages m
     where m.id = any($1::uuid[]) and m.metadata ->> 'turn_id' is not null`,
    [ids],
  );
  return rows.map(({ id }) => id);
}

async function attachmentsOf(tx: Transaction, ids: readonly string[]): Promise<readonly string[]> {
  const { rows } = await tx.query<{ readonly sha256: string }>(
    `select distinct file ->> 'sha256' as sha256 from messages m cross join lateral jsonb_array_elements(
       case when jsonb_typeof(m.metadata -> 'attachments') = 'array' then m.metadata -> 'attachments' else '[]' end) as file
     where m.id = any($1::uuid[]) and file ->> 'sha256' is not null`,
    [ids],
  );
  return rows.map(({ sha256 }) => sha256);
}
