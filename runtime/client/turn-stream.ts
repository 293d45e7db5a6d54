/** A turn's events over server-sent events. A connection that breaks is taken up again where it broke. */

import { setTimeout as delay } from "node:timers/promises";
import { CairnError, ChannelError, RuntimeError } from "../contracts/errors.ts";
import { isFinal, type StreamEvent } from "../contracts/stream.ts";
import { asConnectionError, type Connection, request } from "./http.ts";
import type { FollowOptions } from "./types.ts";

export interface StreamPosition {
  readonly agent: string;
  readonly turnId: string;
  /** Events up to this one have been seen. */
  readonly lastEventId?: string | undefined;
}

/** Attempts in a row without an event until the stream fails; about half a minute. */
const MAX_ATTEMPTS = 8;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 8_000;
/** The node sends a comment every 15 s: after three of them the connection is dead. */
const SILENCE_MS = 50_000;
const LINE_FEED = 10;

export const EVENT_STREAM = { accept: "text/event-stream" };

export function turnPath(agent: string, turnId: string): string {
  return `/api/agents/${encodeURIComponent(agent)}/turns/${encodeURIComponent(turnId)}`;
}

/**
 * The events from `response` on, or from `place` on without one, to the final one. Throws CHANNEL_CONNECTION_LOST,
 * naming the turn, when the node stays unreachable; other errors as the node answers them.
 */
export async function* followTurn(
  connection: Connection,
  place: StreamPosition,
  options: {
    readonly response?: Response;
    readonly signal?: AbortSignal | undefined;
    readonly onConnection?: FollowOptions["onConnection"] | undefined;
  },
): AsyncGenerator<StreamEvent> {
  const { signal, onConnection } = options;
  let { lastEventId } = place;
  let response = options.response;
  let failures = 0;
  let lost = false;
  for (;;) {
    try {
      response ??= await reopen(connection, { ...place, lastEventId }, signal);
      if (lost) onConnection?.("back");
      lost = false;
      for await (const { id, event } of eventsOf(response, signal)) {
        failures = 0;
        lastEventId = id ?? lastEventId;
        yield event;
        if (isFinal(event)) return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!isPassing(asConnectionError(error, connection))) throw error;
    }
    response = undefined;
    failures++;
    if (!lost) onConnection?.("lost");
    lost = true;
    if (failures > MAX_ATTEMPTS) {
      throw new ChannelError(
        "CHANNEL_CONNECTION_LOST",
        "The connection to the node was lost; the turn may go on there.",
        {
          turnId: place.turnId,
        },
      );
    }
    await delay(Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), MAX_PAUSE_MS), undefined, signal ? { signal } : {});
  }
}

function reopen(connection: Connection, place: StreamPosition, signal: AbortSignal | undefined): Promise<Response> {
  const headers = {
    ...EVENT_STREAM,
    ...(place.lastEventId === undefined ? {} : { "last-event-id": place.lastEventId }),
  };
  return request(connection, turnPath(place.agent, place.turnId), { headers, signal });
}

/**
 * Ends where the connection ends, also without a final event; throws when it breaks, or sends nothing for too long, and
 * RUNTIME_BODY_TOO_LARGE for a line of more than `maxLine` bytes.
 */
export async function* eventsOf<Event = StreamEvent>(
  response: Response,
  signal: AbortSignal | undefined,
  maxLine = Number.POSITIVE_INFINITY,
): AsyncGenerator<{ readonly id: string | undefined; readonly event: Event }> {
  if (!response.body) return;
  // Loaded only to follow turns: the rest of the client needs only Node's own modules.
  const { EventSourceParserStream } = await import("eventsource-parser/stream");
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  let line = 0;
  const heard = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
      const lineEnd = chunk.lastIndexOf(LINE_FEED);
      line = lineEnd < 0 ? line + chunk.length : chunk.length - lineEnd - 1;
      if (line > maxLine) throw tooLong(maxLine);
      controller.enqueue(chunk);
    },
  });
  const events = response.body
    .pipeThrough(heard, { signal: signal ? AbortSignal.any([signal, silence.signal]) : silence.signal })
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  try {
    for await (const { id, data } of events) {
      // The node's own events, unchanged.
      yield { id, event: JSON.parse(data) as Event };
    }
  } finally {
    clearTimeout(timer);
  }
}

function tooLong(maxLine: number): RuntimeError {
  return new RuntimeError("RUNTIME_BODY_TOO_LARGE", `The node sends an event of more than ${maxLine / 1024 ** 2} MiB.`);
}

/** The node is unavailable for a moment: restarted, draining, unreachable. */
function isPassing(error: unknown): boolean {
  return error instanceof CairnError && (error.retryable || error.code === "RUNTIME_NOT_RUNNING");
}
