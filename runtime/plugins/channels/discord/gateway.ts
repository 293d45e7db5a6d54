/**
 * One connection to Discord's gateway: hello, identify or resume, heartbeats, events. How it ended says whether its session can go on with
 * another connection; beginning that is the caller's.
 */

import {
  GatewayCloseCodes,
  type GatewayDispatchPayload,
  GatewayOpcodes,
  type GatewayReadyDispatchData,
} from "discord-api-types/v10";
import { WebSocket } from "ws";
import { ChannelError, type ErrorDetails } from "../../../contracts/errors.ts";
import { codeOf } from "../../../contracts/system-errors.ts";
import { isRecord } from "../../../contracts/values.ts";
import { INTENT_REFUSED, TOKEN_REFUSED } from "./errors.ts";

/** Survives its connection for some minutes. */
export interface Session {
  readonly id: string;
  /** Where it is resumed. */
  readonly url: string;
  /** Of the last event that was received; all later ones are sent again. */
  readonly sequence: number;
}

export interface ConnectionEnd {
  /** Undefined: the next connection begins a new one. */
  readonly session: Session | undefined;
  /** Whether it was one that works: its session was there, and a heartbeat was acknowledged. */
  readonly hasWorked: boolean;
  /** Undefined: the signal has ended it. */
  readonly error: ChannelError | undefined;
}

export interface ConnectionDeps {
  /** wss://... */
  readonly url: string;
  readonly token: string;
  readonly intents: number;
  /** To be resumed. */
  readonly session: Session | undefined;
  /** Ends the session. With RUNTIME_LEASE_LOST as its reason nothing more is said, not even goodbye. */
  readonly signal: AbortSignal;
  /** Ends the connection; the session can be resumed. */
  readonly failing: AbortSignal;
  /** `ready`: of a session that begins; undefined: the former one goes on, and what it has missed follows. */
  onConnected(ready: GatewayReadyDispatchData | undefined): void;
  onEvent(event: GatewayDispatchPayload): void;
}

/** Milliseconds for the handshake, for the greeting and for the session. */
const PATIENCE_MS = 20_000;
/** Seconds before a session begins where the former one was invalidated. */
const LEAST_IDENTIFY_S = 1;
const MOST_IDENTIFY_S = 5;
/** For the other side's goodbye. */
const GOODBYE_MS = 1_000;
const MOST_BYTES = 32 * 1024 ** 2;
/** Ends the session, so that the bot is shown as offline. */
const NORMAL = 1_000;
/** Any other code leaves it as it is. */
const RESUMABLE = 4_900;

const SESSION_OVER: ReadonlySet<number> = new Set([
  NORMAL,
  1_001,
  GatewayCloseCodes.NotAuthenticated,
  GatewayCloseCodes.AuthenticationFailed,
  GatewayCloseCodes.InvalidSeq,
  GatewayCloseCodes.SessionTimedOut,
  GatewayCloseCodes.InvalidIntents,
  GatewayCloseCodes.DisallowedIntents,
]);

