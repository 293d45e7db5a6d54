/** What ends with a connection, what ends all of them when the server closes, and how many there may be. */

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply } from "fastify";
import { RuntimeError } from "../contracts/errors.ts";
import { isBodyPending } from "./bodies.ts";
import type { Server } from "./deps.ts";

/** At most one line in the log for this long, however many connections are refused. */
const REFUSED_LOG_MS = 60_000;

/** Aborts when the client disconnects before it has its answer. Ends waits and streams, never a turn. */
export function clientGone(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return gone.signal;
}

/** Returns the signal that aborts when the server begins to close; requests that come later are refused. */
export function installGracefulClose(server: Server, closeMs: number): AbortSignal {
  const closing = new AbortController();
  let force: NodeJS.Timeout | undefined;
  server.addHook("preClose", async () => {
    closing.abort();
    force = setTimeout(() => server.server.closeAllConnections(), closeMs);
  });
  server.addHook("onClose", async () => clearTimeout(force));
  server.addHook("onRequest", (_request, reply, done) => {
    if (!closing.signal.aborted) return done();
    reply.header("connection", "close");
    done(new RuntimeError("RUNTIME_DRAINING", "This node is shutting down."));
  });
  // A kept-alive connection would hold up the close after its last answer.
  server.addHook("onSend", (_request, reply, payload, done) => {
    if (closing.signal.aborted) reply.header("connection", "close");
    done(null, payload);
  });
  return closing.signal;
}

/**
 * Above the limit the oldest connection without a valid token makes room for the new one, so that idle connections
 * lock no client out. Where all others have shown one, it is the oldest of the token that has most of them, so that no token keeps
 * the owner out; the owner's own are never closed. Logged once a minute.
 */
export function limitConnections(server: Server, connections: number): void {
  const open = new Map<string, Socket>();
  /** Ids of the tokens that were shown; null for the owner's. */
  const trusted = new Map<string, string | null>();
  let loggedAt = Number.NEGATIVE_INFINITY;
  server.server.on("connection", (socket: Socket) => {
    const key = connectionOf(socket);
    open.set(key, socket);
    socket.once("close", () => {
      if (open.get(key) !== socket) return;
      open.delete(key);
      trusted.delete(key);
    });
    if (open.size <= connections) return;
    const others = [...open.keys()].filter((other) => other !== key);
    const oldest = others.find((other) => !trusted.has(other)) ?? oldestOfMost(others, trusted) ?? key;
    open.get(oldest)?.destroy();
    if (performance.now() - loggedAt < REFUSED_LOG_MS) return;
    loggedAt = performance.now();
    server.log.warn(
      { connections },
      "there are too many connections; the oldest ones without a valid token are closed, then those of the token with most of them",
    );
  });
  // After authentication, which runs in onRequest.
  server.addHook("preParsing", ({ principal, socket }, _reply, payload, done) => {
    if (principal !== null) trusted.set(connectionOf(socket), principal.owner ? null : principal.id);
    done(null, payload);
  });
}

/** The first connection of the token that has most of them, the owner's apart. */
function oldestOfMost(keys: readonly string[], trusted: ReadonlyMap<string, string | null>): string | undefined {
  const counts = new Map<string, number>();
  for (const key of keys) {
    const id = trusted.get(key);
    if (typeof id === "string") counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const most = Math.max(...counts.values());
  return keys.find((key) => counts.get(trusted.get(key) ?? "") === most);
}

/** The same for a connection and for TLS over it. */
function connectionOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/**
 * An answer that is known before the body has arrived ends the connection, after at most `lingerMs`. Not at once: closing
 * it under a sender makes that see a reset instead of the answer (RFC 9112, 9.6).
 */
export function installLingeringClose(server: Server, lingerMs: number): void {
  server.addHook("onSend", (request, reply, payload, done) => {
    if (isBodyPending(request)) {
      reply.header("connection", "close");
      request.bodyShare?.release();
      destroyAfterBody(request.raw, lingerMs);
    }
    done(null, payload);
  });
}

/** Node calls `destroySoon` once an answer with `Connection: close` is written; here it discards the rest of the body first. */
function destroyAfterBody(request: IncomingMessage, lingerMs: number): void {
  const { socket } = request;
  const destroy = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    const late = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(late));
    request.once("end", destroy);
    request.resume();
  };
}
