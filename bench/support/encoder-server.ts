/** An OpenAI-style embeddings route in this process: what a service in it makes, others ask for over HTTP. */

import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import type { EmbeddingService } from "../../runtime/contracts/embedding.ts";
import type { BenchContext } from "./bench.ts";

const requestSchema = z.object({ input: z.union([z.string(), z.array(z.string())]) });

/** Base of the route, `.../v1`. Ends with the bench; the service is the caller's. */
export async function startEncoderServer(
  context: BenchContext,
  service: Pick<EmbeddingService, "model" | "embed">,
): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      const { input } = requestSchema.parse(JSON.parse(await bodyOf(request)));
      const vectors = await service.embed(typeof input === "string" ? [input] : input);
      const data = vectors.map((embedding, index) => ({ object: "embedding", index, embedding }));
      const usage = { prompt_tokens: 1, total_tokens: 1 };
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ object: "list", model: service.model, data, usage }));
    })().catch((error: unknown) => response.writeHead(500).end(String(error)));
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

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  request.setEncoding("utf8");
  for await (const chunk of request) text += String(chunk);
  return text;
}
