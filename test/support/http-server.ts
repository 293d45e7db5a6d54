/** The HTTP server over a fake application, for suites that go through its routes. */

import { pino } from "pino";
import { Registry } from "prom-client";
import { onTestFinished } from "vitest";
import { createServer, listenOn, type Server, type ServerDeps } from "../../runtime/http/index.ts";
import { createAgentChannel } from "../../runtime/plugins/channels/agent/index.ts";
import { createFakeApplication, type FakeApplication, OWNER_TOKEN } from "./fake-application.ts";

export const OWNER = { authorization: `Bearer ${OWNER_TOKEN}` };

export interface TestServer {
  readonly app: FakeApplication;
  readonly server: Server;
  /** What the server has logged, line by line. */
  readonly log: string[];
}

export function startServer(overrides: Partial<ServerDeps> & { readonly ownerId?: string } = {}): TestServer {
  const { ownerId, ...deps } = overrides;
  const app = createFakeApplication();
  let ids = 0;
  const newId = () => `id-${++ids}`;
  const agentChannel = createAgentChannel({ id: "agent", newId, ...(ownerId === undefined ? {} : { ownerId }) });
  agentChannel.onMessage((message) => app.turns.accept(message));
  agentChannel.onCommand((command) => app.commands.run(command));
  void agentChannel.start();
  const log: string[] = [];
  const server = createServer({
    app,
    agentChannel,
    logger: pino({ level: "trace" }, { write: (line: string) => void log.push(line) }),
    metrics: new Registry(),
    clock: { now: () => new Date("2026-01-01T00:00:00Z"), monotonic: () => performance.now() },
    newId,
    ...deps,
  });
  onTestFinished(() => server.close());
  return { app, server, log };
}

/** Listens on a free port of the loopback and tells its URL. */
export async function listening({ server }: TestServer): Promise<string> {
  const { url } = await listenOn(server, { host: "127.0.0.1", port: 0 }, OWNER_TOKEN);
  return url;
}
