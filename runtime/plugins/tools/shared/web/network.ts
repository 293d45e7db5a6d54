/** The network as the web tools see it: names of hosts, and where sockets go. */

import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import { createSlots } from "../slots.ts";

export interface WebNetwork {
  /** Addresses of a host's name. Rejects with a system error, ENOTFOUND where there is none. */
  resolve(host: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Where a socket for an address that was allowed connects to: that address itself, outside of tests. */
  route(address: string, port: number): { readonly address: string; readonly port: number };
  /** Networks that this machine is in, such as `192.0.2.7/24`. */
  ownNetworks(): readonly string[];
  /** Authorities of certificates in the place of those of Node; PEM. */
  readonly ca?: string;
}

/** Of four threads that the process has for this: a lookup cannot be aborted, and those of providers need some, too. */
const MOST_LOOKUPS = 2;

/** For all web tools of a process together. */
export function createSystemNetwork(find: (host: string) => Promise<readonly string[]> = lookUp): WebNetwork {
  const slots = createSlots(MOST_LOOKUPS);
  return {
    resolve: (host, signal) => slots.run(() => find(host), signal),
    route: (address, port) => ({ address, port }),
    ownNetworks: () =>
      Object.values(networkInterfaces())
        .flatMap((addresses) => addresses ?? [])
        .flatMap(({ cidr }) => (cidr === null ? [] : [cidr])),
  };
}

async function lookUp(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}
