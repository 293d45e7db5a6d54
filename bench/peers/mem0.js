/** mem0ai on pgvector: messages stored as they are (infer off), found by the vector of their text. */

/** The package that is compared. */
export const name = "mem0ai";

/** @typedef {import("./peer.d.ts").OpenPeer} OpenPeer */

/** @type {OpenPeer} */
export async function open({ connectionString, embeddingsUrl, model, dimensions }) {
  process.env.MEM0_TELEMETRY = "False";
  const { Memory } = await import("mem0ai/oss");
  const endpoint = { apiKey: "none", baseURL: embeddingsUrl };
  const memory = new Memory({
    embedder: { provider: "openai", config: { ...endpoint, model, embeddingDims: dimensions } },
    vectorStore: {
      provider: "pgvector",
      config: {
        connectionString,
        collectionName: "memories",
        embeddingModelDims: dimensions,
        dimension: dimensions,
        hnsw: true,
      },
    },
    // Never asked: infer is off.
    llm: { provider: "openai", config: { ...endpoint, model: "none" } },
    disableHistory: true,
  });
  return {
    async add({ id, group, text }) {
      await memory.add(text, { userId: group, metadata: { row: id }, infer: false });
    },
    async search({ group, query, limit }) {
      const { results } = await memory.search(query, { filters: { user_id: group }, topK: limit, threshold: 0 });
      return results.map(({ metadata }) => metadata.row);
    },
    async close() {
      // It has no door for this; left open, its connections fail loudly when the server stops.
      await memory.vectorStore?.client?.end();
      await memory._entityStore?.client?.end();
    },
  };
}
