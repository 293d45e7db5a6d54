import type { Database } from "../../contracts/database.ts";
import type { WikiPages } from "../wiki/pages.ts";

/** By agent: those whose workspace this node has. */
export type Wikis = ReadonlyMap<string, Pick<WikiPages, "withdraw">>;

/** Takes the statements of erased summaries out of the pages; an agent's other nodes do so for theirs. */
export async function withdrawFromWikis(database: Database, wikis: Wikis, now: Date): Promise<void> {
  for (const [agent, pages] of wikis) {
    const { rows } = await database.query<{ readonly id: string }>(
      "select summary_id as id from forgotten_summaries where agent = $1 and wiki_at is null",
      [agent],
    );
    const ids = rows.map(({ id }) => id);
    if (ids.length === 0) continue;
    await pages.withdraw(new Set(ids), now, new AbortController().signal);
    await database.query("update forgotten_summaries set wiki_at = now() where summary_id = any($1::uuid[])", [ids]);
  }
}
