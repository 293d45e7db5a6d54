/** Bytes of any length, in and out, without holding them: archives and exports. */

import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { RuntimeError } from "../contracts/errors.ts";

/**
 * Answers with the bytes. A failure before the first of them is an error like any other; a later one cuts the
 * connection, which the client sees as an incomplete answer.
 */
export function sendBytes(reply: FastifyReply, bytes: AsyncIterable<Uint8Array>): FastifyReply {
  return reply.send(Readable.from(bytes, { objectMode: false }));
}

/**
 * The body as it arrives; RUNTIME_INVALID_REQUEST when it is missing, is cut off, or brings nothing for `stallMs`. Whoever
 * stops reading early leaves the rest to be discarded: the sender has to get to the point where it reads the answer.
 */
export async function* uploadOf(
  request: FastifyRequest,
  reply: FastifyReply,
  stallMs: number,
): AsyncGenerator<Uint8Array> {
  const body = request.body;
  if (!(body instanceof Readable)) throw new RuntimeError("RUNTIME_INVALID_REQUEST", "The body is missing.");
  const chunks = body.iterator({ destroyOnReturn: false });
  let stalled = false;
  try {
    for (;;) {
      const step = await nextWithin(chunks, stallMs);
      if (step === null) {
        // It sends nothing any more, so that closing loses it nothing.
        reply.header("connection", "close");
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
    // The iterator lets go of the body first; one that still waits for a chunk never would.
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
