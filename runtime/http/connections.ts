/** What ends with a connection, and what ends all of them when the server closes. */

import type { FastifyReply } from "fastify";
import { RuntimeError } from "../contracts/errors.ts";
import type { Server } from "./deps.ts";

/** Aborts when the client goes away before it has its answer. Ends waits and streams, never a turn. */
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
  server.addHook("onRequest", async (_request, reply) => {
    if (!closing.signal.aborted) return;
    reply.header("connection", "close");
    throw new RuntimeError("RUNTIME_DRAINING", "This node is shutting down.");
  });
  // A kept-alive connection would hold up the close after its last answer.
  server.addHook("onSend", async (_request, reply) => {
    if (closing.signal.aborted) reply.header("connection", "close");
  });
  return closing.signal;
}
