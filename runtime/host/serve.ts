/** The HTTP server of a node: where it listens, under which names and with which certificate. */

import type { LoadedConfig } from "../config/index.ts";
import { certificatePin } from "../contracts/certificates.ts";
import { createServer, listenOn, type Server, type ServerDeps } from "../http/index.ts";
import { type CertificateFiles, ownCertificate } from "./own-certificate.ts";
import type { Service } from "./services.ts";
import { advertisedHost, givenCertificate, listenAddress } from "./settings.ts";

export interface ServeDeps extends Omit<ServerDeps, "hostNames" | "tls" | "limits"> {
  readonly loaded: LoadedConfig;
  /** On loopback and a free port, whatever is configured. */
  readonly maintenance: boolean;
  /** Of `runtime.tls: auto`. */
  readonly certificateFiles: CertificateFiles;
  /**
   * Tells other processes where the node listens; `pin` is the fingerprint of its certificate, null without TLS, `nextPin` that of
   * the one that follows it, where the node has made one.
   */
  announce(at: {
    readonly url: string;
    readonly host: string;
    readonly port: number;
    readonly pin: string | null;
    readonly nextPin: string | null;
  }): Promise<void>;
}

export interface HttpService extends Service {
  /** Once it has started. */
  url(): string;
}

/** Its drain lets the requests that are being answered end, and takes no more. */
export function createHttpService({
  loaded,
  maintenance,
  certificateFiles,
  announce,
  ...deps
}: ServeDeps): HttpService {
  let server: Server | null = null;
  let url = "";
  return {
    name: "http",
    async start() {
      const configured = listenAddress(loaded);
      const hostNames = [configured.host, advertisedHost(loaded)].filter((name) => name !== "");
      const tls =
        loaded.config.runtime.tls === "auto"
          ? await ownCertificate({
              files: certificateFiles,
              hosts: hostNames,
              now: deps.clock.now(),
              logger: deps.logger,
            })
          : await givenCertificate(loaded);
      const created = createServer({ ...deps, hostNames, ...(tls ? { tls: { cert: tls.cert, key: tls.key } } : {}) });
      const listen = maintenance ? { host: "127.0.0.1", port: 0 } : configured;
      const at = await listenOn(created, listen, loaded.env["SERVICE_API_TOKEN"]);
      server = created;
      url = at.url;
      const pin = tls === null ? null : certificatePin(tls.cert);
      const nextPin = tls !== null && "nextPin" in tls ? tls.nextPin : null;
      await announce({ ...at, pin, nextPin }).catch(async (error: unknown) => {
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
