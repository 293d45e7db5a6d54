/** The one place where commands make a client of a node: it knows the certificate that the deployment recorded for it. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, type ClientOptions, createClient } from "../../runtime/client/index.ts";
import { type Config, isPem } from "../../runtime/config/config.ts";
import { parseListen } from "../../runtime/config/listen.ts";
import { type CertificatePin, certificatePin, pinOf } from "../../runtime/contracts/certificates.ts";
import { urlOf } from "../../runtime/contracts/urls.ts";
import type { StackRecord } from "../deploy/schemas.ts";
import type { NodeFile } from "./node-file.ts";

export interface Endpoint {
  readonly url: string;
  /** SHA-256 fingerprints of the certificates that the node may show there; null where authorities decide, or without TLS. */
  readonly certificate: CertificatePin | null;
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
export function announcedEndpoint(node: NodeFile): Endpoint {
  return { url: node.url, certificate: pinOf(node) };
}

/** Of a node of a deployed stack. */
export function recordedPin(record: Pick<StackRecord, "nodes"> | null, name: string): CertificatePin | null {
  const node = record?.nodes.find((one) => one.name === name);
  return node === undefined ? null : pinOf(node);
}

/**
 * Where the node of this configuration and this home listens when it runs, with the certificate that the configuration names, or that
 * a node of the home has made; null where only the node itself can know, because it takes a free port.
 */
export async function configuredEndpoint(
  { runtime: { listen, tls } }: Pick<Config, "runtime">,
  home: string | null,
): Promise<Endpoint | null> {
  const address = parseListen(listen);
  if (address === null || address.port === 0) return null;
  if (tls === "off") return { url: urlOf(address.host, address.port), certificate: null };
  const cert = tls === "auto" ? join(home ?? "", "tls.pem") : tls.cert;
  const pem = isPem(cert) ? cert : await readFile(cert, "utf8").catch(() => "");
  return { url: urlOf(address.host, address.port, true), certificate: certificatePin(pem) };
}
