/**
 * Tokens of nodes that call each other: a JWT by the caller's key, for one request to one node, valid for a minute. Pure.
 */

import { createPublicKey, type KeyObject } from "node:crypto";
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, SignJWT } from "jose";
import type { NodeEntry } from "../../contracts/node-entry.ts";

/** What a token is for: it is good for no other request. */
export interface PeerRequest {
  /** Id of the node that is called. */
  readonly audience: string;
  readonly method: string;
  /** With its query, as the node that is called sees it. */
  readonly path: string;
}

export interface Caller {
  /** Id of the node that calls. */
  readonly id: string;
  readonly privateKey: KeyObject;
}

export interface VerifiedToken {
  readonly id: string;
  /** Seconds since the epoch by the receiver's clock: from then on the token is refused for its age. */
  readonly usableUntil: number;
}

/** Why a token is refused; `skewed`: it is genuine, and the clocks of the two nodes are too far apart. */
export type TokenRefusal =
  | { readonly reason: "forged" | "other-node" | "other-request" }
  /** Seconds by which the caller's clock is ahead; negative: behind. */
  | { readonly reason: "skewed"; readonly aheadS: number };

/** Seconds that a token is valid, and that two clocks may be apart. */
export const LIFE_S = 60;
export const LEEWAY_S = 90;

/** Characters of an id: of a node it is logged, of a token remembered. */
const LONGEST_ID = 64;

const TYPE = "cairn-peer+jwt";
const ALGORITHM = "EdDSA";

export function makePeerToken(request: PeerRequest, caller: Caller, tokenId: string, now: Date): Promise<string> {
  const issuedAt = Math.floor(now.getTime() / 1000);
  return new SignJWT({ method: request.method, path: request.path })
    .setProtectedHeader({ alg: ALGORITHM, typ: TYPE })
    .setIssuer(caller.id)
    .setAudience(request.audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + LIFE_S)
    .setJti(tokenId)
    .sign(caller.privateKey);
}

/** Id of the node that the token says it comes from; null for what is no token of a peer. Nothing of it is checked yet. */
export function claimedIssuer(token: string): string | null {
  // Most tokens are a client's: those are told apart without a parser.
  if (!token.startsWith("ey")) return null;
  try {
    if (decodeProtectedHeader(token).typ !== TYPE) return null;
    const issuer: unknown = decodeJwt(token).iss;
    return typeof issuer === "string" && issuer.length <= LONGEST_ID ? issuer : null;
  } catch {
    return null;
  }
}

/** `issuer` is a genuine entry. */
export async function verifyPeerToken(
  token: string,
  issuer: Pick<NodeEntry, "id" | "public_key">,
  request: PeerRequest,
  now: Date,
): Promise<VerifiedToken | TokenRefusal> {
  const key = createPublicKey({ key: Buffer.from(issuer.public_key, "base64"), type: "spki", format: "der" });
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [ALGORITHM],
      typ: TYPE,
      issuer: issuer.id,
      audience: request.audience,
      clockTolerance: LEEWAY_S,
      // Also of a token that gives itself a longer life.
      maxTokenAge: LIFE_S,
      requiredClaims: ["jti", "exp", "method", "path"],
      currentDate: now,
    });
    const { jti, iat, method, path } = payload;
    if (typeof jti !== "string" || jti === "" || jti.length > LONGEST_ID || iat === undefined)
      return { reason: "forged" };
    if (method !== request.method || path !== request.path) return { reason: "other-request" };
    return { id: jti, usableUntil: iat + LIFE_S + LEEWAY_S };
  } catch (error) {
    return refusalOf(error, now);
  }
}

/** The signature is checked before the claims: what fails by a claim is genuine. */
function refusalOf(error: unknown, now: Date): TokenRefusal {
  if (!(error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired)) {
    if (error instanceof errors.JOSEError) return { reason: "forged" };
    throw error;
  }
  const { claim, reason, payload } = error;
  if (reason !== "check_failed") return { reason: "forged" };
  if (claim === "aud") return { reason: "other-node" };
  if ((claim !== "exp" && claim !== "iat") || payload.iat === undefined) return { reason: "forged" };
  return { reason: "skewed", aheadS: Math.round(payload.iat - now.getTime() / 1000) };
}
