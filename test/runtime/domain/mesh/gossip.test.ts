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
const MUCH = { records: 100, bytes: 1_000_000 };

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
    const missing = missingAt(digestOf(there, noBeats), here, MUCH, () => 0);
    expect(missing.records.map(({ entry }) => entry.name)).toEqual(["second", "third"]);
    expect(missing.revocations).toHaveLength(1);
    expect(isBehind(digestOf(here, noBeats), there)).toBe(true);
    const after = applied(there, merge(there, missing, "0".repeat(32)));
    expect(missingAt(digestOf(after, noBeats), here, MUCH, () => 0)).toEqual({ records: [], revocations: [] });
    expect(isBehind(digestOf(here, noBeats), after)).toBe(false);
  });

  it("tells so many at once, and the rest in later rounds, whatever the other side refuses of it", () => {
    const here = meshOf(first, [second.record(), third.record()]);
    const included = (random: number) =>
      missingAt({ digest: [], revoked: [] }, here, { ...MUCH, records: 1 }, () => random).records;
    expect([included(0), included(0.9)]).toEqual([[second.record()], [third.record()]]);
  });

  it("tells no more bytes at once than a node takes, and revocations first", () => {
    const large = Array.from({ length: 200 }, (_, index) => `agent-${index}-${"x".repeat(60)}`);
    const nodes = Array.from({ length: 60 }, (_, index) => first.admits(`node-${index}`).record(1, { agents: large }));
    const here = meshOf(first, nodes, [first.revokes("f".repeat(32))]);
    const missing = missingAt({ digest: [], revoked: [] }, here, { records: 200, bytes: 100_000 }, () => 0);
    expect(missing.revocations).toHaveLength(1);
    expect(JSON.stringify(missing).length).toBeLessThan(120_000);
    expect(missing.records.length).toBeGreaterThan(4);
    const least = missingAt({ digest: [], revoked: [] }, here, { records: 200, bytes: 1 }, () => 0);
    expect(least.revocations.length + least.records.length).toBe(1);
  });
});
