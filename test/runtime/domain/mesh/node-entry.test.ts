import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { NodeEntry } from "../../../../runtime/contracts/node-entry.ts";
import {
  FORGET_MS,
  isForgotten,
  isGenuine,
  memberState,
  remoteState,
} from "../../../../runtime/domain/mesh/node-entry.ts";
import { entryOf } from "../../../support/node-entries.ts";

const keys = generateKeyPairSync("ed25519");

describe("an entry of the registry", () => {
  it("is genuine as its node made it, whatever the order in which a store returns its fields", () => {
    const entry = entryOf(keys, { agents: ["b", "a"], address: "https://box:7433" });
    expect(isGenuine(entry)).toBe(true);
    expect(isGenuine(Object.fromEntries(Object.entries(entry).reverse()) as unknown as NodeEntry)).toBe(true);
  });

  it("is genuine no more once anything of it is changed", () => {
    const entry = entryOf(keys);
    const other = entryOf(generateKeyPairSync("ed25519"));
    const fields = Object.keys(entry) as (keyof NodeEntry)[];
    fc.assert(
      fc.property(fc.constantFrom(...fields), fc.jsonValue(), (field, value) => {
        fc.pre(JSON.stringify(value) !== JSON.stringify(entry[field]));
        expect(isGenuine({ ...entry, [field]: value } as NodeEntry)).toBe(false);
      }),
    );
    for (const field of ["id", "public_key", "signature"] as const) {
      expect(isGenuine({ ...entry, [field]: other[field] }), field).toBe(false);
    }
    expect(isGenuine({ ...entry, extra: 1 } as NodeEntry)).toBe(false);
  });

  it("takes no other kind of key", () => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
    const der = publicKey.export({ type: "spki", format: "der" }).toString("base64");
    expect(isGenuine({ ...entryOf(keys), public_key: der })).toBe(false);
    expect(isGenuine({ ...entryOf(keys), public_key: "no key" })).toBe(false);
  });
});

it.each([
  ["online", true, "online"],
  ["online", false, "offline"],
  ["draining", true, "draining"],
  ["draining", false, "offline"],
  ["stopped", false, "stopped"],
  // It has started again, and has not said so yet.
  ["stopped", true, "online"],
] as const)("a node that said %s and lives: %s, is %s", (status, alive, state) => {
  expect(memberState({ status }, alive)).toBe(state);
});

it.each([
  ["online", "alive", "online"],
  ["draining", "alive", "draining"],
  ["online", "suspect", "suspect"],
  ["draining", "offline", "offline"],
  ["stopped", "alive", "stopped"],
  ["stopped", "offline", "stopped"],
] as const)("a node of another database that said %s and is %s by its heartbeat, is %s", (status, liveness, state) => {
  expect(remoteState({ status }, liveness)).toBe(state);
});

it("a node is forgotten when its entry is a month old, and when it says no time, or one far ahead", () => {
  const now = new Date("2026-06-01T00:00:00Z");
  const madeAgo = (ms: number) => ({ made_at: new Date(now.getTime() - ms).toISOString() });
  expect(isForgotten(madeAgo(FORGET_MS - 1), now)).toBe(false);
  expect(isForgotten(madeAgo(FORGET_MS), now)).toBe(true);
  expect(isForgotten(madeAgo(-600_000), now)).toBe(false);
  expect(isForgotten({ made_at: "some day" }, now)).toBe(true);
  expect(isForgotten({ made_at: "+020000-01-01T00:00:00.000Z" }, now)).toBe(true);
});
