import type { Transaction } from "../../contracts/database.ts";
import { RELEASED } from "../claims.ts";
import { deleteVectors, uncountWords } from "./search-data.ts";

/**
 * The summaries that cover messages of a batch, with those above them. The compactor makes them again from what remains: what it has
 * read before is worth nothing, since its claim is taken from it.
 */

export async function eraseSummaries(
  tx: Transaction,
  batch: { readonly erasureId: string; readonly conversationId: string; readonly ids: readonly string[] },
): Promise<number> {
  const { rows } = await tx.query<{ readonly id: string; readonly conversation_id: string | null }>(
    `/* forget:summaries */ with recursive covering (id, parent_id, depth, conversation_id) as (
       select s.id, s.parent_id, s.depth, s.conversation_id from summaries s
       where s.id in (select summary_id from summary_sources where message_id = any($1::uuid[]))
       union
       select above.id, above.parent_id, above.depth, above.conversation_id from covering
       join summaries above on above.id = covering.parent_id and above.depth > covering.depth
     ) select id, conversation_id from covering`,
    [batch.ids],
  );
  const ids = rows.map(({ id }) => id);
  const conversations = [...new Set([batch.conversationId, ...rows.flatMap((row) => row.conversation_id ?? [])])];
  await summarizeAgain(tx, conversations, ids);
  if (ids.length === 0) return 0;
  await uncountWords(tx, "summary", ids);
  await tx.query(
    `insert into forgotten_summaries (summary_id, agent, erasure_id)
     select s.id, c.agent, $2 from summaries s join conversations c on c.id = s.conversation_id
     where s.id = any($1::uuid[]) on conflict do nothing`,
    [ids, batch.erasureId],
  );
  await tx.query("delete from summary_sources where summary_id = any($1::uuid[])", [ids]);
  await tx.query("update summaries set parent_id = null where parent_id = any($1::uuid[]) and id <> all($1::uuid[])", [
    ids,
  ]);
  await tx.query("delete from summaries where id = any($1::uuid[])", [ids]);
  await deleteVectors(tx, "summary", ids);
  return ids.length;
}

/** From before the first message whose leaf goes. Without a leaf the claim goes all the same: a worker may have read the messages. */
async function summarizeAgain(
  tx: Transaction,
  conversations: readonly string[],
  summaries: readonly string[],
): Promise<void> {
  await tx.query(
    `update compaction_work w set ${RELEASED}, due_at = now(), attempts = 0, failed_at = null, error = null,
       summarized_seq = least(w.summarized_seq, coalesce((select min(m.seq) - 1 from summary_sources link
         join messages m on m.id = link.message_id
         where link.summary_id = any($2::uuid[]) and m.conversation_id = w.conversation_id), w.summarized_seq))
     where w.conversation_id = any($1::uuid[])`,
    [conversations, summaries],
  );
}
