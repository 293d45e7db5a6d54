import type { Transaction } from "../../contracts/database.ts";
import { embeddingTable } from "../recall/embedding-tables.ts";

/** What searches keep of rows: vectors, how often words occur, how often a row was found. */

type Kind = "message" | "summary";

const TABLES: Readonly<Record<Kind, string>> = { message: "messages", summary: "summaries" };

/** Nothing is counted meanwhile. As in terms/count.ts, which gives way to it. */
export const LOCK_WORDS = "select pg_advisory_xact_lock(hashtextextended('cairn.search_terms', 0))";

/** No embedder claims a row meanwhile, as in embedding/work.ts; one that has done so stores no vector without its claim's row. */
export async function lockEmbedders(tx: Transaction): Promise<void> {
  for (const id of await models(tx)) {
    await tx.query("select pg_advisory_xact_lock(hashtextextended('cairn.embedding:' || $1::text, 0))", [id]);
  }
}

/** Call it when the rows are gone: what was stored until then goes with them. */
export async function deleteVectors(tx: Transaction, kind: Kind, ids: readonly string[]): Promise<void> {
  // The work first: an embedder that stores its vector now has deleted its row, and is waited for here.
  await tx.query("delete from embedding_work where kind = $1 and id = any($2::uuid[])", [kind, ids]);
  for (const model of await models(tx)) {
    await tx.query(`delete from ${embeddingTable(model)} where kind = $1 and id = any($2::uuid[])`, [kind, ids]);
  }
  await tx.query("delete from access where kind = $1 and id = any($2::uuid[])", [kind, ids]);
}

/** Takes the rows' words out of the counts, as far as they are in them; call it before the rows go. */
export async function uncountWords(tx: Transaction, kind: Kind, ids: readonly string[]): Promise<void> {
  const counted = (joined = "") => `from ${TABLES[kind]} o ${joined} where o.id = any($1::uuid[]) and o.content <> ''
    and o.seq <= (select counted_to from search_totals where kind = '${kind}')
    and not exists (select from search_gaps gap where gap.kind = '${kind}' and o.seq between gap.first and gap.last)`;
  await tx.query(
    `update search_totals as total set documents = total.documents - gone.documents, lexemes = total.lexemes - gone.lexemes
     from (select count(*) as documents, coalesce(sum(length(o.content_tsv)), 0) as lexemes ${counted()}) as gone
     where total.kind = '${kind}'`,
    [ids],
  );
  if (kind === "summary") return;
  await tx.query(
    `update search_agents as agents set documents = agents.documents - gone.documents
     from (select o.agent, count(*) as documents ${counted()} group by o.agent) as gone where agents.agent = gone.agent`,
    [ids],
  );
  const { rows } = await tx.query<{ readonly lexeme: string }>(
    `update search_terms as terms set documents = terms.documents - gone.documents
     from (select lexeme, count(*) as documents ${counted("cross join lateral unnest(tsvector_to_array(o.content_tsv)) as lexeme")}
       group by lexeme) as gone where terms.lexeme = gone.lexeme
     returning terms.lexeme`,
    [ids],
  );
  const words = rows.map(({ lexeme }) => lexeme);
  // A word that is in no other row would tell of this one.
  await tx.query("delete from search_terms where documents <= 0 and lexeme = any($1::text[])", [words]);
}

async function models(tx: Transaction): Promise<readonly number[]> {
  const { rows } = await tx.query<{ readonly id: number }>("select id from embedding_models order by id");
  return rows.map(({ id }) => id);
}
