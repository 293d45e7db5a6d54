/** One request of a web tool, and its answer: bounded in bytes after decompression; redirects are not followed. */

import { pipeline, type Readable, type Transform } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import type { Agent, Dispatcher } from "undici";
import { ToolError } from "../../../../contracts/errors.ts";

export interface WebRequest {
  readonly url: URL;
  readonly method?: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface WebAnswer {
  readonly status: number;
  /** Empty where there is none; of several the first. */
  header(name: string): string;
  /** The first bytes of the body, decompressed, and whether there are more. Ends the connection. */
  read(maxBytes: number): Promise<{ readonly bytes: Uint8Array; readonly isCut: boolean }>;
  /** Ends the connection: the next request to its host would wait for the rest of the body. */
  discard(): void;
}

/** What RFC 9659 allows on the web: a larger window would take that much memory. */
const ZSTD_WINDOW_LOG = 23;

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(),
  "x-gzip": () => createGunzip(),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } }),
};

export async function sendRequest(agent: Agent, request: WebRequest, signal: AbortSignal): Promise<WebAnswer> {
  const { url, method = "GET", headers, body } = request;
  const answer = await agent.request({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method,
    headers: { "user-agent": "cairn-agents", "accept-encoding": "gzip, deflate, br, zstd", ...headers },
    signal,
    ...(body === undefined ? {} : { body }),
  });
  // Answers that are not read end with the agent.
  answer.body.on("error", () => undefined);
  const header = (name: string) => headerOf(answer, name);
  return {
    status: answer.statusCode,
    header,
    discard: () => void answer.body.destroy(),
    read: (maxBytes) => readBody(decoded(answer.body, header("content-encoding")), maxBytes),
  };
}

function headerOf({ headers }: Dispatcher.ResponseData, name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? "";
}

function decoded(body: Readable, encoding: string): Readable {
  const coding = encoding.trim().toLowerCase();
  if (coding === "" || coding === "identity") return body;
  const decoder = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
  if (decoder === undefined) throw new ToolError("TOOL_FAILED", "The answer is compressed in a way that is not read.");
  // The reader of the decoder gets the error.
  return pipeline(body, decoder(), () => undefined);
}

async function readBody(stream: Readable, maxBytes: number) {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    length += chunk.byteLength;
    if (length > maxBytes) break;
  }
  const bytes = Buffer.concat(chunks);
  return { bytes: bytes.subarray(0, maxBytes), isCut: length > maxBytes };
}
