/** The network as the web tools see it: names of hosts, and where sockets go. */

import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";

export interface WebNetwork {
  /** Addresses of a host's name. Rejects with a system error, ENOTFOUND where there is none. */
  resolve(host: string): Promise<readonly string[]>;
  /** Where a socket for an address that was allowed connects to: that address itself, outside of tests. */
  route(address: string, port: number): { readonly address: string; readonly port: number };
  /** Networks that this machine is in, such as `192.0.2.7/24`. */
  ownNetworks(): readonly string[];
  /** Authorities of certificates in the place of those of Node; PEM. */
  readonly ca?: string;
}

export const systemNetwork: WebNetwork = {
  async resolve(host) {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  },
  route: (address, port) => ({ address, port }),
  ownNetworks: () =>
    Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .flatMap(({ cidr }) => (cidr === null ? [] : [cidr])),
};
