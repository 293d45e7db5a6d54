/** The routes of another node, as this node calls them: by its entry in the registry, with a token of its own for each request. */

import type { KeyObject } from "node:crypto";
import { pinOf } from "../contracts/certificates.ts";
import { RuntimeError } from "../contracts/errors.ts";
import type { NodeEntry } from "../contracts/node-entry.ts";
import type { Clock, NewId } from "../contracts/ports.ts";
import { isLocal } from "../contracts/urls.ts";
import { makePeerToken } from "../domain/mesh/peer-token.ts";
import { type Client, createClientOn } from "./client.ts";
import { call, connectionTo, type RequestOptions, request } from "./http.ts";

export interface Peer extends Client {
  /** The `result` of a route that the client has no function for. */
  call<Result>(path: string, options?: RequestOptions): Promise<Result>;
  /** The answer of one, its body unread. */
  open(path: string, options?: RequestOptions): Promise<Response>;
}

/** What a client of a peer needs to know of it. */
export type PeerAddress = Pick<NodeEntry, "id" | "name" | "address" | "certificate_sha256" | "next_certificate_sha256">;

export interface PeerClients {
  /** One client a node: its connections are used again. RUNTIME_PEER_UNREACHABLE where the entry names no address that may be called. */
  to(entry: PeerAddress): Peer;
}

/** Milliseconds until a peer must have begun to answer. */
const TIMEOUT_MS = 10_000;
/** Bytes of an answer that is read whole: what members exchange has a third of it. */
const LONGEST_ANSWER = 4 * 1024 * 1024;

export function createPeerClients(self: {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly timeoutMs?: number;
}): PeerClients {
  const { clock, newId, timeoutMs = TIMEOUT_MS } = self;
  const peers = new Map<string, { readonly key: string; readonly peer: Peer }>();

  function make(entry: PeerAddress, baseUrl: string): Peer {
    const connection = connectionTo({
      baseUrl,
      certificate: pinOf(entry) ?? undefined,
      timeoutMs,
      longestAnswer: LONGEST_ANSWER,
      authorize: (method, path) => makePeerToken({ audience: entry.id, method, path }, self, newId(), clock.now()),
    });
    return {
      ...createClientOn(connection),
      call: (path, options) => call(connection, path, options),
      open: (path, options) => request(connection, path, options),
    };
  }

  return {
    to(entry) {
      const baseUrl = callableAddress(entry);
      const key = JSON.stringify([baseUrl, pinOf(entry)]);
      const cached = peers.get(entry.id);
      if (cached?.key === key) return cached.peer;
      const peer = make(entry, baseUrl);
      peers.set(entry.id, { key, peer });
      return peer;
    },
  };
}

/** Without TLS a token and what it lets through could be read, and changed, on the way. */
function callableAddress({ name, address, certificate_sha256: pin }: PeerAddress): string {
  if (address === null) {
    throw unreachable(
      `The node ${name} names no address under which other nodes reach it.`,
      "Set mesh.advertise there",
    );
  }
  if (!isPlain(address)) {
    throw unreachable(
      `The node ${name} names no address of a node: ${address}.`,
      "Set mesh.advertise to HOST:PORT there",
    );
  }
  if (address.startsWith("https:") || isLocal(address)) return address;
  throw unreachable(
    pin === null
      ? `The node ${name} serves no TLS at ${address}.`
      : `The node ${name} serves TLS, and names an address without it: ${address}.`,
    pin === null ? "Set runtime.tls to auto there" : "Write https:// in its mesh.advertise",
  );
}

/** A query or a fragment would swallow the route, so that a member could choose what is asked of a service on this machine. */
function isPlain(address: string): boolean {
  const url = URL.parse(address);
  if (url === null || !["https:", "http:"].includes(url.protocol)) return false;
  return url.username === "" && url.password === "" && !/[?#]/.test(address);
}

function unreachable(message: string, todo: string): RuntimeError {
  return new RuntimeError("RUNTIME_PEER_UNREACHABLE", message, { hint: `${todo}, and restart it.` });
}
