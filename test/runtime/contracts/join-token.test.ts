import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJoinToken, secretHash, writeJoinToken } from "../../../runtime/contracts/join-token.ts";

const token = {
  url: "https://nova.example.org:7433",
  node: "0123456789abcdef0123456789abcdef",
  pins: [Array.from({ length: 32 }, () => "AB").join(":")],
  expires_at: "2026-01-01T00:00:00.000Z",
  secret: "s".repeat(43),
};

describe("a token for joining", () => {
  it("says where, whom to trust there and a secret, on one line without a space", () => {
    const text = writeJoinToken(token);
    expect(text).toMatch(/^cairn-join-[\w-]+$/);
    expect(readJoinToken(`  ${text}\n`)).toEqual(token);
  });

  it("is refused when it is cut off, or anything else", () => {
    const text = writeJoinToken(token);
    for (const other of ["", "cairn_x", text.slice(0, -3), text.slice(1), `cairn-join-${"A".repeat(5_000)}`])
      expect(readJoinToken(other)).toBeNull();
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const body = Buffer.from(JSON.stringify(value)).toString("base64url");
        expect(readJoinToken(`cairn-join-${body}`)).toBeNull();
      }),
    );
  });

  it("is refused without TLS, without a pin, and with what it does not know", () => {
    const others = [{ url: "http://nova:7433" }, { pins: [] }, { pins: ["AB"] }, { node: "nova" }, { more: 1 }];
    for (const other of others) expect(readJoinToken(writeJoinToken({ ...token, ...other }))).toBeNull();
  });

  it("is stored without its secret", () => {
    expect(secretHash(token.secret)).toMatch(/^[0-9a-f]{64}$/);
    expect(secretHash(token.secret)).not.toContain(token.secret.slice(0, 8));
  });
});
