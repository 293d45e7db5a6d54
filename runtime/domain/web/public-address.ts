/**
 * Which addresses are of the public internet: everything else (private, local, reserved, translated) is refused to requests
 * whose address a model or a web page chose. Pure.
 */

import ipaddr from "ipaddr.js";

/** Addresses of IPv6 that are in use; outside of it are only special ones, those of IPv4 in other forms among them. */
const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3");
/** Special ranges that the library's table does not have, or has only in parts. */
const FURTHER = ["2001::/23", "3fff::/20"].map((range) => ipaddr.parseCIDR(range));
/** Public by its number, and on Azure the service of the host (WireServer). */
const AZURE_HOST = "168.63.129.16";

const MEANING: Readonly<Record<string, string>> = {
  unspecified: "this machine itself",
  loopback: "this machine itself",
  private: "a private network",
  uniqueLocal: "a private network",
  carrierGradeNat: "a provider's own network",
  linkLocal: "the local link, where clouds have their metadata service",
};

/** An address, and how many of its first bits are the network's. */
export type Range = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** `10.0.0.0/8`, `fd00::/8`, or one address; null for anything else: `010.0.0.0/8` could be octal. */
export function parseRange(text: string): Range | null {
  if (ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return null;
  const address = ipaddr.parse(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

/** False for addresses of the other kind. An IPv4 address that is mapped into IPv6 is one of IPv6. */
export function isWithinRange(address: string, [start, bits]: Range): boolean {
  const parsed = ipaddr.parse(address);
  return parsed.kind() === start.kind() && parsed.match(start, bits);
}

/** What the address is, in words, where it is none of the public internet; null where it is. Throws for text that is no address. */
export function specialRange(address: string): string | null {
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  if (range !== "unicast") return MEANING[range] ?? "a range with a special purpose";
  if (parsed.kind() === "ipv4") return parsed.toString() === AZURE_HOST ? "a service of Azure for its machines" : null;
  const isGlobal = parsed.match(GLOBAL_IPV6) && !FURTHER.some((further) => parsed.match(further));
  return isGlobal ? null : "a range with a special purpose";
}
