import type { Database, Transaction } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import type { SummaryKind } from "../../domain/summaries/budgets.ts";
import { RELEASED } from "../claims.ts";
import { lockSession } from "../transcript/writer.ts";
import type { Claim } from "./work.ts";

/**
 * Stores a summary and its sources, in one transaction under the session's lock: only while the claim is the
 * writer's, and only what no other summary has taken meanwhile.
 */

export interface NewSummary {
  /** Made before the first attempt: a commit whose answer got lost is recognized by it. */
  readonly id: string;
  readonly kind: SummaryKind;
  readonly content: string;
  readonly model: string;
  readonly messageCount: number;
  readonly earliest: Date;
  readonly latest: Date;
  /** Of a leaf: its messages, in order; the last one's insertion number. */
  readonly messages?: { readonly ids: readonly string[]; readonly lastSeq: number };
  /** Of a branch or root: the summaries that it absorbs. */
  readonly absorbed?: readonly string[];
}

const DEPTHS: Readonly<Record<SummaryKind, number>> = { leaf: 0, branch: 1, root: 2 };
/** Links of a leaf with thousands of messages. */
const STATEMENT_TIMEOUT_MS = 20_000;

/** MEMORY_CONFLICT when the claim is lost or a source was taken: then nothing was stored. */
export async function storeSummary(
  database: Database,
  { claim, sessionKey }: { readonly claim: Claim; readonly sessionKey: string },
  summary: NewSummary,
): Promise<void> {
  await database.transaction(
    async (tx) => {
      await lockSession(tx, sessionKey);
      if (await isStored(tx, summary.id)) return;
      if (!(await isOurs(tx, claim))) {
        throw new MemoryError(
          "MEMORY_CONFLICT",
          "The conversation is another worker's by now; its summary was not stored.",
        );
      }
      await insert(tx, claim.conversationId, summary);
      if (summary.messages !== undefined) await link(tx, summary.id, summary.messages.ids);
      if (summary.absorbed !== undefined) await absorb(tx, summary, summary.absorbed);
      await tx.query(
        `/* compaction:done */ update compaction_work set summarized_seq = greatest(summarized_seq, $2), due_at = clock_timestamp(), attempts = 0,
           error = null, ${RELEASED} where conversation_id = $1`,
        [claim.conversationId, summary.messages?.lastSeq ?? 0],
      );
    },
    { statementTimeoutMs: STATEMENT_TIMEOUT_MS, lockTimeoutMs: STATEMENT_TIMEOUT_MS },
  );
}

async function isStored(tx: Transaction, id: string): Promise<boolean> {
  return (await tx.query("select 1 from summaries where id = $1", [id])).rows.length > 0;
}

async function isOurs(tx: Transaction, { conversationId, owner }: Claim): Promise<boolean> {
  const { rows } = await tx.query(
    "select 1 from compaction_work where conversation_id = $1 and claimed_by = $2 for update",
    [conversationId, owner],
  );
  return rows.length > 0;
}

/**
 * Its parent is the conversation's latest summary of its own level, until one of the next level absorbs it: a summary
 * below a higher one is a child of that one.
 */
async function insert(tx: Transaction, conversationId: string, summary: NewSummary): Promise<void> {
  const { id, kind, content, model, messageCount, earliest, latest } = summary;
  await tx.query(
    `/* compaction:summary */ insert into summaries (id, conversation_id, parent_id, depth, kind, content, message_count, earliest_at, latest_at, model)
     values ($1, $2, (select id from summaries where conversation_id = $2 and depth = $3 order by seq desc limit 1),
       $3, $4, $5, $6, $7, $8, $9)`,
    [
      id,
      conversationId,
      DEPTHS[kind],
      kind,
      content,
      messageCount,
      earliest.toISOString(),
      latest.toISOString(),
      model,
    ],
  );
}

async function link(tx: Transaction, summaryId: string, messageIds: readonly string[]): Promise<void> {
  const { rows } = await tx.query("select 1 from summary_sources where message_id = any($1::uuid[]) limit 1", [
    messageIds,
  ]);
  if (rows.length > 0)
    throw new MemoryError("MEMORY_CONFLICT", "A message was summarized meanwhile; the summary was not stored.");
  await tx.query(
    `/* compaction:links */ insert into summary_sources (summary_id, message_id, ordinal)
     select $1, id, n from unnest($2::uuid[]) with ordinality as given (id, n)`,
    [summaryId, messageIds],
  );
}

async function absorb(tx: Transaction, { id, kind }: NewSummary, below: readonly string[]): Promise<void> {
  const { count } = await tx.query(
    `/* compaction:absorb */ update summaries s set parent_id = $1 where s.id = any($2::uuid[]) and s.depth = $3
       and not exists (select 1 from summaries above where above.id = s.parent_id and above.depth > s.depth)`,
    [id, below, DEPTHS[kind] - 1],
  );
  if (count !== below.length) {
    throw new MemoryError(
      "MEMORY_CONFLICT",
      "A summary was absorbed by another one meanwhile; the new one was not stored.",
    );
  }
}
