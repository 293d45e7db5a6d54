/** To which hosts and addresses the web tools may connect: public ones, and what the owner allows by name or range. Pure. */

import { isWithinRange, parseRange, type Range, specialRange } from "./public-address.ts";

export interface NetworkPolicy {
  /** Why nothing may connect to this address of the host, in words; null: it may. The host's name as `hostOf` returns it. */
  refusal(host: string, address: string): string | null;
}

export interface PolicySettings {
  /** Hosts by name or address, and ranges: `isAllowedHost` holds for each. */
  readonly allow: readonly string[];
  /** Networks that this machine is in (`192.0.2.7/24`): public addresses there can be neighbours behind the same firewall. */
  readonly ownNetworks: readonly string[];
}

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_][a-z0-9_-]{0,62})*$/;

/** Whether the text is a host's name, an address, or a range of addresses. */
export function isAllowedHost(text: string): boolean {
  return parseRange(unbracketed(text)) !== null || (HOST_NAME.test(nameOf(text)) && !/^[\d.]+$/.test(text));
}

export function networkPolicy({ allow, ownNetworks }: PolicySettings): NetworkPolicy {
  const ranges = rangesOf(allow);
  const names = new Set(allow.filter((entry) => parseRange(unbracketed(entry)) === null).map(nameOf));
  const own = rangesOf(ownNetworks);
  return {
    refusal(host, address) {
      if (names.has(host) || ranges.some((range) => isWithinRange(address, range))) return null;
      const special = specialRange(address);
      if (special !== null) return special;
      return own.some((range) => isWithinRange(address, range)) ? "the network that this machine is in" : null;
    },
  };
}

/** The host of an address as a name or an address: small letters, no brackets, no final dot. */
export function hostOf({ hostname }: { readonly hostname: string }): string {
  return nameOf(unbracketed(hostname));
}

function rangesOf(texts: readonly string[]): Range[] {
  return texts.map((text) => parseRange(unbracketed(text))).filter((range) => range !== null);
}

function nameOf(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}

function unbracketed(host: string): string {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
}
