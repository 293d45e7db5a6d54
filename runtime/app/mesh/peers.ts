/** Other nodes as callers of this one: who a token comes from, by the registry, and whether it is good for the request. */

import type { NodeEntry } from "../../contracts/node-entry.ts";
import type { Clock } from "../../contracts/ports.ts";
import { claimedIssuer, type TokenRefusal, verifyPeerToken } from "../../domain/mesh/peer-token.ts";
import { UsedTokens } from "../../domain/mesh/used-tokens.ts";

/** `full`: more requests of peers than can be told from repeated ones; the same request may succeed later. */
export type PeerRefusal = TokenRefusal | { readonly reason: "unknown-node" | "used" | "full" };

export type PeerVerdict =
  | { readonly peer: NodeEntry }
  | {
      /** Id of the node that the token says it comes from. */
      readonly claimed: string;
      /** By the registry, where that has it. */
      readonly name: string | null;
      readonly refusal: PeerRefusal;
    };

export interface Peers {
  /** Null for what is no token of a peer. A token is accepted once. Rejects where the registry cannot be read. */
  authenticate(token: string, request: { readonly method: string; readonly path: string }): Promise<PeerVerdict | null>;
}

export interface PeersDeps {
  /** Id of this node. */
  readonly id: string;
  /** The genuine entry of a node that may call; null for any other id. */
  readonly find: (id: string) => Promise<NodeEntry | null>;
  readonly clock: Clock;
}

export function createPeers({ id, find, clock }: PeersDeps): Peers {
  const used = new UsedTokens();
  return {
    async authenticate(token, request) {
      const claimed = claimedIssuer(token);
      if (claimed === null) return null;
      const entry = await find(claimed);
      if (entry === null) return { claimed, name: null, refusal: { reason: "unknown-node" } };
      const refused = (refusal: PeerRefusal) => ({ claimed, name: entry.name, refusal });
      const now = clock.now();
      const verified = await verifyPeerToken(token, entry, { audience: id, ...request }, now);
      if ("reason" in verified) return refused(verified);
      const use = used.use(claimed, verified, now.getTime() / 1000);
      return use === "new" ? { peer: entry } : refused({ reason: use });
    },
  };
}
