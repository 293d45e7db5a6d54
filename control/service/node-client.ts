/** The one place where commands make a client of a node: it knows the certificate that the deployment recorded for it. */

import { readFile } from "node:fs/promises";
import { type Client, type ClientOptions, createClient } from "../../runtime/client/index.ts";
import { type Config, isPem } from "../../runtime/config/config.ts";
import { parseListen } from "../../runtime/config/listen.ts";
import { certificatePin } from "../../runtime/contracts/certificates.ts";
import { urlOf } from "../../runtime/contracts/urls.ts";
import type { NodeFile } from "./node-file.ts";

export interface Endpoint {
  readonly url: string;
  /** SHA-256 fingerprint of the only certificate that the node may show there; null where authorities decide, or without TLS. */
  readonly certificate: string | null;
}

/** `timeoutMs` and `unreachableHint` as in ClientOptions. Failures as of Client. */
export function clientOf(
  { url, certificate }: Endpoint,
  options: Pick<ClientOptions, "unreachableHint"> & {
    readonly token?: string | undefined;
    readonly timeoutMs?: number | undefined;
  } = {},
): Client {
  const { token, timeoutMs, unreachableHint } = options;
  return createClient({
    baseUrl: url,
    unreachableHint,
    ...(certificate === null ? {} : { certificate }),
    ...(token ? { token } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
}

/** Of the node that `run/node.json` describes. */
export function announcedEndpoint({ url, certificate_sha256 }: NodeFile): Endpoint {
  return { url, certificate: certificate_sha256 };
}

/**
 * Where the node of this configuration listens when it runs, with the certificate that the configuration names; null where
 * only the node itself can know, because it takes a free port.
 */
export async function configuredEndpoint({
  runtime: { listen, tls },
}: Pick<Config, "runtime">): Promise<Endpoint | null> {
  const address = parseListen(listen);
  if (address === null || address.port === 0) return null;
  if (typeof tls === "string") return { url: urlOf(address.host, address.port), certificate: null };
  const pem = isPem(tls.cert) ? tls.cert : await readFile(tls.cert, "utf8").catch(() => "");
  return { url: urlOf(address.host, address.port, true), certificate: certificatePin(pem) };
}
