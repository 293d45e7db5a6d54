import type { ToolCall } from "../../../contracts/message.ts";
import type { ChatChunk, ChatReply } from "../../../contracts/provider.ts";
import { StreamFault } from "./stream-fault.ts";

/** A streamed reply as one object. Rejects with whatever the stream throws. */
export async function collect(chunks: AsyncIterable<ChatChunk>): Promise<ChatReply> {
  let text = "";
  let reasoning = "";
  const toolCalls: ToolCall[] = [];
  for await (const chunk of chunks) {
    switch (chunk.type) {
      case "text":
        text += chunk.text;
        break;
      case "reasoning":
        reasoning += chunk.text;
        break;
      case "tool_call":
        toolCalls.push(chunk.call);
        break;
      case "usage":
        break;
      case "end": {
        const { stopReason, usage, model, state } = chunk;
        return { text, reasoning, toolCalls, stopReason, usage, model, ...(state === undefined ? {} : { state }) };
      }
    }
  }
  throw new StreamFault({ kind: "truncated" });
}
