/**
 * How long a certificate that a node makes itself is valid, and when another one takes its place. There are always two: the one that is
 * shown and the next, so that clients know the next before it is shown. Pure.
 */

const DAY_MS = 86_400_000;
/** Some clients refuse a server whose certificate is valid for more than 825 days. */
const LIFETIME_DAYS = 800;
/** A start with less than this ahead of it shows the next one: a node may run as long without a restart. */
const AHEAD_DAYS = 400;
/** Clocks of machines differ. */
const BACKDATED_DAYS = 1;

export interface CertificateSpan {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** `next`: it takes the place of the one that was shown, and another one follows it. `anew`: two that no client knows. */
export type CertificateStep = "keep" | "next" | "anew";

export interface CertificatePair {
  readonly current: CertificateSpan;
  readonly next: CertificateSpan;
  /** Whether both are for every name that the node has now. */
  readonly fits: boolean;
}

/** What a start does. A clock that is behind makes nothing new: it is what has to be put right. */
export function certificateStep({ current, next, fits }: CertificatePair, now: Date): CertificateStep {
  if (!fits) return "anew";
  if (now < after(current.notAfter, -AHEAD_DAYS)) return "keep";
  return next.notBefore <= now && now < next.notAfter ? "next" : "anew";
}

export function firstSpan(now: Date): CertificateSpan {
  return spanFrom(now);
}

/** Of the certificate after that one: valid from when it may be shown. */
export function spanAfter({ notAfter }: CertificateSpan): CertificateSpan {
  return spanFrom(after(notAfter, -AHEAD_DAYS));
}

function spanFrom(start: Date): CertificateSpan {
  return { notBefore: after(start, -BACKDATED_DAYS), notAfter: after(start, LIFETIME_DAYS) };
}

function after(date: Date, days: number): Date {
  return new Date(date.getTime() + days * DAY_MS);
}
