/** Certificates of servers, made for one test. */

import { webcrypto } from "node:crypto";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
// @peculiar/x509 needs this polyfill to be there before it is loaded.
import "reflect-metadata";
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { onTestFinished } from "vitest";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 86_400_000;

export interface Identity {
  /** Both PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface IdentitySpec {
  /** Days from now; the start defaults to yesterday, the end to tomorrow. */
  readonly from?: number;
  readonly to?: number;
  /** Default: nobody but itself. */
  readonly signedBy?: Identity;
  readonly isAuthority?: boolean;
  /** Default: a name under which no test reaches it. */
  readonly address?: string;
}

export async function identity(spec: IdentitySpec = {}): Promise<Identity> {
  const { from = -1, to = 1, signedBy, isAuthority = false, address } = spec;
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const common = {
    notBefore: new Date(Date.now() + from * DAY_MS),
    notAfter: new Date(Date.now() + to * DAY_MS),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(isAuthority, undefined, true),
      new SubjectAlternativeNameExtension(
        address === undefined ? [{ type: "dns", value: "node.example" }] : [{ type: "ip", value: address }],
      ),
    ],
  };
  const name = isAuthority ? "CN=authority.example" : "CN=node.example";
  const certificate =
    signedBy === undefined
      ? await X509CertificateGenerator.createSelfSigned({ ...common, name, keys }, webcrypto)
      : await X509CertificateGenerator.create(
          {
            ...common,
            subject: name,
            issuer: new X509Certificate(signedBy.cert).subject,
            publicKey: keys.publicKey,
            signingKey: await importKey(signedBy.key),
          },
          webcrypto,
        );
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { cert: `${certificate.toString("pem")}\n`, key: `${PemConverter.encode(key, "PRIVATE KEY")}\n` };
}

function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const [raw] = PemConverter.decode(pem);
  if (raw === undefined) throw new Error("no key");
  return webcrypto.subtle.importKey("pkcs8", raw, ALGORITHM, true, ["sign"]);
}

export interface TlsNode {
  readonly url: string;
  readonly port: number;
  /** Tokens that came with requests. */
  readonly tokens: readonly (string | undefined)[];
}

const HEALTH = {
  status: "healthy",
  version: "1.2.3",
  node: { id: "0".repeat(32), name: "box" },
  uptime_s: 65,
  started_at: "2026-11-23T00:00:00.000Z",
  draining: false,
  agents: {},
  providers: {},
  channels: {},
  memory: { reachable: true },
  queues: [],
  mesh: { enabled: false },
  schema_version: 1,
};

/** Answers as a node does, by HTTPS on loopback; ends with the test. */
export async function tlsNode({ cert, key }: Identity): Promise<TlsNode> {
  const tokens: (string | undefined)[] = [];
  const server: Server = createServer({ cert, key }, (request, response) => {
    tokens.push(request.headers.authorization);
    if (request.url === "/api/admin/memory/backup") return response.end("the archive");
    const result = request.url === "/api/mesh/ping" ? { node_id: "n", name: "box", version: "1.2.3" } : HEALTH;
    response.setHeader("content-type", "application/json").end(JSON.stringify({ ok: true, result }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  // A server that listens on a port has the address of one.
  const { port } = server.address() as AddressInfo;
  return { url: `https://127.0.0.1:${port}`, port, tokens };
}
