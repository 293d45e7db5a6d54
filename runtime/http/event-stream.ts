/** Server-sent events over one response: framing, heartbeats, and no more in memory than the client takes. */

import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";

export interface EventFrame {
  readonly id?: number | string;
  readonly event?: string;
  /** Sent as JSON, which keeps every character of it on one line. */
  readonly data: unknown;
}

export interface EventStreamOptions {
  readonly heartbeatMs: number;
  /** Milliseconds without any progress of a full connection after which it is cut: the client can come back. */
  readonly stallMs: number;
  /** Ends the stream, in order: the server closes. */
  readonly closing: AbortSignal;
}

/** A comment: proxies see traffic, clients see nothing. */
const HEARTBEAT = ": keep-alive\n\n";

export function formatFrame({ id, event, data }: EventFrame): string {
  const head = `${id === undefined ? "" : `id: ${id}\n`}${event === undefined ? "" : `event: ${event}\n`}`;
  return `${head}data: ${JSON.stringify(data)}\n\n`;
}

/** A frame without id or event type whose data is this text, which must be one line. */
export function formatRaw(data: string): string {
  return `data: ${data}\n\n`;
}

/**
 * Sends the frames until they end, the client disconnects or the server closes; the signal given to `frames` aborts then.
 * A failure of the source cuts the connection, so that the client does not take this for the end.
 */
export async function sendEventStream(
  reply: FastifyReply,
  frames: (signal: AbortSignal) => AsyncIterable<string>,
  options: EventStreamOptions,
): Promise<void> {
  const raw = reply.raw;
  const gone = new AbortController();
  const onClose = () => gone.abort();
  raw.once("close", onClose);
  if (raw.destroyed) gone.abort();
  const signal = AbortSignal.any([gone.signal, options.closing]);
  reply.hijack();
  openStream(reply);
  const heartbeat = setInterval(() => {
    if (!raw.writableNeedDrain && !raw.writableEnded) raw.write(HEARTBEAT);
  }, options.heartbeatMs);
  const iterator = frames(signal)[Symbol.asyncIterator]();
  try {
    const stopped = whenAborted(signal);
    for (;;) {
      const step = await Promise.race([iterator.next(), stopped]);
      if (step === null || step.done) break;
      if (!raw.write(step.value)) await drained(raw, signal, options.stallMs);
    }
    raw.end();
  } catch (error) {
    if (signal.aborted) raw.end();
    else {
      reply.log.warn({ err: error }, "event stream cut off");
      raw.destroy();
    }
  } finally {
    clearInterval(heartbeat);
    raw.off("close", onClose);
    // Also when the client is gone: the source releases its resources. Its own failure was dealt with above.
    gone.abort();
    iterator.return?.().catch(() => undefined);
  }
}

function openStream(reply: FastifyReply): void {
  const headers = Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  reply.raw.writeHead(200, {
    ...Object.fromEntries(headers),
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store, no-transform",
    // Reverse proxies such as nginx would hold events back.
    "x-accel-buffering": "no",
  });
  reply.raw.flushHeaders();
}

/** Waits until the client has taken what was written; throws when it takes nothing for `stallMs`, or when aborted. */
async function drained(raw: ServerResponse, signal: AbortSignal, stallMs: number): Promise<void> {
  const stalled = AbortSignal.timeout(stallMs);
  await once(raw, "drain", { signal: AbortSignal.any([signal, stalled]) });
}

function whenAborted(signal: AbortSignal): Promise<null> {
  const { promise, resolve } = Promise.withResolvers<null>();
  if (signal.aborted) resolve(null);
  else signal.addEventListener("abort", () => resolve(null), { once: true });
  return promise;
}
