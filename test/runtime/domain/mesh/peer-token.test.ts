import { generateKeyPairSync } from "node:crypto";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { claimedIssuer, makePeerToken, verifyPeerToken } from "../../../../runtime/domain/mesh/peer-token.ts";
import { entryOf } from "../../../support/node-entries.ts";

const keys = generateKeyPairSync("ed25519");
const entry = entryOf(keys);
const caller = { id: entry.id, privateKey: keys.privateKey };
const other = generateKeyPairSync("ed25519");
const NOW = new Date("2026-11-26T12:00:00Z");
const request = { audience: "called", method: "POST", path: "/api/mesh/x?y=1" };

const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);
const made = (now = NOW) => makePeerToken(request, caller, "token-1", now);
const verified = async (token: string, expected = request, now = NOW) => verifyPeerToken(token, entry, expected, now);

describe("a peer's token", () => {
  it("says who made it, and is good for the request that it was made for", async () => {
    const token = await made();
    expect(claimedIssuer(token)).toBe(entry.id);
    expect(await verified(token)).toEqual({ id: "token-1", usableUntil: NOW.getTime() / 1000 + 150 });
  });

  it.each([
    ["another node", { ...request, audience: "somebody else" }, "other-node"],
    ["another method", { ...request, method: "GET" }, "other-request"],
    ["another path", { ...request, path: "/api/mesh/z?y=1" }, "other-request"],
    ["another query", { ...request, path: "/api/mesh/x?y=2" }, "other-request"],
  ])("is good for no request to %s", async (_what, expected, reason) => {
    expect(await verified(await made(), expected)).toEqual({ reason });
  });

  it.each([-60, 0, 60])("is accepted by a clock that is %i s apart", async (seconds) => {
    expect(await verified(await made(), request, later(seconds))).toMatchObject({ id: "token-1" });
  });

  it.each([
    [300, -300],
    [-300, 300],
  ])("is refused by a clock that is %i s apart, and how far is told", async (seconds, aheadS) => {
    expect(await verified(await made(), request, later(seconds))).toEqual({ reason: "skewed", aheadS });
  });

  it("does not live longer for saying so", async () => {
    const token = await signed({ exp: NOW.getTime() / 1000 + 86_400 });
    expect(await verified(token, request, later(140))).toMatchObject({ id: "token-2" });
    expect(await verified(token, request, later(160))).toEqual({ reason: "skewed", aheadS: -160 });
  });

  it("is forged by any other key, algorithm or kind, and without what it must say", async () => {
    const token = await made();
    const [head = "", body = "", signature = ""] = token.split(".");
    const changed = Buffer.from(body, "base64url").toString().replace("called", "caller");
    const none = Buffer.from(JSON.stringify({ alg: "none", typ: "cairn-peer+jwt" })).toString("base64url");
    const publicKey = Buffer.from(entry.public_key, "base64");
    const forged = [
      await makePeerToken(request, { ...caller, privateKey: other.privateKey }, "token-1", NOW),
      `${head}.${Buffer.from(changed).toString("base64url")}.${signature}`,
      `${none}.${body}.`,
      await signed({}, { key: publicKey, alg: "HS256" }),
      await signed({}, { typ: "JWT" }),
      await signed({ jti: undefined }),
      await signed({ iat: undefined }),
      await signed({ exp: undefined }),
      await signed({ iss: "somebody" }),
      await signed({ jti: "x".repeat(65) }),
      await signed({ jti: "" }),
    ];
    for (const each of forged) expect(await verified(each), each).toEqual({ reason: "forged" });
  });

  it("is not seen in tokens of clients", async () => {
    for (const token of [
      "",
      "eyes",
      "cairn_abc",
      "ey.J.x",
      await signed({}, { typ: "JWT" }),
      await signed({ iss: "x".repeat(65) }),
    ]) {
      expect(claimedIssuer(token)).toBeNull();
    }
  });
});

function signed(
  claims: object,
  { key = keys.privateKey as Parameters<SignJWT["sign"]>[0], alg = "EdDSA", typ = "cairn-peer+jwt" } = {},
) {
  const iat = NOW.getTime() / 1000;
  const usual = {
    iss: entry.id,
    aud: "called",
    iat,
    exp: iat + 60,
    jti: "token-2",
    method: "POST",
    path: request.path,
  };
  return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg, typ }).sign(key);
}
