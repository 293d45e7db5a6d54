import { NO_USAGE } from "../../../contracts/message.ts";
import type { ChatChunk } from "../../../contracts/provider.ts";

/** A finished text as a reply that arrives in a few pieces: line by line, so that pieces read well on their own. */
export function* toChunks(text: string, model: string): Generator<ChatChunk, void, undefined> {
  for (const piece of text.split(/(?<=\n)/)) yield { type: "text", text: piece };
  yield { type: "end", stopReason: "end", usage: NO_USAGE, model };
}
