import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_MEMBERS, type MeshRecord, type Revocation } from "../../../../runtime/contracts/membership.ts";
import { applied, type Mesh, merge } from "../../../../runtime/domain/mesh/merge.ts";
import { isGoodbye } from "../../../../runtime/domain/mesh/revocation.ts";
import { firstNode, meshOf } from "../../../support/meshes.ts";

const first = firstNode();
const second = first.admits("second");
const third = second.admits("third");
const fourth = third.admits("fourth");
const members = [first, second, third, fourth];
const OBSERVER = "0".repeat(32);

interface Received {
  readonly records: readonly MeshRecord[];
  readonly revocations: readonly Revocation[];
}

const received = (records: readonly MeshRecord[] = [], revocations: readonly Revocation[] = []): Received => ({
  records,
  revocations,
});

function heard(mesh: Mesh, ...messages: readonly Received[]): Mesh {
  return messages.reduce((contentsOf, message) => applied(contentsOf, merge(contentsOf, message, OBSERVER)), mesh);
}

/** Names and versions, without what holds them. */
const contentsOf = (mesh: Mesh) => [
  [...mesh.records.values()].map(({ entry }) => `${entry.name} ${entry.version}`).sort(),
  [...mesh.revocations.values()].map(({ node, signature }) => `${node} ${signature}`).sort(),
];

