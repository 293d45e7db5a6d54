/**
 * The certificates by which nodes know the PostgreSQL of their deployment: an authority of the stack, which nodes pin, and the
 * server's certificate below it, which is renewed without a change to any node.
 */

import { webcrypto } from "node:crypto";
// @peculiar/x509 needs this polyfill to be there before it is loaded.
import "reflect-metadata";
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { InfraError } from "../../../runtime/contracts/errors.ts";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 86_400_000;
/** Renewed by the first `up` in the second half of its life, so that a stack that is seldom changed keeps a valid one. */
const LIFETIME_DAYS = 3_650;
const RENEWED_AFTER_DAYS = 1_825;
/** Clocks of hosts differ. */
const BACKDATED_DAYS = 1;
/** "No well-defined expiration date" (RFC 5280, 4.1.2.5): another authority is another pin in every node, all at once. */
const NEVER = new Date("9999-12-31T23:59:59Z");

export interface ServerTls {
  /** PEM: the server's private key (PKCS #8), its certificate, and the authority's, which is the last one. */
  readonly pem: string;
  /** Date from which another one is to be made, YYYY-MM-DD. */
  readonly renewAt: string;
}

/** Private key (PKCS #8) and certificate, PEM. The key signs servers' certificates and leaves the operator's machine never. */
export async function generateAuthority(now: Date): Promise<string> {
  const keys = await generateKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: "CN=cairn-postgres-authority",
      notBefore: after(now, -BACKDATED_DAYS),
      notAfter: NEVER,
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return pemOf(await exportKey(keys.privateKey), certificate);
}

/**
 * A key and a certificate for the server, signed by `authority` (of `generateAuthority`). It names no address: nodes compare the
 * authority alone (`sslmode=verify-ca`), and the database may move. INFRA_PLAN_INVALID where `authority` cannot be used.
 */
export async function issueServerTls(authority: string, now: Date): Promise<ServerTls> {
  const [signingBytes, authorityBytes] = PemConverter.decode(authority);
  if (signingBytes === undefined || authorityBytes === undefined) {
    throw new InfraError("INFRA_PLAN_INVALID", "The stack's authority for PostgreSQL has no key or no certificate.", {
      hint: "Put `Pulumi.<stack>.yaml` back as it was; a new authority is made where cairn:postgresAuthority is not in it.",
    });
  }
  const signingKey = await webcrypto.subtle.importKey("pkcs8", signingBytes, ALGORITHM, false, ["sign"]);
  const issuer = new X509Certificate(authorityBytes);
  const keys = await generateKeys();
  const certificate = await X509CertificateGenerator.create(
    {
      subject: "CN=cairn-postgres",
      issuer: issuer.subject,
      notBefore: after(now, -BACKDATED_DAYS),
      notAfter: after(now, LIFETIME_DAYS),
      publicKey: keys.publicKey,
      signingKey,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
        await AuthorityKeyIdentifierExtension.create(issuer, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return {
    pem: pemOf(await exportKey(keys.privateKey), certificate, issuer),
    renewAt: after(now, RENEWED_AFTER_DAYS).toISOString().slice(0, 10),
  };
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  return PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY");
}

function pemOf(key: string, ...certificates: readonly X509Certificate[]): string {
  return [key, ...certificates.map((certificate) => certificate.toString("pem")), ""].join("\n");
}

function after(now: Date, days: number): Date {
  return new Date(now.getTime() + days * DAY_MS);
}
