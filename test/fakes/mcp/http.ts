/** The fake over streamable HTTP on loopback, with sessions; it can be ended and started again at the same address. */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { createMcpFake, fakeState, type McpFakeOptions, type McpFakeState } from "./server.ts";

export interface McpHttpFake {
  readonly url: string;
  readonly state: McpFakeState;
  /** Headers of each request, in order. */
  readonly requests: IncomingMessage["headers"][];
  /** Answers a request in place of the server, and returns true, or leaves it. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** How many sessions there are. */
  sessions(): number;
  /** Forgets all sessions, as a server that was started anew. */
  forget(): void;
  close(): Promise<void>;
}

export async function startMcpHttpFake(options: McpFakeOptions = {}): Promise<McpHttpFake> {
  const state = fakeState(options);
  const requests: IncomingMessage["headers"][] = [];
  const sessions = new Map<string, StreamableHTTPServerTransport>();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requests.push(request.headers);
    if (fake.intercept(request, response)) return;
    const id = request.headers["mcp-session-id"];
    const existing = typeof id === "string" ? sessions.get(id) : undefined;
    if (existing) return existing.handleRequest(request, response);
    const body: unknown = request.method === "POST" ? JSON.parse(await text(request)) : null;
    if (id !== undefined) {
      response.writeHead(404).end();
      return;
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void sessions.set(session, transport),
      onsessionclosed: (session) => void sessions.delete(session),
    });
    // The SDK's class has optional properties where its interface has none that are undefined.
    await createMcpFake(options, state).connect(transport as Transport);
    await transport.handleRequest(request, response, body);
  }

  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const fake: McpHttpFake = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    state,
    requests,
    intercept: () => false,
    sessions: () => sessions.size,
    forget: () => sessions.clear(),
    async close() {
      server.closeAllConnections();
      server.close();
      await Promise.all([...sessions.values()].map((session) => session.close()));
    },
  };
  return fake;
}
