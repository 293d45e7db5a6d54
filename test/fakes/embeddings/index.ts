import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { vectorOf } from "./vectors.ts";

/**
 * An encoder on loopback that speaks OpenAI's `/v1/embeddings` and Ollama's `/api/embed`, makes vectors from words,
 * records every request and misbehaves on demand.
 */

export type EmbeddingFault =
  | { readonly kind: "status"; readonly status: number; readonly message?: string; readonly retryAfterS?: number }
  /** Never answers. */
  | { readonly kind: "hang" }
  /** One vector less than there are texts. */
  | { readonly kind: "missing" }
  | { readonly kind: "nan" }
  /** A number in the middle vector that no double can hold. */
  | { readonly kind: "infinity" }
  /** The middle vector has one dimension less than the others. */
  | { readonly kind: "uneven" }
  | { readonly kind: "dimensions"; readonly dimensions: number }
  | { readonly kind: "garbage" }
  /** Answers once `release` is called, or does then what else it is told. */
  | { readonly kind: "hold"; readonly next?: EmbeddingFault };

export interface EmbeddingRequest {
  readonly path: string;
  readonly model: string;
  readonly texts: readonly string[];
  readonly body: unknown;
  readonly headers: IncomingMessage["headers"];
}

export interface FakeEncoderOptions {
  readonly dimensions?: number;
  /** Which request fails, and how; asked at each. */
  readonly fault?: (request: EmbeddingRequest) => EmbeddingFault | undefined;
  /** Dimensions of other models than the first one; a name that is missing answers 404. */
  readonly models?: Readonly<Record<string, number>>;
}

export interface FakeEncoder {
  readonly url: string;
  readonly requests: readonly EmbeddingRequest[];
  /** Every text that was answered with a vector, in order. */
  readonly encoded: readonly string[];
  /** Requests that are open now. */
  open(): number;
  setFault(fault: FakeEncoderOptions["fault"]): void;
  release(): void;
  close(): Promise<void>;
}

export async function startFakeEncoder(options: FakeEncoderOptions = {}): Promise<FakeEncoder> {
  const { dimensions = 64, models } = options;
  const requests: EmbeddingRequest[] = [];
  const encoded: string[] = [];
  let { fault } = options;
  let open = 0;
  let released = Promise.withResolvers<void>();

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body: unknown = JSON.parse(await readAll(incoming));
    const input: unknown = Reflect.get(Object(body), "input");
    const texts = (Array.isArray(input) ? input : [input]).map(String);
    const model = String(Reflect.get(Object(body), "model"));
    const path = incoming.url ?? "";
    const request: EmbeddingRequest = { path, model, texts, body, headers: incoming.headers };
    requests.push(request);
    const isOllama = path === "/api/embed";
    if (!isOllama && path !== "/v1/embeddings") return send(response, 404, { error: { message: `no route ${path}` } });
    let found = fault?.(request);
    if (found?.kind === "hold") {
      await released.promise;
      found = found.next;
    }
    if (found?.kind === "hang") return;
    if (found?.kind === "garbage") return void response.end("<!doctype html><title>Welcome</title>");
    if (found?.kind === "status") {
      const message = found.message ?? `The fake was told to fail with ${found.status}.`;
      if (found.retryAfterS !== undefined) response.setHeader("retry-after", String(found.retryAfterS));
      return send(response, found.status, { error: isOllama ? message : { message, type: "server_error" } });
    }
    const size = found?.kind === "dimensions" ? found.dimensions : models ? models[model] : dimensions;
    if (size === undefined)
      return send(response, 404, { error: isOllama ? "model not found" : { message: "no model" } });
    const vectors: (number | string)[][] = texts.map((text) => vectorOf(text, size));
    if (found?.kind === "missing") vectors.pop();
    if (found?.kind === "nan") vectors[0] = ["NaN"];
    const middle = vectors[Math.floor(vectors.length / 2)];
    if (found?.kind === "infinity") middle?.splice(0, 1, "Infinity");
    if (found?.kind === "uneven") middle?.pop();
    if (found === undefined) encoded.push(...texts);
    const json = JSON.stringify(
      isOllama
        ? { model, embeddings: vectors }
        : {
            object: "list",
            model,
            // Not in order: the indexes tell.
            data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })).reverse(),
            usage: { prompt_tokens: 1, total_tokens: 1 },
          },
    );
    // Servers written in Python do write NaN.
    response.setHeader("content-type", "application/json");
    response.end(json.replaceAll('"NaN"', "NaN").replaceAll('"Infinity"', "1e999"));
  }

  const server = createServer((incoming, response) => {
    open += 1;
    response.once("close", () => {
      open -= 1;
    });
    answer(incoming, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    encoded,
    open: () => open,
    setFault(next) {
      fault = next;
    },
    release() {
      released.resolve();
      released = Promise.withResolvers();
    },
    async close() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
