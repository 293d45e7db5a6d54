/** Bytes of any length, in and out, without holding them: archives and exports. */

import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { RuntimeError } from "../contracts/errors.ts";

/**
 * Answers with the bytes. A failure before the first of them is an error like any other; a later one cuts the
 * connection, which the client sees as an incomplete answer. So does a client that takes nothing for `stallMs`: until the
 * end a snapshot of the store is held for it.
 */
export function sendBytes(reply: FastifyReply, bytes: AsyncIterable<Uint8Array>, stallMs: number): FastifyReply {
  const { raw } = reply;
  let before = -1;
  const timer = setInterval(() => {
    const sent = raw.socket?.bytesWritten ?? 0;
    if (raw.writableNeedDrain && sent === before) raw.destroy();
    before = sent;
  }, stallMs);
  raw.once("close", () => clearInterval(timer));
  return reply.send(Readable.from(bytes, { objectMode: false }));
}

/** The body of a route with `streamedBody`, as it arrives; errors as `chunksOf`'s. */
export function uploadOf(request: FastifyRequest, stallMs: number): AsyncGenerator<Uint8Array> {
  if (request.body instanceof Readable) return chunksOf(request.body, stallMs);
  throw new RuntimeError("RUNTIME_INVALID_REQUEST", "The body is missing.");
}

/**
 * The bytes of a body; RUNTIME_INVALID_REQUEST when it is cut off, brings nothing for `stallMs`, or takes longer than
 * `totalMs`. Where the reader stops early the rest is discarded: the sender has to get to the point where it reads the
 * answer (see connections.ts for how long that may take).
 */
export async function* chunksOf(
  body: Readable,
  stallMs: number,
  totalMs = Number.POSITIVE_INFINITY,
): AsyncGenerator<Uint8Array> {
  const chunks = body.iterator({ destroyOnReturn: false });
  const end = performance.now() + totalMs;
  let stalled = false;
  try {
    for (;;) {
      const step = await nextWithin(chunks, Math.max(0, Math.min(stallMs, end - performance.now())));
      if (step === null) {
        stalled = true;
        throw new RuntimeError("RUNTIME_INVALID_REQUEST", "The upload has stalled.");
      }
      if (step.done) return;
      yield step.value;
    }
  } catch (error) {
    if (error instanceof RuntimeError) throw error;
    throw new RuntimeError("RUNTIME_INVALID_REQUEST", "The upload was cut off.", { cause: error });
  } finally {
    // The iterator releases the body first; one that still waits for a chunk never would.
    if (!stalled) await chunks.return?.();
    body.resume();
  }
}

async function nextWithin<T>(iterator: AsyncIterator<T>, ms: number): Promise<IteratorResult<T> | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), ms);
  try {
    return await Promise.race([iterator.next(), late]);
  } finally {
    clearTimeout(timer);
  }
}
