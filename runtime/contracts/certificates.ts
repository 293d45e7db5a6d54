/**
 * Certificate pins. A node's own certificate is often signed by no authority, and never for 127.0.0.1, so our clients accept
 * exactly the certificate that the deployment recorded. A pin is its SHA-256 fingerprint, written as `openssl x509
 * -fingerprint -sha256` prints it ("AB:CD:...", 32 bytes). Pure.
 */

import { X509Certificate } from "node:crypto";
import { RuntimeError } from "./errors.ts";

/** Fingerprints of the certificates that a server may show: of one, or of the one that it shows and those that may follow it. */
export type CertificatePin = string | readonly string[];

/** As `run/node.json` and `stack.json` have them; null where authorities decide, or without TLS. */
export function pinOf(node: {
  readonly certificate_sha256: string | null;
  readonly next_certificate_sha256: string | null;
}): CertificatePin | null {
  const { certificate_sha256: shown, next_certificate_sha256: next } = node;
  if (shown === null) return null;
  return next === null ? shown : [shown, next];
}

/** Of the first certificate of a PEM text, which is the server's own; null where the text holds none. */
export function certificatePin(pem: string | Buffer): string | null {
  try {
    return new X509Certificate(pem).fingerprint256;
  } catch {
    return null;
  }
}

const COMPARE = "`openssl x509 -in CERT.pem -noout -fingerprint -sha256` prints the fingerprint of a file";
const RECORD = "`cairn restart` records it for a node of this machine, `cairn infra up` for a deployed stack";

/** RUNTIME_CERTIFICATE_REFUSED that says why, or null for a pinned certificate within its time. `at` is the node's URL. */
export function refusePinned(
  at: string,
  shown: Pick<X509Certificate, "fingerprint256" | "validFrom" | "validTo"> | undefined,
  pin: CertificatePin,
  now: Date,
): RuntimeError | null {
  const pins = typeof pin === "string" ? [pin] : pin;
  const [recorded = ""] = pins;
  if (shown === undefined) return refused(`The server at ${at} shows no certificate.`, `Expected is ${recorded}.`);
  const { fingerprint256, validFrom, validTo } = shown;
  if (!pins.includes(fingerprint256)) {
    return refused(
      `The server at ${at} shows another certificate than the one recorded for the node: ${fingerprint256}, not ${recorded}.`,
      `If it was replaced, ${RECORD}. ${COMPARE}.`,
    );
  }
  if (now > new Date(validTo)) {
    return refused(
      `The certificate of the node at ${at} expired on ${validTo}.`,
      `Give runtime.tls a new one; with \`auto\` a restart makes it. Then ${RECORD}.`,
    );
  }
  if (now < new Date(validFrom)) {
    return refused(
      `The certificate of the node at ${at} is valid from ${validFrom} only.`,
      "Correct the clock of this machine, or of the node's, or give runtime.tls another certificate.",
    );
  }
  return null;
}

/** The same for a certificate without a pin, which the authorities known to this machine do not vouch for. */
export function refuseUntrusted(at: string, code: string, cause: unknown): RuntimeError {
  return new RuntimeError("RUNTIME_CERTIFICATE_REFUSED", `The certificate of ${at} is not trusted (${code}).`, {
    cause,
    hint: `If it is the node's own, ${RECORD}. For another server set NODE_EXTRA_CA_CERTS to the authority's certificate.`,
  });
}

/** OpenSSL's and Node's codes of a certificate that is not accepted. */
export function isCertificateCode(code: string): boolean {
  return CODES.test(code);
}

const CODES =
  /^(CERT_|ERR_TLS_CERT|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY|DECODE|DECRYPT)_|INVALID_CA$|HOSTNAME_MISMATCH$)/;

function refused(message: string, hint: string): RuntimeError {
  return new RuntimeError("RUNTIME_CERTIFICATE_REFUSED", message, { hint });
}
