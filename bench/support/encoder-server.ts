/** An OpenAI-style embeddings route in this process: what a service in it makes, others ask for over HTTP. */

import type { IncomingMessage } from "node:http";
import { z } from "zod";
import type { EmbeddingService } from "../../runtime/contracts/embedding.ts";
import type { BenchContext } from "./bench.ts";
import { startLoopbackServer } from "./loopback-server.ts";

const requestSchema = z.object({ input: z.union([z.string(), z.array(z.string())]) });

/** Base of the route, `.../v1`. Ends with the bench; the service is the caller's. */
export function startEncoderServer(
  context: BenchContext,
  service: Pick<EmbeddingService, "model" | "embed">,
): Promise<string> {
  return startLoopbackServer(context, (request, response) => {
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
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  request.setEncoding("utf8");
  for await (const chunk of request) text += String(chunk);
  return text;
}
