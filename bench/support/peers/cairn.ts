/** This system as the others are asked: in the same process, through its writer and its memory_search. */

import { createOpenaiCompatibleEmbedding } from "../../../runtime/plugins/embeddings/openai-compatible/index.ts";
import type { Peer } from "../../peers/peer.d.ts";
import { openMemory } from "../memory.ts";

export interface CairnPeer extends Peer {
  /** What goes on in the background, to its end: vectors, and how often words occur. */
  waitForWork(signal: AbortSignal): Promise<void>;
}

export interface CairnOptions {
  readonly connectionString: string;
  readonly embeddingsUrl: string;
  readonly model: string;
}

export async function openCairn({ connectionString, embeddingsUrl, model }: CairnOptions): Promise<CairnPeer> {
  const service = createOpenaiCompatibleEmbedding({ model, baseUrl: embeddingsUrl });
  const memory = await openMemory(connectionString, service);
  const rows = new Map<string, string>();
  return {
    async add({ id, group, session, role, text, at }) {
      const written = await memory.writer.write({
        sessionKey: session,
        agent: group,
        channel: "agent",
        openedBy: "turn",
        entries: [{ role, content: text, createdAt: at.toISOString(), key: id, cap: true }],
      });
      for (const row of written.rows) rows.set(row.id, id);
    },
    async search({ group, query, limit }) {
      const found = await memory.ask({ query, limit, agent: group, scope: "messages", expand: false });
      return found.map((id) => rows.get(id) ?? id);
    },
    waitForWork: (signal) => memory.waitForWork(signal),
    async close() {
      await memory.close();
      await service.close();
    },
  };
}
