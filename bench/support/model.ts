/** A model server that costs nothing: it answers every request with the same bytes, before it has looked at it. */

import type { BenchContext } from "./bench.ts";
import { startLoopbackServer } from "./loopback-server.ts";

const HEAD = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_700_000_000, model: "fake" };
const CLOSE = [{ ...HEAD, choices: [], usage: { prompt_tokens: 100, completion_tokens: 2, total_tokens: 102 } }];

/** The stream of a reply. */
export function answerBytes(content: string): string {
  return streamOf({ role: "assistant", content }, "stop");
}

/** The stream of a reply that calls a tool. */
export function callBytes(name: string, args: Readonly<Record<string, unknown>>): string {
  const call = { index: 0, id: "call-1", type: "function", function: { name, arguments: JSON.stringify(args) } };
  return streamOf({ role: "assistant", content: null, tool_calls: [call] }, "tool_calls");
}

function streamOf(delta: object, reason: string): string {
  return [
    { ...HEAD, choices: [{ index: 0, delta, finish_reason: null }] },
    { ...HEAD, choices: [{ index: 0, delta: {}, finish_reason: reason }] },
    ...CLOSE,
  ]
    .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
    .concat("data: [DONE]\n\n")
    .join("");
}

/** Base address of a chat-completions server in this process; it says this to everything. */
export function startModel(context: BenchContext, text = "Noted."): Promise<string> {
  const bytes = answerBytes(text);
  return startLoopbackServer(context, (request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" }).end(bytes);
  });
}
