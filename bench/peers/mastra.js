/** @mastra/memory on PostgreSQL: semantic recall over a resource's messages. */

/** The package that is compared. */
export const name = "@mastra/memory";

/** @typedef {import("./peer.d.ts").OpenPeer} OpenPeer */

/** @type {OpenPeer} */
export async function open({ connectionString, embeddingsUrl, model, dimensions }) {
  process.env.MASTRA_TELEMETRY_DISABLED = "1";
  const { Memory } = await import("@mastra/memory");
  const { PgVector, PostgresStore } = await import("@mastra/pg");
  const storage = new PostgresStore({ id: "store", connectionString });
  const vector = new PgVector({ id: "vectors", connectionString });
  const memory = new Memory({
    storage,
    vector,
    embedder: embedder(embeddingsUrl, model, dimensions),
    options: {
      lastMessages: 0,
      semanticRecall: { topK: 10, messageRange: 0, scope: "resource" },
      workingMemory: { enabled: false },
    },
  });
  const threads = new Set();
  return {
    async add({ id, group, session, role, text, at }) {
      if (!threads.has(session)) {
        await memory.saveThread({
          thread: { id: session, resourceId: group, title: session, createdAt: at, updatedAt: at },
        });
        threads.add(session);
      }
      const content = { format: 2, parts: [{ type: "text", text }] };
      await memory.saveMessages({
        messages: [{ id, threadId: session, resourceId: group, role, type: "text", content, createdAt: at }],
      });
    },
    async search({ group, session, query, limit }) {
      const { messages } = await memory.recall({
        threadId: session,
        resourceId: group,
        vectorSearchString: query,
        perPage: 0,
        threadConfig: { lastMessages: 0, semanticRecall: { topK: limit, messageRange: 0, scope: "resource" } },
      });
      return messages.map((message) => message.id);
    },
    async close() {
      await memory.settled();
      await vector.disconnect();
      await storage.close?.();
    },
  };
}

/** The AI SDK's interface of an embedding model. */
function embedder(url, modelId, dimensions) {
  return {
    specificationVersion: "v2",
    provider: "bench",
    modelId,
    maxEmbeddingsPerCall: 100,
    supportsParallelCalls: true,
    async doEmbed({ values, abortSignal }) {
      const response = await fetch(`${url}/embeddings`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: modelId, input: values, dimensions }),
        ...(abortSignal ? { signal: abortSignal } : {}),
      });
      if (!response.ok) throw new Error(`embeddings: ${response.status}`);
      const { data } = await response.json();
      return { embeddings: data.map(({ embedding }) => embedding), warnings: [] };
    },
  };
}
