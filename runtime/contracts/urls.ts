/** Addresses that a server listens on, and the URLs under which its own machine reaches it. Pure. */

/** Whether an address means every interface. */
export function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** Loopback for an address that means every interface: nothing can connect to that one. Every other host as it is. */
function reachableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}

/** The URL under which this machine reaches a server that listens there; IPv6 addresses are put into brackets. */
export function urlOf(host: string, port: number, tls = false): string {
  const reachable = reachableHost(host);
  return `${tls ? "https" : "http"}://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}

/** Whether a URL leads to this machine, over loopback. */
export function isLocal(url: string): boolean {
  return /^https?:\/\/(?:127(?:\.\d+){3}|localhost|\[::1\])(?=[:/]|$)/.test(url);
}
