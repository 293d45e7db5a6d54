/**
 * Connections to addresses that the policy allows, and no others. It is asked about the address that the socket is then opened
 * to, which is never resolved again: a name that answers differently the second time changes nothing. No proxy of the
 * environment is used, since one would connect where the policy is not asked.
 */

import type { Socket } from "node:net";
import { isIP } from "node:net";
import type { Agent, buildConnector } from "undici";
import { hostOf, type NetworkPolicy } from "../../../../domain/web/network-policy.ts";
import type { WebNetwork } from "./network.ts";

/** Milliseconds to connect to one address. */
const CONNECT_MS = 5_000;
/** Milliseconds without a byte, before the head of an answer and between parts of it. */
const IDLE_MS = 10_000;
const MOST_ADDRESSES = 6;
const MOST_HEADER_BYTES = 32 * 1024;

/** The host has only addresses that the policy refuses. */
export class AddressRefused extends Error {
  readonly host: string;
  readonly range: string;

  constructor(host: string, range: string) {
    super(`${host} is in ${range}`);
    this.host = host;
    this.range = range;
  }
}

export interface Guard {
  readonly policy: NetworkPolicy;
  readonly network: WebNetwork;
  /** No address is tried after it has been aborted. */
  readonly signal: AbortSignal;
}

/** For one call: the caller destroys it. */
export async function openGuardedAgent({ policy, network, signal }: Guard): Promise<Agent> {
  const { Agent, buildConnector } = await import("undici");
  const connector = buildConnector({
    timeout: CONNECT_MS,
    allowH2: false,
    maxCachedSessions: 0,
    ...(network.ca === undefined ? {} : { ca: network.ca }),
  });

  async function dial(options: buildConnector.Options): Promise<Socket> {
    const host = hostOf(options);
    const addresses = isIP(host) === 0 ? await network.resolve(host, signal) : [host];
    const allowed = addresses.filter((address) => policy.refusal(host, address) === null);
    const [first] = addresses;
    if (first !== undefined && allowed.length === 0) {
      throw new AddressRefused(host, policy.refusal(host, first) ?? "");
    }
    let failure: unknown = Object.assign(new Error(`${host} has no address`), { code: "ENOTFOUND" });
    for (const address of allowed.slice(0, MOST_ADDRESSES)) {
      signal.throwIfAborted();
      try {
        return await connect(connector, options, host, network.route(address, portOf(options)));
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  return new Agent({
    connections: 1,
    headersTimeout: IDLE_MS,
    bodyTimeout: IDLE_MS,
    maxHeaderSize: MOST_HEADER_BYTES,
    connect(options, callback) {
      dial(options).then(
        (socket) => callback(null, socket),
        (error: Error) => callback(error, null),
      );
    },
  });
}

/** By a literal address, which neither the connector nor the system resolves; the certificate is checked for the host's name. */
function connect(
  connector: buildConnector.connector,
  { protocol, host }: buildConnector.Options,
  name: string,
  target: { readonly address: string; readonly port: number },
): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const options = {
    protocol,
    hostname: target.address,
    port: String(target.port),
    ...(host === undefined ? {} : { host }),
    ...(protocol === "https:" && isIP(name) === 0 ? { servername: name } : {}),
  };
  connector(options, (...[error, socket]) => (error === null ? resolve(socket) : reject(error)));
  return promise;
}

function portOf({ port, protocol }: buildConnector.Options): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}
