import type { Queryable } from "../../contracts/database.ts";

/** Which summaries an agent's wiki still lacks, and which it has. */

/**
 * The pages are files of the owner's workspace: other users' conversations have no place in them, and what other programs
 * stored under the agent's name has none either.
 */
const OF_THE_OWNER = "c.opened_by = 'turn' and c.by_owner";

export interface WikiSource {
  readonly id: string;
  readonly content: string;
}

/** Ids of an agent's leaf summaries that are in no page yet, the oldest first. */
export async function openSources(database: Queryable, agent: string, limit: number): Promise<readonly string[]> {
  const { rows } = await database.query<{ id: string }>(
    `select s.id from summaries s join conversations c on c.id = s.conversation_id
      where c.agent = $1 and s.depth = 0 and s.kind = 'leaf' and ${OF_THE_OWNER}
        and not exists (select 1 from wiki_sources w where w.agent = $1 and w.summary_id = s.id)
      order by s.seq limit $2`,
    [agent, limit],
  );
  return rows.map(({ id }) => id);
}

/** Null when the summary is gone, is in the wiki already, or is not of the owner's turns. */
export async function readSource(database: Queryable, agent: string, id: string): Promise<WikiSource | null> {
  const { rows } = await database.query<WikiSource>(
    `select s.id, s.content from summaries s join conversations c on c.id = s.conversation_id
      where s.id = $2 and ${OF_THE_OWNER} and not exists (select 1 from wiki_sources w where w.agent = $1 and w.summary_id = s.id)`,
    [agent, id],
  );
  return rows[0] ?? null;
}

/** Whether the summary was erased with messages that it covered. */
export async function isForgotten(database: Queryable, id: string): Promise<boolean> {
  return (await database.query("select from forgotten_summaries where summary_id = $1", [id])).rows.length > 0;
}

export async function markExtracted(database: Queryable, agent: string, id: string, pages: number): Promise<void> {
  await database.query(
    "insert into wiki_sources (agent, summary_id, pages) values ($1, $2, $3) on conflict do nothing",
    [agent, id, pages],
  );
}

/** Forgets which summaries gave pages: pages that were deleted are written anew. */
export async function forgetSources(database: Queryable, agent: string): Promise<void> {
  await database.query("delete from wiki_sources where agent = $1 and pages > 0", [agent]);
}
