import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseMembers, digestOf, fanout, isBehind, missingAt } from "../../../../runtime/domain/mesh/gossip.ts";
import type { Liveness } from "../../../../runtime/domain/mesh/liveness.ts";
import { applied, merge } from "../../../../runtime/domain/mesh/merge.ts";
import { firstNode, meshOf } from "../../../support/meshes.ts";

const first = firstNode();
const second = first.admits("second");
const third = first.admits("third");
const noBeats = () => 0;

describe("a round", () => {
  it("goes to all of a small mesh, and to a few of a large one", () => {
    expect([0, 1, 4, 8, 100, 500].map(fanout)).toEqual([0, 1, 4, 4, 6, 7]);
  });

  it("chooses each member once, those that live, and one that is silent", () => {
    const liveness = fc.constantFrom<Liveness>("alive", "suspect", "offline");
    fc.assert(
      fc.property(
        fc.array(liveness, { maxLength: 60 }),
        fc.infiniteStream(fc.double({ min: 0, max: 0.999 })),
        (states, random) => {
          const candidates = states.map((state, index) => ({ id: String(index), liveness: state }));
          const chosen = chooseMembers(candidates, () => random.next().value ?? 0);
          const unheard = chosen.filter((id) => states[Number(id)] === "offline").length;
          const others = states.filter((state) => state !== "offline").length;
          expect(new Set(chosen).size).toBe(chosen.length);
          expect(unheard).toBe(others < states.length ? 1 : 0);
          expect(chosen.length - unheard).toBe(fanout(others));
        },
      ),
    );
  });
});

describe("an exchange", () => {
  it("tells what the other side does not have, and afterwards nothing more", () => {
    const here = meshOf(first, [second.record(3), third.record(1)], [first.revokes("f".repeat(32))]);
    const there = meshOf(first, [second.record(1)]);
    const missing = missingAt(digestOf(there, noBeats), here, 100);
    expect(missing.records.map(({ entry }) => entry.name)).toEqual(["second", "third"]);
    expect(missing.revocations).toHaveLength(1);
    expect(isBehind(digestOf(here, noBeats), there)).toBe(true);
    const after = applied(there, merge(there, missing, "0".repeat(32)));
    expect(missingAt(digestOf(after, noBeats), here, 100)).toEqual({ records: [], revocations: [] });
    expect(isBehind(digestOf(here, noBeats), after)).toBe(false);
  });

  it("tells so many at once, and the rest in later rounds", () => {
    const here = meshOf(first, [second.record(), third.record()]);
    expect(missingAt({ digest: [], revoked: [] }, here, 1).records).toHaveLength(1);
  });
});
