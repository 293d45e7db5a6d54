/** The certificate by which nodes know the PostgreSQL of their deployment: self-signed, and the only one that they accept. */

import { webcrypto } from "node:crypto";
// @peculiar/x509 needs this polyfill to be there before it is loaded.
import "reflect-metadata";
import { BasicConstraintsExtension, PemConverter, X509CertificateGenerator } from "@peculiar/x509";

const DAY_MS = 86_400_000;
/** Nobody has to think of it; a year before its end `up` makes another one. */
const LIFETIME_DAYS = 3_650;
const RENEW_DAYS = 365;
/** Clocks of hosts differ. */
const BACKDATED_DAYS = 1;

export interface PostgresTls {
  /** Private key (PKCS #8) and certificate, PEM. */
  readonly pem: string;
  /** Date from which another one is to be made, YYYY-MM-DD. */
  readonly renewAt: string;
}

/** Names no address: nodes compare the certificate itself (`sslmode=verify-ca`), and the database may move. */
export async function generatePostgresTls(now: Date): Promise<PostgresTls> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: "CN=cairn-postgres",
      notBefore: after(now, -BACKDATED_DAYS),
      notAfter: after(now, LIFETIME_DAYS),
      keys,
      signingAlgorithm: algorithm,
      extensions: [new BasicConstraintsExtension(true, 0, true)],
    },
    webcrypto,
  );
  const key = PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
  return {
    pem: `${key}\n${certificate.toString("pem")}\n`,
    renewAt: after(now, LIFETIME_DAYS - RENEW_DAYS)
      .toISOString()
      .slice(0, 10),
  };
}

function after(now: Date, days: number): Date {
  return new Date(now.getTime() + days * DAY_MS);
}
