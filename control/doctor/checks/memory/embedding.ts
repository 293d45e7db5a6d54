/** Messages that wait for their vector. */

import { type Check, pass, skip, warn } from "../check.ts";

const WARN_WAITING = 5_000;

export const memoryEmbedding: Check = {
  id: "memory.embedding",
  subject: "messages that wait for a vector",
  async run(context) {
    const { messages, embedding_queue_depth: waiting } = await context.stats();
    const { embedding } = (await context.config()).memory;
    if (embedding.provider === "off") {
      return skip("No embedding model is configured (memory.embedding): search works on text, spelling and time.");
    }
    const message = `${messages.embedded} of ${messages.total} messages have a vector, ${waiting} wait for one.`;
    if (waiting < WARN_WAITING) return pass(message);
    return warn(
      message,
      "Check whether the embedding model answers (`cairn logs --grep embed`); `cairn memory stats` shows its jobs.",
    );
  },
};
