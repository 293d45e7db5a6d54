/** How many requests a connection and a token may have at work. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { RuntimeError } from "../contracts/errors.ts";
import type { Server, ServerLimits } from "./deps.ts";

/** Requests that one connection has sent before the answer to its first (pipelining). Clients send one, proxies a few. */
const MOST_PIPELINED = 16;
/** Seconds after which a refused client may find room. */
const RETRY_AFTER_S = 5;

/** Closes a connection that sends request after request without waiting: each is at work at once, with a token or without. */
export function limitPipelining(server: Server): void {
  const unanswered = new WeakMap<Socket, number>();
  server.server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const count = (unanswered.get(socket) ?? 0) + 1;
    unanswered.set(socket, count);
    response.once("close", () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
    if (count > MOST_PIPELINED) socket.destroy();
  });
}

/** A wait or an event stream costs the store a question every half a second: 429 above the limit, which the owner never meets. */
export function limitRequests(server: Server, { requestsPerToken }: Pick<ServerLimits, "requestsPerToken">): void {
  const atWork = new Map<string, number>();
  server.addHook("onRequest", ({ principal }, reply, done) => {
    if (principal === null || principal.owner) return done();
    const count = (atWork.get(principal.id) ?? 0) + 1;
    if (count > requestsPerToken) return done(tooMany(requestsPerToken));
    // The connection may have closed while the token was checked.
    if (reply.raw.destroyed) return done();
    atWork.set(principal.id, count);
    reply.raw.once("close", () => {
      const remaining = (atWork.get(principal.id) ?? 1) - 1;
      if (remaining > 0) atWork.set(principal.id, remaining);
      else atWork.delete(principal.id);
    });
    done();
  });
}

function tooMany(requestsPerToken: number): RuntimeError {
  return new RuntimeError("RUNTIME_RATE_LIMITED", `${requestsPerToken} requests of this token are at work already.`, {
    retryAfterS: RETRY_AFTER_S,
    hint: "Wait for some of their answers, then send it again.",
  });
}
