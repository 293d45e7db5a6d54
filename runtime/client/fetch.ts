/**
 * Fetches that the platform's own one cannot do: accepting those certificates alone that are recorded for a node;
 * and waiting longer than five minutes for the head of an answer, as a restore of millions of rows takes.
 */

import type { TLSSocket } from "node:tls";
import type { Dispatcher } from "undici";
import { type CertificatePin, refusePinned } from "../contracts/certificates.ts";

/** Milliseconds until a connection must be established. */
const CONNECT_MS = 10_000;

/** The head of an answer has no limit of its own: deadlines are the callers'. Between two chunks of it there are five minutes. */
const PATIENT = { headersTimeout: 0 } as const;

/** The platform's own fetch where no certificate is pinned. */
export function fetchFor(pin: CertificatePin | undefined): typeof globalThis.fetch {
  return pin === undefined ? fetch : through(() => pinned(pin));
}

/** As long as it takes. */
export function patientFetchFor(pin: CertificatePin | undefined): typeof globalThis.fetch {
  return through(pin === undefined ? patient : () => pinned(pin));
}

interface Opened {
  readonly fetch: typeof import("undici").fetch;
  readonly dispatcher: Dispatcher;
}

/** Opened at the first request: most clients do without. */
function through(open: () => Promise<Opened>): typeof globalThis.fetch {
  let opened: Promise<Opened> | undefined;
  const send: unknown = async (input: string, init: object) => {
    opened ??= open();
    const { fetch, dispatcher } = await opened;
    return fetch(input, { ...init, dispatcher });
  };
  // The same interface, declared a second time by the package: only the names of its types differ.
  return send as typeof globalThis.fetch;
}

async function patient(): Promise<Opened> {
  const { Agent, fetch } = await import("undici");
  return { fetch, dispatcher: new Agent(PATIENT) };
}

/**
 * Names are not compared, because no certificate is made for 127.0.0.1 or a tunnel; the fingerprint is stricter. Nothing is
 * sent before the certificate is accepted: RUNTIME_CERTIFICATE_REFUSED is the cause of fetch's TypeError otherwise.
 * Addresses without TLS go through the ordinary fetch.
 */
async function pinned(pin: CertificatePin): Promise<Opened> {
  const { Agent, buildConnector, fetch } = await import("undici");
  // A resumed session need not carry the certificate again.
  const connector = buildConnector({
    rejectUnauthorized: false,
    maxCachedSessions: 0,
    allowH2: false,
    timeout: CONNECT_MS,
  });
  const dispatcher = new Agent({
    ...PATIENT,
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
