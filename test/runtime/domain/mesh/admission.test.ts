import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  admit,
  isChainGenuine,
  isUnrevoked,
  MAX_CHAIN,
  rootOf,
  spkiOf,
  vouchedForBy,
} from "../../../../runtime/domain/mesh/admission.ts";
import { firstNode, nodeWith, type TestNode } from "../../../support/meshes.ts";

const first = firstNode();
const second = first.admits("second");
const third = second.admits("third");
const keyOf = (node: TestNode) => spkiOf(node.keys.publicKey);
const isMember = (node: TestNode, root = first.id) => isChainGenuine(keyOf(node), node.admission, root);

describe("a node", () => {
  it("is a member when members vouch for it, back to the first node of the mesh", () => {
    expect([first, second, third].map((node) => isMember(node))).toEqual([true, true, true]);
  });

  it("is none without a countersignature, with that of another node, or with one that was changed", () => {
    const stranger = firstNode("stranger");
    expect(isMember(stranger)).toBe(false);
    expect(isMember(nodeWith("thief", stranger.keys, second.admission))).toBe(false);
    expect(isMember(stranger.admits("its own"))).toBe(false);
    const [vouch] = second.admission;
    const forged = [{ public_key: keyOf(first), signature: Buffer.alloc(64).toString("base64") }];
    expect(isChainGenuine(keyOf(second), forged, first.id)).toBe(false);
    expect(isChainGenuine(keyOf(second), [{ public_key: "no key", signature: vouch?.signature ?? "" }], first.id)).toBe(
      false,
    );
  });

  it("of one mesh is no member of another, even where its issuer has moved there", () => {
    const other = firstNode("other");
    const moved = nodeWith("second", second.keys, admit(keyOf(second), other.keys, []));
    expect(isMember(moved, other.id)).toBe(true);
    const [vouch] = third.admission;
    const spliced = vouch === undefined ? [] : [vouch, ...moved.admission];
    expect(isChainGenuine(keyOf(third), spliced, other.id)).toBe(false);
  });

  it("is none at the end of a chain that is longer than any mesh makes", () => {
    let node = first;
    for (let length = 0; length < MAX_CHAIN; length += 1) node = node.admits(`${length}`);
    expect(isMember(node)).toBe(true);
    expect(isMember(node.admits("one more"))).toBe(false);
  });
});

describe("a revocation", () => {
  const records = [second, third].map((node) => node.record());

  it("keeps those for whom the revoked node had vouched, and those whom they admit later", () => {
    expect(vouchedForBy(second.id, records)).toEqual([third.id]);
    const revoked = new Map([[second.id, first.revokes(second.id, records)]]);
    expect(isUnrevoked(keyOf(second), second.admission, revoked)).toBe(false);
    expect(isUnrevoked(keyOf(third), third.admission, revoked)).toBe(true);
    const fourth = third.admits("fourth");
    expect(isUnrevoked(keyOf(fourth), fourth.admission, revoked)).toBe(true);
  });

  it("leaves the revoked key without use: whom it admits afterwards, or says to have admitted before, is no member", () => {
    const revoked = new Map([[second.id, first.revokes(second.id, records)]]);
    const late = second.admits("late");
    expect(isChainGenuine(keyOf(late), late.admission, first.id)).toBe(true);
    expect(isUnrevoked(keyOf(late), late.admission, revoked)).toBe(false);
    const later = late.admits("later");
    expect(isUnrevoked(keyOf(later), later.admission, revoked)).toBe(false);
  });

  it("of the first node of the mesh leaves the mesh as it is", () => {
    const revoked = new Map([[first.id, second.revokes(first.id, records)]]);
    expect(isUnrevoked(keyOf(first), [], revoked)).toBe(false);
    expect([second, third].map((node) => isUnrevoked(keyOf(node), node.admission, revoked))).toEqual([true, true]);
  });
});

it("takes no other kind of key for a vouch", () => {
  const ec = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const admission = admit(keyOf(second), ec, []);
  expect(isChainGenuine(keyOf(second), admission, rootOf(keyOf(second), admission))).toBe(false);
});
