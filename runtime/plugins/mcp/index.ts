/** The MCP servers of the configuration, as one service of the node: each has its own connection, and none waits for another. */

import type { McpServers } from "../../app/mcp-servers.ts";
import type { ToolRegistry } from "../../app/tool-registry.ts";
import { RuntimeError } from "../../contracts/errors.ts";
import type { McpServerReport } from "../../contracts/health-report.ts";
import type { Clock, Logger, NewId } from "../../contracts/ports.ts";
import { serverEnvironment } from "./environment.ts";
import { McpServer } from "./server.ts";
import type { McpServerSettings } from "./settings.ts";
import { createToolPins } from "./tool-pins.ts";

export type { LoginSource, McpServerSettings } from "./settings.ts";

export interface McpServersDeps {
  readonly servers: readonly McpServerSettings[];
  readonly registry: Pick<ToolRegistry, "replaceSource">;
  /** Absolute path of the file with what each tool said of itself. */
  readonly pinsFile: string;
  /** The service's environment. */
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
}

export interface RunningMcpServers extends McpServers {
  /** Waits for no server. */
  start(): void;
  /** Resolves when no connection and no program is left. */
  stop(): Promise<void>;
}

export function createMcpServers(deps: McpServersDeps): RunningMcpServers {
  const { registry, version, clock, newId, logger } = deps;
  const pins = createToolPins(deps.pinsFile, logger);
  const stopping = new AbortController();
  const servers = new Map(
    deps.servers.map((settings) => {
      const env = settings.target.kind === "stdio" ? serverEnvironment(deps.hostEnv, settings.target.env) : {};
      return [settings.id, new McpServer({ settings, registry, pins, env, version, clock, newId, logger })];
    }),
  );
  function serverOf(id: string): McpServer {
    const server = servers.get(id);
    if (!server) throw new RuntimeError("RUNTIME_NOT_FOUND", `There is no MCP server "${id.slice(0, 100)}" here.`);
    return server;
  }
  let running: Promise<unknown> = Promise.resolve();
  return {
    start() {
      running = Promise.all([...servers.values()].map((server) => server.run(stopping.signal)));
    },
    async stop() {
      stopping.abort();
      await running;
    },
    report: () =>
      Object.fromEntries([...servers].map(([id, server]): [string, McpServerReport] => [id, server.report()])),
    changes: (id) => serverOf(id).changes(),
    approve: async (id, digest) => serverOf(id).approve(digest),
  };
}
