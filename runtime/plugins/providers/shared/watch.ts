import { StreamFault } from "./stream-fault.ts";

/**
 * Watches one model call from below: ends it after too long a silence, remembers what came over the wire, and keeps the
 * SDK's own retries from waiting longer than a user would. Counts bytes, not events: a server that only sends keep-alive
 * comments while its model thinks counts as alive.
 */

export interface WatchOptions {
  /** Longest silence in milliseconds, before the first byte and between bytes. */
  readonly timeoutMs: number;
  /** The caller's own abort. */
  readonly signal?: AbortSignal | undefined;
  /** Makes the requests. */
  readonly fetch: typeof globalThis.fetch;
}

/** What is known about the response so far. */
export interface Arrival {
  /** A response with a good status has begun. */
  readonly responded: boolean;
  /** The body was read to its end. */
  readonly ended: boolean;
  readonly bytes: number;
  readonly contentType: string;
  /** The first characters of the body, also of one that reports an error. */
  readonly head: string;
}

export interface Watch {
  /** Aborts with the caller's signal, or when the silence lasts too long. */
  readonly signal: AbortSignal;
  /** The fetch to make the call with. */
  readonly fetch: typeof globalThis.fetch;
  /** True once the silence has lasted too long. */
  stalled(): boolean;
  arrival(): Arrival;
  /** Ends the timer and what is left of the request, and removes its listener from the caller's signal. */
  dispose(): void;
}

/** A server that wants a longer pause than this is not retried: the caller gets the error and may use a fallback. */
const LONGEST_RETRY_PAUSE_S = 10;
const HEAD_BYTES = 2048;
const MIB = 1024 * 1024;
const NEWLINE = 10;
/** Of one line, which may be a whole call of a tool: the SDKs keep a line in memory until its end. */
const MOST_LINE = 8 * 1024 * 1024;
/** Of one answer. A service wraps a few characters in some hundred bytes: that makes 100 MB of its longest answers. */
const MOST_BYTES = 512 * 1024 * 1024;
/** What is read of the body of an error: the SDKs read it whole. */
const ERROR_BYTES = 64 * 1024;

export function createWatch(options: WatchOptions): Watch {
  const controller = new AbortController();
  const forward = (): void => controller.abort(options.signal?.reason);
  if (options.signal?.aborted) forward();
  else options.signal?.addEventListener("abort", forward, { once: true });

  let timer: NodeJS.Timeout | undefined;
  let stalled = false;
  let arrival = nothingYet();

  const rest = (): void => clearTimeout(timer);
  const listen = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      stalled = true;
      controller.abort(new DOMException(`Nothing arrived for ${options.timeoutMs} ms.`, "TimeoutError"));
    }, options.timeoutMs);
  };

  const note = (chunk: Uint8Array): void => {
    arrival.bytes += chunk.byteLength;
    if (arrival.bytes > MOST_BYTES) throw tooMuch(`${MOST_BYTES / MIB} MiB`);
    const end = chunk.lastIndexOf(NEWLINE);
    arrival.line = end === -1 ? arrival.line + chunk.byteLength : chunk.byteLength - end - 1;
    if (arrival.line > MOST_LINE) throw tooMuch(`${MOST_LINE / MIB} MiB in one line`);
    if (arrival.head.length < HEAD_BYTES) {
      arrival.head = Buffer.concat([arrival.head, chunk.subarray(0, HEAD_BYTES - arrival.head.length)]);
    }
  };

  /** The timer runs only while bytes are awaited: a slow reader is not a stalled server. */
  const watchBody = (body: ReadableStream<Uint8Array>, most: number): ReadableStream<Uint8Array> => {
    const reader = body.getReader();
    return new ReadableStream<Uint8Array>(
      {
        async pull(sink) {
          listen();
          try {
            const { done, value } = await reader.read();
            if (done) {
              arrival.ended = true;
              sink.close();
            } else {
              const taken = value.subarray(0, most - arrival.bytes);
              note(taken);
              sink.enqueue(taken);
              if (arrival.bytes === most) {
                sink.close();
                reader.cancel().catch(() => undefined);
              }
            }
          } catch (error) {
            sink.error(error);
            reader.cancel(error).catch(() => undefined);
          } finally {
            rest();
          }
        },
        async cancel(reason) {
          rest();
          await reader.cancel(reason);
        },
      },
      { highWaterMark: 0 },
    );
  };

  const watchedFetch: typeof globalThis.fetch = async (input, init) => {
    arrival = nothingYet();
    listen();
    let response: Response;
    try {
      // A redirect would carry the key to another host: it is reported, never followed.
      response = await options.fetch(input, { ...init, redirect: "manual" });
    } finally {
      rest();
    }
    const headers = new Headers(response.headers);
    if (!response.ok) {
      const pause = retryAfterS(headers);
      if (pause !== undefined && pause > LONGEST_RETRY_PAUSE_S) headers.set("x-should-retry", "false");
    } else {
      arrival.responded = true;
      arrival.contentType = headers.get("content-type") ?? "";
    }
    const body =
      response.body === null ? null : watchBody(response.body, response.ok ? Number.POSITIVE_INFINITY : ERROR_BYTES);
    return new Response(body, { status: response.status, statusText: response.statusText, headers });
  };

  return {
    signal: controller.signal,
    fetch: watchedFetch,
    stalled: () => stalled,
    arrival: () => ({ ...arrival, head: arrival.head.toString("utf8") }),
    dispose() {
      rest();
      options.signal?.removeEventListener("abort", forward);
      // Not every SDK ends its request when its reader stops.
      controller.abort(new DOMException("The call is over.", "AbortError"));
    },
  };
}

function nothingYet() {
  return { responded: false, ended: false, bytes: 0, line: 0, contentType: "", head: Buffer.alloc(0) };
}

function tooMuch(bound: string): StreamFault {
  return new StreamFault({ kind: "endless", bound: `more than ${bound}` });
}

/**
 * Seconds that a response asks its client to wait, or undefined. A date is read against the response's own Date header,
 * so that a wrong clock on either side does no harm.
 */
export function retryAfterS(headers: Headers): number | undefined {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (Number.isFinite(ms) && ms >= 0) return ms / 1000;
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  const seconds = Number(text);
  if (text.trim() !== "" && Number.isFinite(seconds)) return seconds >= 0 ? seconds : undefined;
  const wait = (Date.parse(text) - Date.parse(headers.get("date") ?? "")) / 1000;
  return Number.isFinite(wait) && wait >= 0 ? wait : undefined;
}
