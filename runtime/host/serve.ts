/** The HTTP server of a node: where it listens, under which names and with which certificate. */

import type { LoadedConfig } from "../config/index.ts";
import { createServer, listenOn, type ServerDeps } from "../http/index.ts";
import { advertisedHost, certificate, listenAddress } from "./settings.ts";

export interface ServeDeps extends Omit<ServerDeps, "hostNames" | "tls" | "limits"> {
  readonly loaded: LoadedConfig;
  /** On loopback and a free port, whatever is configured. */
  readonly maintenance: boolean;
}

/** Listening when it resolves. */
export async function serve({ loaded, maintenance, ...deps }: ServeDeps) {
  const configured = listenAddress(loaded);
  const tls = await certificate(loaded);
  const hostNames = [configured.host, advertisedHost(loaded)].filter((name) => name !== "");
  const server = createServer({ ...deps, hostNames, ...(tls ? { tls } : {}) });
  const listen = maintenance ? { host: "127.0.0.1", port: 0 } : configured;
  return { server, ...(await listenOn(server, listen, loaded.env["SERVICE_API_TOKEN"])) };
}
