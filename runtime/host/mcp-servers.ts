/** The MCP servers of the configuration. A node without any loads nothing for them. */

import type { McpServers } from "../app/mcp-servers.ts";
import type { ToolRegistry } from "../app/tool-registry.ts";
import type { LoadedConfig } from "../config/index.ts";
import { serverLoginId, takesLogin } from "../config/logins.ts";
import { RuntimeError } from "../contracts/errors.ts";
import type { Clock, Logger, NewId } from "../contracts/ports.ts";
import type { LoginSource, McpServerSettings } from "../plugins/mcp/index.ts";
import type { HomePaths } from "./home.ts";
import { LoginTokens } from "./login-tokens.ts";
import type { Service } from "./services.ts";

export interface McpServerParts {
  readonly servers: McpServers;
  readonly service: Service;
}

export interface McpServersHostDeps {
  readonly loaded: LoadedConfig;
  readonly tools: Pick<ToolRegistry, "replaceSource">;
  readonly paths: Pick<HomePaths, "home" | "mcpTools">;
  /** Takes every token, so that no log shows it. */
  readonly hide: (secrets: readonly string[]) => void;
  readonly version: string;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
}

export async function composeMcpServers(deps: McpServersHostDeps): Promise<McpServerParts> {
  const { loaded, tools: registry, paths, hide, ...rest } = deps;
  const settings = mcpServerSettings(deps);
  if (settings.length === 0) return { servers: NONE, service: { name: "MCP servers" } };
  const { createMcpServers } = await import("../plugins/mcp/index.ts");
  const servers = createMcpServers({
    ...rest,
    servers: settings,
    registry,
    pinsFile: paths.mcpTools,
    hostEnv: loaded.env,
  });
  return { servers, service: { name: "MCP servers", start: servers.start, stop: servers.stop } };
}

const NONE: McpServers = {
  report: () => ({}),
  changes: () => {
    throw noServers();
  },
  approve: async () => {
    throw noServers();
  },
};

function noServers(): RuntimeError {
  return new RuntimeError("RUNTIME_NOT_FOUND", "This node has no MCP servers.");
}

function mcpServerSettings(deps: McpServersHostDeps): McpServerSettings[] {
  const { config, dir } = deps.loaded;
  return Object.entries(config.mcp.servers).flatMap(([id, server]): McpServerSettings[] => {
    const { enabled, command, args, env, cwd = dir, url, headers, timeout, include, exclude } = server;
    if (!enabled) return [];
    const common = { id, timeoutMs: timeout, include, exclude };
    if (command !== undefined) return [{ ...common, target: { kind: "stdio", command, args, env, cwd } }];
    const login = takesLogin(server) ? loginSource(serverLoginId(id), deps) : undefined;
    return url === undefined ? [] : [{ ...common, target: { kind: "http", url, headers, login } }];
  });
}

function loginSource(provider: string, { paths, hide, clock, logger }: McpServersHostDeps): LoginSource {
  const tokens = new LoginTokens({ provider, home: paths.home, endpoints: null, clock, hide, logger });
  return {
    command: `cairn login ${provider}`,
    token: async (signal) => ((await tokens.present()) ? tokens.token(signal) : null),
    renew: (refused, signal) => tokens.renew(refused, signal),
  };
}
