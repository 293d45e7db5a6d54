/** Makes certificates that nobody but themselves has signed. Loaded when one is to be made: most starts make none. */

import { randomBytes, webcrypto } from "node:crypto";
import { isIP } from "node:net";
// @peculiar/x509 needs this polyfill to be there before it is loaded.
import "reflect-metadata";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import type { CertificateSpan } from "../domain/certificate-life.ts";

/** What every client of TLS 1.2 and newer takes; Ed25519 is not. */
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const NAME_BYTES = 8;

export interface MadeCertificate {
  /** Private key, PKCS #8, PEM. */
  readonly key: string;
  /** PEM. */
  readonly cert: string;
}

/** `names`: host names and IP addresses that clients may reach it by. It signs nothing else (CA:FALSE). */
export async function makeCertificate(names: readonly string[], span: CertificateSpan): Promise<MadeCertificate> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      // OpenSSL looks in a list of trusted ones by this name: two of one name would hide each other.
      name: `CN=cairn-${randomBytes(NAME_BYTES).toString("hex")}`,
      ...span,
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
        new SubjectAlternativeNameExtension(
          names.map((value) => ({ type: isIP(value) === 0 ? "dns" : "ip", value }) as const),
        ),
      ],
    },
    webcrypto,
  );
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { key: `${PemConverter.encode(key, "PRIVATE KEY")}\n`, cert: `${certificate.toString("pem")}\n` };
}
