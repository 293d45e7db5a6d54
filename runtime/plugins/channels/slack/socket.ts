/**
 * One connection of Socket Mode: hello, envelopes and their acknowledgements, and the notice that Slack is about to end it. Opening the
 * next one is the caller's.
 */

import { WebSocket } from "ws";
import { ChannelError } from "../../../contracts/errors.ts";
import { codeOf } from "../../../contracts/system-errors.ts";
import { isRecord } from "../../../contracts/values.ts";
import { NO_SOCKET_MODE } from "./errors.ts";

export interface Connection {
  /** How many connections the app had when it was opened, this one included. */
  readonly count: number;
  /** Resolves when Slack asks for another one; rejects where it breaks. */
  readonly over: Promise<void>;
  /** Whether anything has come over it. */
  hasWorked(): boolean;
  /** Closes it when what it has brought is acknowledged, or after some seconds. */
  retire(): void;
  /** Ends it at once; `isLeaseLost`: without a word to the other side, which may be another receiver's by now. Resolves when it is closed. */
  close(isLeaseLost: boolean): Promise<void>;
  readonly closed: Promise<void>;
}

export interface Envelope {
  /** `events_api`, `interactive` or `slash_commands`. */
  readonly type: unknown;
  readonly payload: unknown;
  /** Without it Slack sends the envelope again, some times. */
  acknowledge(): void;
}

export interface ConnectionDeps {
  /** wss://... with a ticket for one connection. */
  readonly url: string;
  readonly signal: AbortSignal;
  onEnvelope(envelope: Envelope): void;
}

/** Milliseconds for the handshake and for the greeting. */
const PATIENCE_MS = 20_000;
/** Between two pings; the answer to one has come before the next. */
const PING_MS = 30_000;
/** For what a connection has brought before it is replaced. */
const RETIRE_MS = 10_000;
/** For the other side's goodbye. */
const GOODBYE_MS = 1_000;
const MOST_BYTES = 16 * 1024 ** 2;
const NORMAL = 1_000;
const TOO_MANY = "Slack refuses the connection: the app has ten already, of other programs with its token.";

/** Resolves when Slack has said hello. CHANNEL_CONNECTION_LOST. */
export async function openConnection({ url, signal, onEnvelope }: ConnectionDeps): Promise<Connection> {
  const greeted = Promise.withResolvers<number>();
  const over = Promise.withResolvers<void>();
  over.promise.catch(() => undefined);
  const closed = Promise.withResolvers<void>();
  const unacknowledged = new Set<string>();
  let isRetiring = false;
  let hasWorked = false;
  let isAlive = true;
  let failure: unknown;
  const socket = new WebSocket(url, {
    handshakeTimeout: PATIENCE_MS,
    maxPayload: MOST_BYTES,
    perMessageDeflate: false,
  });

  function fail(error: ChannelError): void {
    greeted.reject(error);
    over.reject(error);
  }
  const lost = (message: string): void => fail(new ChannelError("CHANNEL_CONNECTION_LOST", message));
  const late = setTimeout(() => lost("Slack's socket does not answer in time."), PATIENCE_MS);
  const pinging = setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (!isAlive) {
      lost("Slack's socket does not answer any more.");
      socket.terminate();
    }
    isAlive = false;
    socket.ping();
  }, PING_MS);
  let goodbye: NodeJS.Timeout | undefined;

  function say(message: object): void {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  }

  function bring(id: string, { type, payload }: Readonly<Record<string, unknown>>): void {
    hasWorked = true;
    unacknowledged.add(id);
    onEnvelope({
      type,
      payload,
      acknowledge() {
        say({ envelope_id: id });
        unacknowledged.delete(id);
        if (isRetiring && unacknowledged.size === 0) leave();
      },
    });
  }

  /** Slack warns, or has a connection refreshed, some seconds before it ends it. */
  function disconnect(reason: unknown): void {
    if (reason === "link_disabled") lost(NO_SOCKET_MODE);
    else if (reason === "too_many_websockets") lost(TOO_MANY);
    // The first of the two that settles a promise counts.
    else over.resolve();
    lost("Slack asks for another connection.");
  }

  function receive(text: string): void {
    const message: unknown = JSON.parse(text);
    if (!isRecord(message)) return;
    const { type, envelope_id: id, num_connections: count } = message;
    if (type === "hello") greeted.resolve(typeof count === "number" ? count : 1);
    else if (type === "disconnect") disconnect(message["reason"]);
    else if (typeof id === "string") bring(id, message);
  }

  function leave(): void {
    clearTimeout(goodbye);
    if (socket.readyState === WebSocket.OPEN) {
      socket.close(NORMAL);
      goodbye = setTimeout(() => socket.terminate(), GOODBYE_MS);
    } else socket.terminate();
  }

  socket.on("message", (data) => {
    try {
      receive(String(data));
    } catch {
      lost("Slack's socket sends what cannot be read.");
    }
  });
  socket.on("pong", () => {
    isAlive = true;
    hasWorked = true;
  });
  socket.on("error", (error) => {
    failure = error;
  });
  socket.on("close", (code) => {
    clearInterval(pinging);
    clearTimeout(late);
    clearTimeout(goodbye);
    lost(closing(code, failure));
    closed.resolve();
  });

  const connection = {
    over: over.promise,
    closed: closed.promise,
    hasWorked: () => hasWorked,
    retire() {
      isRetiring = true;
      if (unacknowledged.size === 0) leave();
      else goodbye = setTimeout(leave, RETIRE_MS);
    },
    async close(isLeaseLost: boolean) {
      socket.removeAllListeners("message");
      if (isLeaseLost) socket.terminate();
      else leave();
      await closed.promise;
    },
  };
  const abort = (): void => lost("The connection was ended.");
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    const count = await greeted.promise;
    return { ...connection, count };
  } catch (error) {
    await connection.close(true);
    throw error;
  } finally {
    clearTimeout(late);
    signal.removeEventListener("abort", abort);
  }
}

function closing(code: number, failure: unknown): string {
  const why = codeOf(failure);
  if (why !== undefined) return `Slack's socket cannot be reached (${why}).`;
  if (failure !== undefined) return "Slack's socket cannot be reached, or what answers is not Slack.";
  return `Slack's socket has closed the connection (${code}).`;
}
