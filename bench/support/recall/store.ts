/** A store that was filled the way that conversations come in: through the writer and the embedder, then asked by its tools. */

import { setTimeout as sleep } from "node:timers/promises";
import { v7 as newId } from "uuid";
import { z } from "zod";
import { createEmbedding } from "../../../runtime/app/embedding/embedding.ts";
import { createQueryEmbedding } from "../../../runtime/app/embedding/query.ts";
import { createMemoryTools } from "../../../runtime/app/memory-tools.ts";
import { migrate } from "../../../runtime/app/migrate.ts";
import { createMemory } from "../../../runtime/app/recall/memory.ts";
import type { SearchDeps } from "../../../runtime/app/recall/search.ts";
import { createTermCounter } from "../../../runtime/app/terms/terms.ts";
import { createWriter } from "../../../runtime/app/transcript/writer.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import type { EmbeddingService } from "../../../runtime/contracts/embedding.ts";
import type { Clock } from "../../../runtime/contracts/ports.ts";
import { SEARCH_WEIGHTS } from "../../../runtime/domain/scoring.ts";
import { createTokenizer } from "../../../runtime/domain/tokens.ts";
import { MIGRATIONS, silent } from "../../../test/support/databases.ts";
import type { Conversation, Turn } from "./locomo.ts";

export type Mode = "hybrid" | "fts" | "vector";

export interface RecallStore {
  readonly database: Database;
  /** The turns' ids by the rows' ids, with the conversation's before them: `conv-26 D1:3`. */
  readonly turns: ReadonlyMap<string, string>;
  /** What the search itself is made of, to look at what it ranks. */
  readonly search: SearchDeps;
  /** Through memory_search: the turns that it finds, best first. */
  ask(question: string, mode: Mode, limit: number): Promise<readonly string[]>;
}

/** How a conversation is written down. */
export type Form = (turn: Turn) => { readonly content: string; readonly metadata?: Readonly<Record<string, unknown>> };

/** The speaker's name before what is said, as transcripts have it. */
export const named: Form = (turn) => ({ content: `${turn.speaker}: ${said(turn)}` });
/** The speaker beside the text. */
export const tagged: Form = (turn) => ({ content: said(turn), metadata: { speaker: turn.speaker } });

function said({ text, caption }: Turn): string {
  return caption === null ? text : `${text} [shares ${caption}]`;
}

const found = z.object({ results: z.array(z.object({ id: z.string() })) });
const clock: Clock = { now: () => new Date(), monotonic: () => performance.now() };

/** The database is empty; the caller closes it. */
export async function fillRecallStore(
  database: Database,
  service: EmbeddingService,
  conversations: readonly Conversation[],
  form: Form,
  signal: AbortSignal,
): Promise<RecallStore> {
  await migrate(database, { directory: MIGRATIONS, mode: "apply" });
  const turns = new Map<string, string>();
  const writer = createWriter({ database, newId, clock });
  for (const { id, turns: said } of conversations) {
    const [first] = said;
    const { rows } = await writer.write({
      sessionKey: `main:agent:${id}`,
      agent: "main",
      channel: "agent",
      entries: said.map((turn) => ({
        role: turn.speaker === first?.speaker ? "user" : "assistant",
        ...form(turn),
        createdAt: turn.at,
        key: turn.id,
        cap: true,
      })),
    });
    for (const [n, row] of rows.entries()) turns.set(row.id, `${id} ${said[n]?.id}`);
  }
  await createTermCounter(database).run();
  const embedding = createEmbedding({
    database,
    service,
    batch: 32,
    clock,
    newId,
    logger: silent,
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
  });
  const report = await embedding.run(signal);
  if (report.away !== null) throw report.away;
  await database.script("analyze");
  const queries = createQueryEmbedding({ service, logger: silent, deadlineMs: 60_000 });
  const countTokens = createTokenizer();
  const memory = createMemory({ database, writer, clock, logger: silent, countTokens, embed: queries.embed });
  const tools = createMemoryTools({ database, memory, clock, timezone: "UTC" });
  let statements = 0;
  return {
    database,
    turns,
    search: {
      database,
      weights: SEARCH_WEIGHTS,
      embedQuery: async (model, text, signal) => (model === null ? null : queries.embed(text, signal, model)),
      now: () => new Date(),
      nextNumber: () => {
        statements += 1;
        return statements;
      },
    },
    async ask(question, mode, limit) {
      const answer = await tools.call(
        "memory_search",
        { query: question, mode, limit, scope: "messages", expand: false },
        { visibility: { all: true } },
      );
      await memory.settled();
      return found.parse(answer).results.map(({ id }) => turns.get(id) ?? id);
    },
  };
}
