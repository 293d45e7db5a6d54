/** This system as the others are asked: in the same process, through its writer and its memory_search. */

import { setTimeout as sleep } from "node:timers/promises";
import { v7 as newId } from "uuid";
import { z } from "zod";
import { createEmbedding } from "../../../runtime/app/embedding/embedding.ts";
import { createQueryEmbedding } from "../../../runtime/app/embedding/query.ts";
import { createMemoryTools } from "../../../runtime/app/memory-tools.ts";
import { migrate } from "../../../runtime/app/migrate.ts";
import { createMemory } from "../../../runtime/app/recall/memory.ts";
import { createTermCounter } from "../../../runtime/app/terms/terms.ts";
import { createWriter } from "../../../runtime/app/transcript/writer.ts";
import type { Clock } from "../../../runtime/contracts/ports.ts";
import { createTokenizer } from "../../../runtime/domain/tokens.ts";
import { createOpenaiCompatibleEmbedding } from "../../../runtime/plugins/embeddings/openai-compatible/index.ts";
import { openPostgres } from "../../../runtime/plugins/memory/postgres/index.ts";
import { MIGRATIONS, silent } from "../../../test/support/databases.ts";
import type { Peer } from "../../peers/peer.d.ts";

export interface CairnPeer extends Peer {
  /** What goes on in the background, to its end: vectors, and how often words occur. */
  settle(signal: AbortSignal): Promise<void>;
}

export interface CairnOptions {
  readonly connectionString: string;
  readonly embeddingsUrl: string;
  readonly model: string;
}

const clock: Clock = { now: () => new Date(), monotonic: () => performance.now() };
const foundSchema = z.object({ results: z.array(z.object({ id: z.string() })) });

export async function openCairn({ connectionString, embeddingsUrl, model }: CairnOptions): Promise<CairnPeer> {
  const database = await openPostgres({ connectionString, pool: 4, logger: silent });
  await migrate(database, { directory: MIGRATIONS, mode: "apply" });
  const writer = createWriter({ database, newId, clock });
  const service = createOpenaiCompatibleEmbedding({ model, baseUrl: embeddingsUrl });
  const queries = createQueryEmbedding({ service, logger: silent, deadlineMs: 60_000 });
  const countTokens = createTokenizer();
  const memory = createMemory({ database, writer, clock, logger: silent, countTokens, embed: queries.embed });
  const tools = createMemoryTools({ database, memory, clock, timezone: "UTC" });
  const rows = new Map<string, string>();
  const embedding = createEmbedding({
    database,
    service,
    batch: 32,
    clock,
    newId,
    logger: silent,
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
  });
  return {
    async add({ id, group, session, role, text, at }) {
      const written = await writer.write({
        sessionKey: session,
        agent: group,
        channel: "agent",
        entries: [{ role, content: text, createdAt: at.toISOString(), key: id, cap: true }],
      });
      for (const row of written.rows) rows.set(row.id, id);
    },
    async search({ group, query, limit }) {
      const args = { query, limit, agent: group, scope: "messages", expand: false };
      const answer = await tools.call("memory_search", args, { visibility: { all: true } });
      return foundSchema.parse(answer).results.map(({ id }) => rows.get(id) ?? id);
    },
    async settle(signal) {
      const report = await embedding.run(signal);
      if (report.away !== null) throw report.away;
      await createTermCounter(database).run();
    },
    async close() {
      await memory.settled();
      await service.close();
      await database.close();
    },
  };
}