describe("merging what was told of a mesh", () => {
  it("keeps of each node the entry of the highest version, whatever came when", () => {
    const mesh = heard(meshOf(first), received([second.record(3)]), received([second.record(1), third.record(2)]));
    expect(contentsOf(mesh)[0]).toEqual(["second 3", "third 2"]);
    expect(merge(mesh, received([second.record(3), second.record(2)]), OBSERVER)).toMatchObject({
      records: [],
      refused: [],
    });
  });

  it("does not look at clocks: the version decides, not the time that an entry says", () => {
    const ahead = second.record(1, { made_at: "2027-01-01T00:10:00.000Z" });
    const behind = second.record(2, { made_at: "2026-01-01T00:00:00.000Z" });
    expect(heard(meshOf(first), received([ahead]), received([behind])).records.get(second.id)).toEqual(behind);
  });

  it("refuses an entry that its node has not signed, and one of a node that nobody has admitted", () => {
    const { entry, admission } = second.record(9);
    const forged = { entry: { ...entry, address: "https://evil.example" }, admission };
    const stranger = firstNode("stranger");
    const changes = merge(
      meshOf(first),
      received([forged, stranger.record(), stranger.admits("guest").record()]),
      OBSERVER,
    );
    expect(changes.records).toEqual([]);
    expect(changes.refused).toHaveLength(3);
  });

  it("keeps the countersignature that holds, when an entry is passed on without", () => {
    const mesh = heard(
      meshOf(first),
      received([second.record(1)]),
      received([{ entry: second.record(2).entry, admission: [] }]),
    );
    expect(mesh.records.get(second.id)).toEqual(second.record(2));
  });

  it("takes a revocation over any version, then and later", () => {
    const mesh = heard(meshOf(first), received([second.record(5), third.record(1)]));
    const revocation = first.revokes(second.id, mesh.records.values());
    const changes = merge(mesh, received([second.record(1_000)], [revocation]), OBSERVER);
    expect(changes).toMatchObject({ records: [], removed: [second.id], revocations: [revocation] });
    const after = heard(applied(mesh, changes), received([second.record(2_000)]));
    expect([...after.records.keys()]).toEqual([third.id]);
  });

  it("refuses a revocation that no member has made, and that of another mesh", () => {
    const stranger = firstNode("stranger");
    const mesh = meshOf(first, [second.record()]);
    const { keeps, ...rest } = third.revokes(second.id);
    const forgeries = [
      stranger.revokes(second.id),
      { ...stranger.revokes(second.id), root: first.id },
      { ...stranger.revokes(second.id), root: first.id, admission: third.admission },
      { ...rest, keeps: [...keeps, third.id] },
      { ...rest, keeps, node: third.id },
    ];
    for (const forgery of forgeries) expect(merge(mesh, received([], [forgery]), OBSERVER).revocations).toEqual([]);
  });

  it("lets a revoked node keep nobody whom it admits afterwards, by its own goodbye or by the word of such a one", () => {
    const mesh = heard(meshOf(first), received([second.record(), third.record()]));
    const revocation = first.revokes(second.id, mesh.records.values());
    const [planted, other] = [second.admits("planted"), second.admits("other")];
    const all = [third.record(), planted.record(), other.record()];
    for (const forger of [second, planted, third]) {
      const more = received([planted.record(), other.record()], [forger.revokes(second.id, all)]);
      for (const order of [
        [received([], [revocation]), more],
        [more, received([], [revocation])],
      ]) {
        const after = heard(mesh, ...order, more);
        expect(after.revocations.get(second.id)).toEqual(revocation);
        expect([...after.records.keys()]).toEqual([third.id]);
      }
    }
  });

  it("grows to so many members and revocations that a message can name all, and a member can be revoked then, too", () => {
    const [filler, late] = [first.admits("filler").record(), first.admits("late")];
    const some = Array.from({ length: MAX_MEMBERS - 1 }, (_, n) => n.toString(16).padStart(32, "0"));
    const full: Mesh = {
      root: first.id,
      records: new Map([...some.map((id) => [id, filler] as const), [second.id, second.record()]]),
      revocations: new Map([...some, "f".repeat(32)].map((id) => [id, first.revokes(id)])),
    };
    const changes = merge(
      full,
      received([late.record()], [first.revokes("e".repeat(32)), first.revokes(second.id)]),
      OBSERVER,
    );
    expect(changes).toMatchObject({ refused: [late.id], removed: [second.id] });
    expect(changes.revocations.map(({ node }) => node)).toEqual([second.id]);
    expect(merge(full, received([second.record(2)]), OBSERVER).records).toHaveLength(1);
  });

  it("lets a node leave, and keeps those for whom it has vouched", () => {
    const mesh = heard(meshOf(first), received([second.record(), third.record()]));
    const goodbye = second.revokes(second.id, mesh.records.values());
    expect(isGoodbye(goodbye)).toBe(true);
    expect(isGoodbye(first.revokes(second.id))).toBe(false);
    expect([...heard(mesh, received([], [goodbye])).records.keys()]).toEqual([third.id]);
  });

  it("tells a node of a higher version of itself, and takes nobody's word about it", () => {
    const mesh = meshOf(first, [second.record(2)]);
    const changes = merge(mesh, received([second.record(7)]), second.id);
    expect(changes).toMatchObject({ records: [], refused: [], ownVersion: 7 });
    const { entry, admission } = second.record(9);
    const forged = { entry: { ...entry, version: 99 }, admission };
    expect(merge(mesh, received([forged]), second.id)).toMatchObject({ ownVersion: null, refused: [second.id] });
  });

  it("comes to the same for two halves that changed concurrently, whatever they heard first and however often", () => {
    const records = members.flatMap((node) => [1, 2, 3].map((version) => node.record(version)));
    const all = records.filter(({ entry }) => entry.version === 1);
    const revocations = [
      first.revokes(second.id, all),
      third.revokes(second.id),
      fourth.revokes(third.id, all),
      second.revokes(fourth.id, all),
    ];
    const messages = [
      ...records.map((record) => received([record])),
      ...revocations.map((revocation) => received([], [revocation])),
    ];
    fc.assert(
      fc.property(
        fc.shuffledSubarray(messages, { minLength: 0 }),
        fc.shuffledSubarray(messages, { minLength: 0 }),
        fc.boolean(),
        (one, two, twice) => {
          const [a, b] = [heard(meshOf(first), ...one), heard(meshOf(first), ...two)];
          // They meet: each hears all that the other has; what was refused for want of something is heard again.
          const exchange = (mine: Mesh, others: Mesh, past: readonly Received[]) =>
            heard(mine, ...past, received([...others.records.values()], [...others.revocations.values()]), ...past);
          const [together, turned] = [exchange(a, b, [...one, ...two]), exchange(b, a, [...two, ...one])];
          expect(contentsOf(together)).toEqual(contentsOf(turned));
          if (twice) expect(contentsOf(heard(together, ...two, ...one))).toEqual(contentsOf(together));
        },
      ),
      { numRuns: 60 },
    );
  });
});
