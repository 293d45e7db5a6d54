/** Bytes of any length, in and out, without holding them: archives and exports. */

import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { RuntimeError } from "../contracts/errors.ts";

/**
 * Answers with the bytes. Waits for the first of them, so that a failure before that is an error like any other; a later
 * one cuts the connection, which the client sees as an incomplete answer.
 */
export async function sendBytes(reply: FastifyReply, bytes: AsyncIterable<Uint8Array>): Promise<FastifyReply> {
  const iterator = bytes[Symbol.asyncIterator]();
  const first = await iterator.next();
  async function* all() {
    try {
      for (let step = first; !step.done; step = await iterator.next()) yield step.value;
    } finally {
      await iterator.return?.();
    }
  }
  return reply.send(Readable.from(all(), { objectMode: false }));
}

/** The body as it arrives; RUNTIME_INVALID_REQUEST when it is missing, is cut off, or brings nothing for `stallMs`. */
export async function* uploadOf(request: FastifyRequest, stallMs: number): AsyncGenerator<Uint8Array> {
  const body = request.body;
  if (!(body instanceof Readable)) {
    throw new RuntimeError("RUNTIME_INVALID_REQUEST", "The body is missing.");
  }
  const stalled = () => body.destroy(new RuntimeError("RUNTIME_INVALID_REQUEST", "The upload has stalled."));
  let timer = setTimeout(stalled, stallMs);
  try {
    for await (const chunk of body) {
      clearTimeout(timer);
      yield chunk;
      timer = setTimeout(stalled, stallMs);
    }
  } catch (error) {
    if (error instanceof RuntimeError) throw error;
    throw new RuntimeError("RUNTIME_INVALID_REQUEST", "The upload was cut off.", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
