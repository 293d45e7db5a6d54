/** The HTTP server of a node: where it listens, under which names and with which certificate. */

import type { LoadedConfig } from "../config/index.ts";
import { certificatePin } from "../contracts/certificates.ts";
import { createServer, listenOn, type Server, type ServerDeps } from "../http/index.ts";
import type { Service } from "./services.ts";
import { advertisedHost, certificate, listenAddress } from "./settings.ts";

export interface ServeDeps extends Omit<ServerDeps, "hostNames" | "tls" | "limits"> {
  readonly loaded: LoadedConfig;
  /** On loopback and a free port, whatever is configured. */
  readonly maintenance: boolean;
  /** Tells other processes where the node listens; `pin` is the fingerprint of its certificate, null without TLS. */
  announce(at: {
    readonly url: string;
    readonly host: string;
    readonly port: number;
    readonly pin: string | null;
  }): Promise<void>;
}

export interface HttpService extends Service {
  /** Once it has started. */
  url(): string;
}

/** Its drain lets the requests that are being answered end, and takes no more. */
export function createHttpService({ loaded, maintenance, announce, ...deps }: ServeDeps): HttpService {
  let server: Server | null = null;
  let url = "";
  return {
    name: "http",
    async start() {
      const configured = listenAddress(loaded);
      const tls = await certificate(loaded);
      const hostNames = [configured.host, advertisedHost(loaded)].filter((name) => name !== "");
      const created = createServer({ ...deps, hostNames, ...(tls ? { tls } : {}) });
      const listen = maintenance ? { host: "127.0.0.1", port: 0 } : configured;
      const at = await listenOn(created, listen, loaded.env["SERVICE_API_TOKEN"]);
      server = created;
      url = at.url;
      await announce({ ...at, pin: tls === null ? null : certificatePin(tls.cert) }).catch(async (error: unknown) => {
        await created.close();
        throw error;
      });
    },
    url: () => url,
    async drain() {
      await server?.close();
    },
  };
}
