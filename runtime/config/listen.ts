/** Addresses to listen on: `host:port`, IPv6 in brackets; a port alone is one of this machine's loopback. */
import { isIP, isIPv6 } from "node:net";

export interface ListenAddress {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/** Null when the text is neither `host:port` nor a port. */
export function parseListen(text: string): ListenAddress | null {
  if (/^\d{1,5}$/.test(text.trim())) return parseListen(`127.0.0.1:${text.trim()}`);
  const match = /^(?:\[([^\]]+)\]|([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)):(\d{1,5})$/.exec(text.trim());
  if (!match) return null;
  const [, bracketed, plain, digits] = match;
  const port = Number(digits);
  if (port > 65_535 || (bracketed !== undefined && !isIPv6(bracketed))) return null;
  // A name that consists of digits and dots only must be an address: 127.0.0.256 is a mistake, not a host.
  if (plain !== undefined && /^[\d.]+$/.test(plain) && isIP(plain) === 0) return null;
  return { host: bracketed ?? plain ?? "", port };
}

export function formatListen({ host, port }: ListenAddress): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The address as `host:port`; what is none stays as it is. */
export function canonicalListen(text: string): string {
  const address = parseListen(text);
  return address === null ? text : formatListen(address);
}

/** True for addresses that only this machine reaches. */
export function isLoopback(host: string): boolean {
  const bare = host.toLowerCase().replace(/^\[|\]$/g, "");
  return bare === "localhost" || bare === "::1" || /^127\.\d+\.\d+\.\d+$/.test(bare) || /^::ffff:127\./.test(bare);
}
