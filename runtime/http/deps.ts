/** What the server is given, and the types that its route files share. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { Registry } from "prom-client";
import type { Application } from "../app/api.ts";
import type { AgentChannel } from "../contracts/agent-channel.ts";
import type { Clock, NewId } from "../contracts/ports.ts";
import type { SecurityLog } from "../contracts/security-log.ts";
import type { Voice } from "../contracts/voice.ts";

export interface ServerLimits {
  /** Bytes of a body with attachments, an archive line or a transcript. */
  readonly bodyBytes: number;
  /** Bytes of every other body. */
  readonly smallBodyBytes: number;
  /** Bytes of JSON bodies that are held at once, of all callers but the owner; a body above that is refused with 429. */
  readonly bytesInFlight: number;
  /** The same for each token, the owner's included. At least `bodyBytes`, or the largest body would never be taken. */
  readonly bytesInFlightPerToken: number;
  /** Values (objects, lists and their entries) of a JSON body; each costs memory, however few bytes it has. */
  readonly jsonValues: number;
  /** Different wrong tokens of one address within a minute that are answered with 401; then the address is locked out. */
  readonly wrongPerMinute: number;
  /** Milliseconds of a lockout: only tokens that the address has used before are accepted. */
  readonly lockoutMs: number;
  /** Open connections; above that the oldest one without a valid token is closed, or of the token that has most of them. */
  readonly connections: number;
  /** Requests of one token that are at work, waits and event streams included; the owner's are not counted. */
  readonly requestsPerToken: number;
  /** Milliseconds that a JSON request waits for its turn before it is answered 202. */
  readonly waitMs: number;
  /** Milliseconds between the comments that keep an idle event stream alive. */
  readonly heartbeatMs: number;
  /** Milliseconds after which a client that takes nothing, or a body that brings nothing, is cut off. */
  readonly stallMs: number;
  /** Milliseconds that a JSON body may take to arrive, however steadily. */
  readonly bodyMs: number;
  /** Milliseconds that an answered sender gets for the rest of its body before the connection is closed. */
  readonly lingerMs: number;
  /** Milliseconds that a health question may take. */
  readonly healthMs: number;
  /** Milliseconds that requests get to end when the server closes. */
  readonly closeMs: number;
}

export const DEFAULT_LIMITS: ServerLimits = {
  bodyBytes: 32 * 1024 * 1024,
  smallBodyBytes: 1024 * 1024,
  // Parsed JSON takes about ten times its bytes: half a gigabyte at worst, a third of one by one token, and one for the owner.
  bytesInFlight: 48 * 1024 * 1024,
  bytesInFlightPerToken: 32 * 1024 * 1024,
  jsonValues: 250_000,
  wrongPerMinute: 10,
  lockoutMs: 5 * 60_000,
  connections: 1_000,
  requestsPerToken: 256,
  waitMs: 20 * 60_000,
  heartbeatMs: 15_000,
  stallMs: 60_000,
  bodyMs: 2 * 60_000,
  lingerMs: 5_000,
  healthMs: 3_000,
  closeMs: 5_000,
};

export interface ServerDeps {
  readonly app: Application;
  readonly agentChannel: AgentChannel;
  /** Absent or null: no channel takes recordings. */
  readonly voice?: Voice | null;
  /** A pino logger. */
  readonly logger: FastifyBaseLogger;
  /** The process's metrics; the server adds its own. */
  readonly metrics: Registry;
  readonly security: SecurityLog;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Host names, besides loopback and IP addresses, under which browsers may reach this node: listen host, public name. */
  readonly hostNames?: readonly string[];
  /** PEM; with it the server accepts TLS only. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  readonly limits?: Partial<ServerLimits>;
}

/** The deps with every limit filled in, and what all routes share while the server runs. */
export interface RouteDeps extends Omit<ServerDeps, "limits"> {
  readonly limits: ServerLimits;
  /** Aborts when the server begins to close: streams end, waits are answered. */
  readonly closing: AbortSignal;
}

export type Server = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;
