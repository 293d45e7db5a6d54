/** A model server that costs nothing: it answers every request with the same bytes, before it has looked at it. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { BenchContext } from "./bench.ts";

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
export async function startModel(context: BenchContext, text = "Noted."): Promise<string> {
  const bytes = answer(text);
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" }).end(bytes);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.defer(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  // A TCP server's address is an object.
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}/v1`;
}
