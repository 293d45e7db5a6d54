/** Streamable HTTP with connections of its own, which end with it, and bounded answers. Redirects stay within the origin. */

import { setTimeout as sleep } from "node:timers/promises";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { Agent, fetch as undiciFetch } from "undici";
import { boundedBody } from "./bounded-body.ts";
import { MAX_MESSAGE_BYTES } from "./limits.ts";
import { withLogin } from "./login-fetch.ts";
import type { HttpTarget } from "./settings.ts";

/** Of one server: a call that was given up may hold its connection until the server lets go of it. */
const CONNECTIONS = 32;
/** Milliseconds between two openings of the stream of news: a server can ask for a shorter pause, and end each at once. */
const STREAM_PAUSE_MS = 1_000;
const LEAVE_MS = 1_000;

export interface HttpConnection {
  readonly transport: StreamableHTTPClientTransport;
  /** Ends the session, which the server would keep for nobody; gives up a server that does not answer. */
  leave(): Promise<void>;
  /** Ends its connections. */
  dispose(): Promise<void>;
}

export function createHttpTransport({ url, headers, login }: HttpTarget, onTooLarge: () => void): HttpConnection {
  // Deadlines are the callers': a call may take longer than any limit between two bytes.
  const agent = new Agent({ connections: CONNECTIONS, headersTimeout: 0, bodyTimeout: 0 });
  let nextStream = 0;

  const plain = async (input: string | URL, init: RequestInit) => {
    if (init.method === "GET") {
      const pause = nextStream - performance.now();
      nextStream = Math.max(nextStream, performance.now()) + STREAM_PAUSE_MS;
      if (pause > 0) await sleep(pause, undefined, { ...(init.signal ? { signal: init.signal } : {}), ref: false });
    }
    // The same interface, declared a second time by the package: only the names of its types differ.
    const response = await undiciFetch(input, { ...init, dispatcher: agent } as never);
    return boundedBody(response as unknown as Response, MAX_MESSAGE_BYTES, onTooLarge);
  };
  const authorized = login === undefined ? plain : withLogin(plain, login);
  const send: FetchLike = (input, init = {}) => authorized(input, init);

  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    fetch: send,
    // Without end: `dispose` ends it.
    reconnectionOptions: {
      initialReconnectionDelay: 1_000,
      maxReconnectionDelay: 30_000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: Number.POSITIVE_INFINITY,
    },
  });
  const leave = async () => {
    const ended = transport.terminateSession().catch(() => undefined);
    await Promise.race([ended, sleep(LEAVE_MS, undefined, { ref: false })]);
  };
  return { transport, leave, dispose: () => agent.destroy() };
}
