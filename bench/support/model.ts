/** A model server that costs nothing: it answers every request with the same bytes, before it has looked at it. */

import type { BenchContext } from "./bench.ts";
import { startLoopbackServer } from "./loopback-server.ts";

const HEAD = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_700_000_000, model: "fake" };
const answer = (content: string) =>
  [
    { ...HEAD, choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }] },
    { ...HEAD, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { ...HEAD, choices: [], usage: { prompt_tokens: 100, completion_tokens: 2, total_tokens: 102 } },
  ]
    .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
    .concat("data: [DONE]\n\n")
    .join("");

/** Base address of a chat-completions server in this process; it says this to everything. */
export function startModel(context: BenchContext, text = "Noted."): Promise<string> {
  const bytes = answer(text);
  return startLoopbackServer(context, (request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" }).end(bytes);
  });
}
