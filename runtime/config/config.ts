/** The configuration as the service uses it: the parsed file with paths made absolute and dependent defaults decided. */
import { join, resolve } from "node:path";
import { expandTilde } from "./directories.ts";
import type { ParsedConfig } from "./schema.ts";

type Parsed<Key extends keyof ParsedConfig> = ParsedConfig[Key];

/** Durations are milliseconds, sizes bytes, paths absolute. */
export type Config = Omit<ParsedConfig, "runtime" | "memory"> & {
  readonly runtime: Omit<Parsed<"runtime">, "default_agent" | "tls"> & {
    readonly default_agent: string;
    readonly tls: "auto" | "off" | { readonly cert: string; readonly key: string };
  };
  readonly memory: Omit<Parsed<"memory">, "embedded"> & {
    /** `postgres` when memory.postgres is there, else `embedded`. */
    readonly backend: "postgres" | "embedded";
    readonly embedded: { readonly path: string };
  };
};

export type AgentConfig = Config["agents"][string];
export type ProviderConfig = Config["providers"][string];
export type ChannelConfig = Config["channels"][string];

export interface ConfigDirectories {
  readonly dir: string;
  readonly home: string;
  /** Home of the user, for `~/`. */
  readonly userHome: string | undefined;
}

export function finishConfig(parsed: ParsedConfig, places: ConfigDirectories): Config {
  const absolute = (path: string): string => resolve(places.dir, expandTilde(path, places.userHome));
  const pem = (value: string): string => (isPem(value) ? value : absolute(value));
  const { runtime, memory, deployment } = parsed;
  const { tls = parsed.mesh.enabled ? "auto" : "off" } = runtime;
  return {
    ...parsed,
    runtime: {
      ...runtime,
      workspace: absolute(runtime.workspace),
      default_agent: runtime.default_agent ?? "main",
      tls: typeof tls === "string" ? tls : { ...tls, cert: pem(tls.cert), key: pem(tls.key) },
    },
    agents: mapValues(parsed.agents, (agent) =>
      agent.workspace === undefined ? agent : { ...agent, workspace: absolute(agent.workspace) },
    ),
    memory: {
      ...memory,
      ...(memory.session_roots === undefined ? {} : { session_roots: memory.session_roots.map(absolute) }),
      backend: memory.postgres === undefined ? "embedded" : "postgres",
      embedded: {
        ...memory.embedded,
        path: memory.embedded?.path === undefined ? join(places.home, "store") : absolute(memory.embedded.path),
      },
    },
    mcp: {
      ...parsed.mcp,
      servers: mapValues(parsed.mcp.servers, (server) =>
        server.cwd === undefined ? server : { ...server, cwd: absolute(server.cwd) },
      ),
    },
    plugin_dirs: parsed.plugin_dirs.map(absolute),
    skill_dirs: parsed.skill_dirs.map(absolute),
    deployment: {
      ...deployment,
      proxmox:
        deployment.proxmox?.identity_file === undefined
          ? deployment.proxmox
          : { ...deployment.proxmox, identity_file: absolute(deployment.proxmox.identity_file) },
      kubernetes:
        deployment.kubernetes.kubeconfig === undefined
          ? deployment.kubernetes
          : { ...deployment.kubernetes, kubeconfig: absolute(deployment.kubernetes.kubeconfig) },
    },
  };
}

/** Whether a value of `runtime.tls` is the text itself and no path. */
export function isPem(value: string): boolean {
  return value.trimStart().startsWith("-----BEGIN ");
}

/** Absolute path of an agent's workspace. */
export function agentWorkspace(config: Config, agent: string): string {
  return config.agents[agent]?.workspace ?? config.runtime.workspace;
}

function mapValues<Value>(record: Record<string, Value>, change: (value: Value) => Value): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
