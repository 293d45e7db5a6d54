/** An OpenAI-style embeddings route in this process that asks the real encoder for each text once: all systems get the same vectors. */

import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import type { BenchContext } from "../bench.ts";

export interface CachedEncoder {
  /** Base of the route, `.../v1`. */
  readonly url: string;
  readonly dimensions: number;
  /** Has these texts encoded, so that nobody waits for it later. */
  warm(texts: readonly string[]): Promise<void>;
}

const requestSchema = z.object({ input: z.union([z.string(), z.array(z.string())]) });
const answerSchema = z.object({ data: z.array(z.object({ index: z.number(), embedding: z.array(z.number()) })) });
const BATCH = 32;

export async function startCachedEncoder(
  context: BenchContext,
  encoder: string,
  model: string,
): Promise<CachedEncoder> {
  const known = new Map<string, readonly number[]>();

  async function warm(texts: readonly string[]): Promise<void> {
    const missing = [...new Set(texts)].filter((text) => !known.has(text));
    for (let from = 0; from < missing.length; from += BATCH) {
      const input = missing.slice(from, from + BATCH);
      const response = await fetch(`${encoder}/embeddings`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model, input }),
        signal: context.signal,
      });
      if (!response.ok) throw new Error(`The encoder answered ${response.status}: ${await response.text()}`);
      const { data } = answerSchema.parse(await response.json());
      for (const { index, embedding } of data) known.set(input[index] ?? "", embedding);
    }
  }

  const server = createServer((request, response) => {
    void (async () => {
      const { input } = requestSchema.parse(JSON.parse(await bodyOf(request)));
      const texts = typeof input === "string" ? [input] : input;
      await warm(texts);
      const data = texts.map((text, index) => ({ object: "embedding", index, embedding: known.get(text) }));
      const usage = { prompt_tokens: 1, total_tokens: 1 };
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ object: "list", model, data, usage }));
    })().catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.defer(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  await warm(["How long is a vector?"]);
  // A TCP server's address is an object.
  const { port } = server.address() as AddressInfo;
  const [first] = known.values();
  return { url: `http://127.0.0.1:${port}/v1`, dimensions: first?.length ?? 0, warm };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  request.setEncoding("utf8");
  for await (const chunk of request) text += String(chunk);
  return text;
}
