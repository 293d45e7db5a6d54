/** The HTTP server over a fake application, for suites that go through its routes. */

import { once } from "node:events";
import { type Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { serializerCompiler } from "fastify-type-provider-zod";
import { pino } from "pino";
import { Registry } from "prom-client";
import { onTestFinished } from "vitest";
import type { SecurityEvent } from "../../runtime/contracts/security-log.ts";
import { createServer, listenOn, type Server, type ServerDeps } from "../../runtime/http/index.ts";
import { createAgentChannel } from "../../runtime/plugins/channels/agent/index.ts";
import { createFakeApplication, type FakeApplication, OWNER_TOKEN } from "./fake-application.ts";

export const OWNER = { authorization: `Bearer ${OWNER_TOKEN}` };

export interface TestServer {
  readonly app: FakeApplication;
  readonly server: Server;
  /** What the server has logged, line by line. */
  readonly log: string[];
  /** Security events as they were recorded. */
  readonly security: SecurityEvent[];
}

export interface Overrides extends Partial<Omit<ServerDeps, "app">> {
  readonly app?: FakeApplication;
  readonly ownerId?: string;
}

export function startServer(overrides: Overrides = {}): TestServer {
  const { ownerId, ...deps } = overrides;
  const app = overrides.app ?? createFakeApplication();
  let ids = 0;
  const newId = () => `id-${++ids}`;
  const agentChannel = createAgentChannel({ id: "agent", newId, ...(ownerId === undefined ? {} : { ownerId }) });
  agentChannel.onMessage((message) => app.turns.accept(message));
  agentChannel.onCommand((command) => app.commands.run(command));
  void agentChannel.start();
  const log: string[] = [];
  const security: SecurityEvent[] = [];
  const server = createServer({
    app,
    agentChannel,
    logger: pino({ level: "trace" }, { write: (line: string) => void log.push(line) }),
    metrics: new Registry(),
    security: { record: (event) => void security.push(event) },
    clock: { now: () => new Date("2026-01-01T00:00:00Z"), monotonic: () => performance.now() },
    newId,
    ...deps,
  });
  onTestFinished(() => server.close());
  // In tests every answer is held against the schema that describes it: what does not fit is a 500.
  server.setSerializerCompiler(serializerCompiler);
  return { app, server, log, security };
}

/**
 * Sends all of a body before it looks at the answer, as simple clients do; the connection is kept for the next one where
 * the server allows it. Rejects when the connection breaks.
 */
export async function sendWhole(agent: Agent, url: string, headers: Readonly<Record<string, string>>, body: Buffer) {
  const request = httpRequest(url, { method: "POST", agent, headers: { ...headers, "content-length": body.length } });
  const answered = once(request, "response");
  answered.catch(() => undefined);
  await pipeline(Readable.from([body]), request);
  const [response] = (await answered) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, body: JSON.parse(Buffer.concat(chunks).toString()) };
}

/** Listens on a free port of the loopback and tells its URL. */
export async function listening({ server }: TestServer): Promise<string> {
  const { url } = await listenOn(server, { host: "127.0.0.1", port: 0 }, OWNER_TOKEN);
  return url;
}