/** Resolves when the connection has ended. */
export async function connection(deps: ConnectionDeps): Promise<ConnectionEnd> {
  const { url, token, intents, signal, failing, onConnected, onEvent } = deps;
  let session = deps.session;
  let isConnected = false;
  let isAcknowledged = true;
  let hasWorked = false;
  let beating: NodeJS.Timeout | undefined;
  const ended = Promise.withResolvers<ConnectionEnd>();
  const socket = new WebSocket(`${url.replace(/\/+$/, "")}/?v=10&encoding=json`, {
    handshakeTimeout: PATIENCE_MS,
    maxPayload: MOST_BYTES,
    perMessageDeflate: false,
  });

  const end = (error: ChannelError | undefined): void => ended.resolve({ session, hasWorked, error });
  const lost = (message: string, details: ErrorDetails = {}): void =>
    end(new ChannelError("CHANNEL_CONNECTION_LOST", message, details));
  let late = setTimeout(() => lost("Discord's gateway does not answer in time."), PATIENCE_MS);
  const say = (op: GatewayOpcodes, d: unknown): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ op, d }));
  };

  function beat(): void {
    isAcknowledged = false;
    say(GatewayOpcodes.Heartbeat, session?.sequence ?? null);
  }

  /** The first one after a part of the interval, so that not all bots do it at once. */
  function keepBeating(intervalMs: number): void {
    clearTimeout(beating);
    const next = () => {
      if (!isAcknowledged) return lost("Discord's gateway acknowledges no heartbeats.");
      beat();
      beating = setTimeout(next, intervalMs);
    };
    beating = setTimeout(next, intervalMs * Math.random());
  }

  function hello(data: unknown) {
    const interval = isRecord(data) ? data["heartbeat_interval"] : undefined;
    if (typeof interval !== "number" || !(interval > 0)) return lost("What answers is not Discord's gateway.");
    keepBeating(interval);
    if (session) say(GatewayOpcodes.Resume, { token, session_id: session.id, seq: session.sequence });
    else {
      const properties = { os: process.platform, browser: "cairn", device: "cairn" };
      say(GatewayOpcodes.Identify, { token, intents, properties, shard: [0, 1] });
    }
  }

  function connected(ready: GatewayReadyDispatchData | undefined): void {
    isConnected = true;
    clearTimeout(late);
    onConnected(ready);
  }

  function dispatch(payload: GatewayDispatchPayload): void {
    if (payload.t === "READY") session = { id: payload.d.session_id, url: payload.d.resume_gateway_url, sequence: 0 };
    if (session && Number.isSafeInteger(payload.s)) session = { ...session, sequence: payload.s };
    if (payload.t === "READY") connected(payload.d);
    else if (payload.t === "RESUMED") connected(undefined);
    else onEvent(payload);
  }

  function invalidated(isResumable: boolean) {
    if (isResumable) return lost("Discord's gateway wants the session to be resumed.");
    session = undefined;
    // A random pause before the next identify (Discord, Resuming), so that not all bots do it at once.
    const retryAfterS = LEAST_IDENTIFY_S + (MOST_IDENTIFY_S - LEAST_IDENTIFY_S) * Math.random();
    return lost("Discord's gateway has ended the session; another one begins.", { retryAfterS });
  }

  function receive(text: string) {
    const payload: unknown = JSON.parse(text);
    if (!isRecord(payload)) return;
    switch (payload["op"]) {
      case GatewayOpcodes.Hello:
        return hello(payload["d"]);
      case GatewayOpcodes.Dispatch:
        // Discord's documentation has the types; what is used of an event is checked where it is used.
        return dispatch(payload as unknown as GatewayDispatchPayload);
      case GatewayOpcodes.Heartbeat:
        return beat();
      case GatewayOpcodes.HeartbeatAck:
        isAcknowledged = true;
        hasWorked = isConnected;
        return;
      case GatewayOpcodes.Reconnect:
        return lost("Discord asks for another connection.");
      case GatewayOpcodes.InvalidSession:
        return invalidated(payload["d"] === true);
    }
  }

  socket.on("message", (data) => {
    try {
      receive(String(data));
    } catch {
      lost("Discord's gateway sends what cannot be read.");
    }
  });
  let failure: unknown;
  socket.on("error", (error) => {
    failure = error;
  });
  const closed = new Promise<void>((resolve) => {
    socket.on("close", (code) => {
      if (SESSION_OVER.has(code)) session = undefined;
      lost(closing(code, failure));
      resolve();
    });
  });
  const ending = AbortSignal.any([signal, failing]);
  const abort = (): void => end(undefined);
  if (ending.aborted) abort();
  else ending.addEventListener("abort", abort, { once: true });

  const result = await ended.promise;
  ending.removeEventListener("abort", abort);
  clearTimeout(late);
  clearTimeout(beating);
  socket.removeAllListeners("message");
  const isTakenOver = signal.aborted && codeOf(signal.reason) === "RUNTIME_LEASE_LOST";
  if (socket.readyState === WebSocket.OPEN && !isTakenOver) {
    socket.close(signal.aborted ? NORMAL : RESUMABLE);
    late = setTimeout(() => socket.terminate(), GOODBYE_MS);
    await closed;
    clearTimeout(late);
  } else socket.terminate();
  return result;
}

function closing(code: number, failure: unknown): string {
  if (code === GatewayCloseCodes.AuthenticationFailed) return TOKEN_REFUSED;
  if (code === GatewayCloseCodes.DisallowedIntents) return INTENT_REFUSED;
  if (code === GatewayCloseCodes.ShardingRequired) return "The bot is in more servers than one connection may have.";
  const why = codeOf(failure);
  if (why !== undefined) return `Discord's gateway cannot be reached (${why}).`;
  if (failure !== undefined) return "Discord's gateway cannot be reached, or what answers is not Discord.";
  return `Discord's gateway has closed the connection (${code}).`;
}
