/** A fetch that accepts one certificate: the one that a deployment recorded for its node. */

import type { TLSSocket } from "node:tls";
import { refusePinned } from "../contracts/certificates.ts";

/** Milliseconds until a connection must be established. */
const CONNECT_MS = 10_000;

/** The platform's own fetch where no certificate is pinned. */
export function fetchFor(pin: string | undefined): typeof globalThis.fetch {
  return pin === undefined ? fetch : pinnedFetch(pin);
}

/**
 * Names are not compared, because no certificate is made for 127.0.0.1 or a tunnel; the fingerprint is stricter. Nothing is
 * sent before the certificate is accepted: RUNTIME_CERTIFICATE_REFUSED is the cause of fetch's TypeError otherwise.
 * Addresses without TLS go through the ordinary fetch.
 */
function pinnedFetch(pin: string): typeof globalThis.fetch {
  let opened: ReturnType<typeof open> | undefined;
  const send: unknown = async (input: string, init: object) => {
    opened ??= open(pin);
    const { fetch, dispatcher } = await opened;
    return fetch(input, { ...init, dispatcher });
  };
  // The same interface, declared a second time by the package: only the names of its types differ.
  return send as typeof globalThis.fetch;
}

/** Loaded at the first request: the clients of nodes without TLS do without it. */
async function open(pin: string) {
  const { Agent, buildConnector, fetch } = await import("undici");
  // A resumed session need not carry the certificate again.
  const connector = buildConnector({
    rejectUnauthorized: false,
    maxCachedSessions: 0,
    allowH2: false,
    timeout: CONNECT_MS,
  });
  const dispatcher = new Agent({
    connect(options, callback) {
      connector(options, (...result) => {
        const [error, socket] = result;
        if (error !== null || options.protocol !== "https:") return callback(...result);
        // What undici connects by https is a socket of TLS.
        const shown = (socket as TLSSocket).getPeerX509Certificate();
        const refusal = refusePinned(`https://${options.host}`, shown, pin, new Date());
        if (refusal === null) return callback(null, socket);
        socket.destroy();
        callback(refusal, null);
      });
    },
  });
  return { fetch, dispatcher };
}
