/**
 * The certificate of `runtime.tls: auto`: made at the first start and kept in the home, with the one that will follow it. Called with
 * the home's lock held, so that there is one process that makes it.
 */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { certificatePin } from "../contracts/certificates.ts";
import { ConfigError } from "../contracts/errors.ts";
import type { Logger } from "../contracts/ports.ts";
import { codeOf } from "../contracts/system-errors.ts";
import { isWildcard } from "../contracts/urls.ts";
import {
  type CertificateSpan,
  type CertificateStep,
  certificateStep,
  firstSpan,
  spanAfter,
} from "../domain/certificate-life.ts";
import { writeDurably } from "../files/durable.ts";
import type { MadeCertificate } from "./certificate-maker.ts";
import type { HomePaths } from "./home.ts";

/**
 * Where it lies. Keys and certificates, the current pair first, are in one file, so that a key never lies beside another's
 * certificate; the certificates are for other programs to trust.
 */
export type CertificateFiles = Pick<HomePaths, "certificateKeys" | "certificates">;

export interface OwnCertificate extends MadeCertificate {
  /** Of the certificate that will be shown after this one. */
  readonly nextPin: string | null;
}

export interface OwnCertificateDeps {
  readonly files: CertificateFiles;
  /** Names and addresses under which clients reach the node, besides those of loopback; wildcards are passed over. */
  readonly hosts: readonly string[];
  readonly now: Date;
  readonly logger: Logger;
}

interface Pair {
  readonly current: MadeCertificate;
  readonly next: MadeCertificate;
}

/** In place of a pair: there is no file yet, or what is in it are not two keys with their certificates. */
type Missing = "none" | "damaged";

const SAID = {
  none: "a certificate was made for the node",
  next: "the certificate of the node was renewed: clients that know its next one accept it",
  anew: "the certificate of the node was made anew, for other names or after its time: clients that know the former refuse it",
  damaged: "the certificate of the node was damaged, and was made anew: clients that know the former refuse it",
} as const satisfies Record<Exclude<CertificateStep, "keep"> | Missing, string>;

const LOOPBACK = ["localhost", "127.0.0.1", "::1"];

/** Makes or renews it where that is due. CONFIG_UNREADABLE for a file that this user cannot read. */
export async function ownCertificate({ files, hosts, now, logger }: OwnCertificateDeps): Promise<OwnCertificate> {
  const names = namesOf(hosts);
  const kept = await readPair(files.certificateKeys);
  const [pair, step] = typeof kept === "string" ? [await makePair(names, now), kept] : await stepped(kept, names, now);
  if (step !== "keep") {
    await writeDurably(files.certificateKeys, textOf(pair), { mode: 0o600 });
    const about = { certificate_sha256: certificatePin(pair.current.cert) };
    if (step === "none" || step === "next") logger.info(about, SAID[step]);
    else logger.warn(about, SAID[step]);
  }
  const shown = `${pair.current.cert}${pair.next.cert}`;
  if ((await readFile(files.certificates, "utf8").catch(() => null)) !== shown)
    await writeDurably(files.certificates, shown, { mode: 0o644 });
  return { ...pair.current, nextPin: certificatePin(pair.next.cert) };
}

/** That a start could read it; makes nothing. CONFIG_UNREADABLE as of `ownCertificate`. */
export async function checkOwnCertificate({ certificateKeys }: CertificateFiles): Promise<void> {
  await readPair(certificateKeys);
}

/** Each once, IP addresses without brackets and zones. */
function namesOf(hosts: readonly string[]): string[] {
  const plain = hosts.map((host) =>
    host
      .toLowerCase()
      .replace(/^\[|\]$/g, "")
      .replace(/%.*$/, ""),
  );
  return [...new Set([...LOOPBACK, ...plain.filter((host) => host !== "" && !isWildcard(host))])];
}

function lifeOf({ current, next }: Pair, names: readonly string[]) {
  const certificates = [new X509Certificate(current.cert), new X509Certificate(next.cert)] as const;
  const isFor = (certificate: X509Certificate, name: string): boolean =>
    (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined;
  return {
    current: spanOf(certificates[0]),
    next: spanOf(certificates[1]),
    fits: certificates.every((certificate) => names.every((name) => isFor(certificate, name))),
  };
}

function spanOf({ validFromDate, validToDate }: X509Certificate): CertificateSpan {
  return { notBefore: validFromDate, notAfter: validToDate };
}

async function stepped(kept: Pair, names: readonly string[], now: Date): Promise<[Pair, CertificateStep]> {
  const step = certificateStep(lifeOf(kept, names), now);
  if (step === "keep") return [kept, step];
  if (step === "anew") return [await makePair(names, now), step];
  const { makeCertificate } = await import("./certificate-maker.ts");
  const following = spanAfter(spanOf(new X509Certificate(kept.next.cert)));
  return [{ current: kept.next, next: await makeCertificate(names, following) }, step];
}

async function makePair(names: readonly string[], now: Date): Promise<Pair> {
  const { makeCertificate } = await import("./certificate-maker.ts");
  const span = firstSpan(now);
  return { current: await makeCertificate(names, span), next: await makeCertificate(names, spanAfter(span)) };
}

function textOf({ current, next }: Pair): string {
  return `${current.key}${current.cert}${next.key}${next.cert}`;
}

async function readPair(path: string): Promise<Pair | Missing> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return "none";
    throw new ConfigError("CONFIG_UNREADABLE", `The node's certificate ${path} cannot be read.`, {
      cause,
      hint: "Give it to the user of the node with mode 0600, or move it away: the next start then makes another one.",
    });
  }
  const blocks = (text.match(/-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----/g) ?? []).map((block) => `${block}\n`);
  const [key = "", cert = "", nextKey = "", nextCert = ""] = blocks;
  const pair = { current: { key, cert }, next: { key: nextKey, cert: nextCert } };
  return isOfOne(pair.current) && isOfOne(pair.next) ? pair : "damaged";
}

/** Whether the key is that of the certificate. */
function isOfOne({ key, cert }: MadeCertificate): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
