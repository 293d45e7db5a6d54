/** Another node as the caller: its principal, and what a refused one is answered. */

import type { PeerVerdict, Principal } from "../app/api.ts";
import { RuntimeError } from "../contracts/errors.ts";
import type { NodeEntry } from "../contracts/node-entry.ts";

type Refused = Exclude<PeerVerdict, { readonly peer: NodeEntry }>;

/** Requests are remembered for four minutes at most: most of them make room long before. */
const RETRY_AFTER_S = 10;

export function principalOf(peer: NodeEntry): Principal {
  return { id: `peer:${peer.id}`, name: peer.name, scopes: new Set(), owner: false, peer };
}

/** A node whose clock is wrong, or that asks too often, guesses nothing: it must not lock its address out. */
export function isGuess({ refusal: { reason } }: Refused): boolean {
  return reason !== "skewed" && reason !== "full";
}

/** `own`: name of this node. The error is shown where the other one runs. */
export function peerRefused({ refusal, claimed, name }: Refused, own: string): RuntimeError {
  const node = name ?? claimed;
  switch (refusal.reason) {
    case "skewed": {
      const seconds = Math.abs(refusal.aheadS);
      const side = refusal.aheadS > 0 ? "ahead of" : "behind";
      return new RuntimeError(
        "RUNTIME_CLOCK_SKEW",
        `The clock of the node ${node} is ${seconds} s ${side} that of ${own}.`,
        {
          hint: "Set both by a time server; `timedatectl` shows whether one is used. A minute and a half apart is accepted.",
        },
      );
    }
    case "full":
      return new RuntimeError("RUNTIME_RATE_LIMITED", "Too many requests of peers within the last minutes.", {
        retryAfterS: RETRY_AFTER_S,
      });
    case "unknown-node":
      return unauthorized(
        `No node with the id ${claimed} is in the registry of ${own}.`,
        "`cairn mesh list` shows who is.",
      );
    case "used":
      return unauthorized("The token was used before: each request needs its own.");
    case "other-node":
      return unauthorized(
        "The token was made for another node.",
        "`cairn mesh list` shows which address has which id.",
      );
    case "other-request":
      return unauthorized("The token was made for another request.");
    case "forged":
      return unauthorized("The token is not valid.");
  }
}

function unauthorized(message: string, hint?: string): RuntimeError {
  return new RuntimeError("RUNTIME_UNAUTHORIZED", message, hint === undefined ? {} : { hint });
}
