/** Nodes with databases of their own, as they join, meet, lose each other and leave: over real stores, without a network. */

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { readJoinToken, writeJoinToken } from "../../../../runtime/contracts/join-token.ts";
import { describeDatabase, describeEachDatabase } from "../../../support/databases.ts";
import { type MeshNode, type MeshNodeOptions, TestNetwork } from "../../../support/mesh-nodes.ts";
import { firstNode } from "../../../support/meshes.ts";
import { entryOf } from "../../../support/node-entries.ts";

const never = new AbortController().signal;
const REFUSED = "The token for joining is not valid: it was used, its hour is over, or another mesh made it.";

async function emptied(database: Database): Promise<Database> {
  await database.query("truncate nodes, mesh, revocations, join_tokens, leases");
  return database;
}

describeEachDatabase("a join token", (open) => {
  let network: TestNetwork;
  let host: MeshNode;
  let database: Database;

  beforeEach(async () => {
    network = new TestNetwork();
    database = await emptied(await open());
    host = network.node("host", { database });
    await host.start();
  });

  it("lets one node in, who may repeat its request, and no other one afterwards", async () => {
    const token = await host.token();
    const [one, two] = [firstNode("one"), firstNode("two")];
    const admitted = await host.joining.admit({ token, entry: one.record().entry });
    expect(admitted).toMatchObject({ node_id: one.id, admission: [{}] });
    await expect(host.joining.admit({ token, entry: two.record().entry })).rejects.toThrow(REFUSED);
    expect((await host.joining.admit({ token, entry: one.record().entry })).admission).toEqual(admitted.admission);
    expect(await host.sees()).toEqual(["host* online", "one online"]);
  });

  it("lets in one of several nodes that come with it at the same moment", async () => {
    const token = await host.token();
    const nodes = Array.from({ length: 8 }, (_, index) => firstNode(`node-${index}`));
    const answers = await Promise.allSettled(
      nodes.map((node) => host.joining.admit({ token, entry: node.record().entry })),
    );
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await host.sees()).toHaveLength(2);
  });

  it("is refused after its hour, with another secret, and where another mesh made it", async () => {
    const token = await host.token();
    const entry = firstNode("one").record().entry;
    const read = readJoinToken(token);
    if (read === null) throw new Error("the token cannot be read");
    const other = writeJoinToken({ ...read, secret: "x".repeat(43) });
    await expect(host.joining.admit({ token: other, entry })).rejects.toThrow(REFUSED);
    await expect(host.joining.admit({ token: "cairn-join-x", entry })).rejects.toThrow(REFUSED);
    await database.query("update join_tokens set expires_at = now() - interval '1 second'");
    await expect(host.joining.admit({ token, entry })).rejects.toThrow(REFUSED);
    expect(JSON.stringify((await database.query("select * from join_tokens")).rows)).not.toContain(read.secret);
  });

  it("costs who has none of them one look, and tells nothing of the node", async () => {
    const read = readJoinToken(await host.token());
    if (read === null) throw new Error("the token cannot be read");
    const guess = writeJoinToken({ ...read, secret: "x".repeat(43) });
    const entry = firstNode("one").record().entry;
    const asked = vi.spyOn(database, "query");
    await expect(host.joining.admit({ token: guess, entry: { ...entry, name: "two" } })).rejects.toThrow(REFUSED);
    expect(asked).toHaveBeenCalledTimes(1);
    await database.query("insert into revocations (node, revocation) values ($1, $2::jsonb)", [
      host.id,
      JSON.stringify(firstNode().revokes(host.id)),
    ]);
    await expect(host.joining.admit({ token: guess, entry })).rejects.toThrow(REFUSED);
  });

  it("stays good after a refusal that is not its own fault", async () => {
    const token = await host.token();
    const node = firstNode("host");
    await expect(host.joining.admit({ token, entry: node.record().entry })).rejects.toThrow(
      "A node named host is a member",
    );
    const forged = { ...firstNode("one").record().entry, name: "two" };
    await expect(host.joining.admit({ token, entry: forged })).rejects.toThrow("not signed by the node");
    const named = entryOf(node.keys, { name: "renamed" });
    expect(await host.joining.admit({ token, entry: named })).toMatchObject({ node_id: node.id });
  });
});

describeDatabase("nodes with databases of their own", (open) => {
  let network: TestNetwork;
  const node = async (name: string, more: Partial<MeshNodeOptions> = {}): Promise<MeshNode> => {
    const made = network.node(name, { database: await open({ fresh: true }), ...more });
    await made.start();
    return made;
  };
  const all = async (...nodes: readonly MeshNode[]) => Promise.all(nodes.map((one) => one.sees()));
  /** Three of which the second has admitted the third. */
  const three = async (): Promise<readonly [MeshNode, MeshNode, MeshNode]> => {
    const [a, b, c] = [await node("a"), await node("b"), await node("c")];
    await b.join(await a.token());
    await c.join(await b.token());
    await network.rounds(2, a, b, c);
    return [a, b, c];
  };

  beforeEach(() => {
    network = new TestNetwork();
  });

  it("join by a token, and are then known to all, also to those that a third one has admitted", async () => {
    const [a, b] = [await node("a"), await node("b")];
    expect([await a.standing(), await b.standing()]).toEqual(["alone", "alone"]);
    expect(await b.join(await a.token())).toEqual(["a"]);
    const c = await node("c");
    expect(await c.join(await b.token())).toEqual(["a", "b"]);
    await network.rounds(2, a, b, c);
    expect(await all(a, b, c)).toEqual([
      ["a* online", "b online", "c online"],
      ["a online", "b* online", "c online"],
      ["a online", "b online", "c* online"],
    ]);
    expect(await a.standing()).toBe("member");
  });

  it("do not join where the host is somebody else, shows another certificate, or is a member already", async () => {
    const [a, b, other] = [await node("a"), await node("b"), await node("other")];
    const token = await a.token();
    await expect(b.joining.join(token, other.url, never)).rejects.toMatchObject({
      code: "RUNTIME_CERTIFICATE_REFUSED",
    });
    await expect(b.joining.join("cairn_abc", null, never)).rejects.toThrow("That is no token for joining");
    // Without TLS anybody on the way could read the token.
    await expect(b.joining.join(token, "http://a:7433", never)).rejects.toMatchObject({
      code: "RUNTIME_INVALID_REQUEST",
      message: "A node joins by https:// alone, not at http://a:7433.",
    });
    await b.join(token);
    await expect(b.join(await other.token())).rejects.toThrow("This node is in a mesh already, with a.");
    // Nothing has come of it but the one join.
    expect(await all(a, b, other)).toEqual([["a* online", "b online"], ["a online", "b* online"], ["other* online"]]);
  });

  it("are refused over a distance of versions that is not supported, with the range, and the token stays good", async () => {
    const a = await node("a");
    const token = await a.token();
    const far = firstNode("far");
    const refused = a.joining.admit({ token, entry: entryOf(far.keys, { name: "far", release: "0.4.0" }) });
    await expect(refused).rejects.toMatchObject({
      code: "RUNTIME_VERSION_SKEW",
      message: expect.stringContaining("0.3.x to 0.5.x"),
    });
    await a.joining.admit({ token, entry: entryOf(far.keys, { name: "far", release: "0.2.0" }) });
    expect(await a.sees()).toEqual(["a* online", "far online"]);
  });

  it("see one that is silent as suspect, then as offline, and again when it is back, whatever their clocks say", async () => {
    const a = await node("a");
    const b = await node("b", { aheadMs: 7 * 60_000 });
    await b.join(await a.token());
    await network.rounds(1, a, b);
    network.separate([a], [b]);
    await network.rounds(3, a);
    expect(await a.sees()).toEqual(["a* online", "b suspect"]);
    await network.rounds(3, a);
    expect(await a.sees()).toEqual(["a* online", "b offline"]);
    network.heal();
    await network.rounds(1, a, b);
    expect(await all(a, b)).toEqual([
      ["a* online", "b online"],
      ["a online", "b* online"],
    ]);
  });

  it("come to the same after two halves have changed concurrently", async () => {
    const [a, b, c] = await three();
    const d = await node("d");
    await d.join(await a.token());
    await network.rounds(2, a, b, c, d);
    network.separate([a, b], [c, d]);
    const e = await node("e");
    await e.join(await a.token());
    await a.publish({ agents: ["new"] });
    const f = await node("f");
    await f.join(await d.token());
    await c.leaving.revoke("b", never);
    await network.rounds(7, a, b, c, d, e, f);
    expect((await a.sees()).join()).toContain("b online");
    network.heal();
    await network.rounds(4, a, b, c, d, e, f);
    const records = async (one: MeshNode) => {
      const { mesh } = await one.view.refresh();
      return [
        [...mesh.records.values()].map(({ entry }) => `${entry.name} ${entry.version}`).sort(),
        [...mesh.revocations.keys()],
      ];
    };
    const before = await records(a);
    expect(before[0]?.map((line) => line.split(" ")[0])).toEqual(["a", "c", "d", "e", "f"]);
    for (const one of [c, d, e, f]) expect(await records(one)).toEqual(before);
    expect(await b.standing()).toBe("revoked");
  });

  it("find each other again by seeds, when none is known to live, and pass by a seed that is away or somebody else", async () => {
    const warned: object[] = [];
    const stranger = await node("stranger");
    const a = await node("a");
    const b = await node("b", {
      seeds: [a.url, stranger.url, "https://nowhere:7433"],
      logger: {
        debug() {},
        info() {},
        error() {},
        warn: (fields) => void warned.push(fields),
        child: () => a as never,
      },
    });
    await b.join(await a.token());
    await network.rounds(30, a, b);
    expect(await b.sees()).toEqual(["a online", "b* online"]);
    expect(await stranger.sees()).toEqual(["stranger* online"]);
    expect(warned).toHaveLength(2);
    expect(warned).toContainEqual({ seed: stranger.url, reason: "its certificate is that of no member" });
  });

  it("call a member where the local network says it is only when its certificate shows that it is the one", async () => {
    const a = await node("a");
    const b = await node("b", { foundAt: () => "https://planted:7433" });
    await b.join(await a.token());
    await a.publish({ address: null });
    await a.beat();
    await b.answerTo(a.id, await a.answerTo(b.id, { digest: [], revoked: [], records: [], revocations: [] }));
    network.calls.length = 0;
    await network.rounds(1, b);
    expect(network.calls).toEqual(["https://planted:7433"]);
    await a.publish({ address: null, certificate_sha256: null });
    await a.view.refresh();
    await b.answerTo(a.id, await a.answerTo(b.id, { digest: [], revoked: [], records: [], revocations: [] }));
    network.calls.length = 0;
    await network.rounds(3, b);
    expect(network.calls).toEqual([]);
  });

  it("take nothing from a node that is no member, and nothing forged or older from one that is", async () => {
    const [a, b] = await three();
    const stranger = await node("stranger");
    await expect(a.answerTo(stranger.id, { digest: [], revoked: [], records: [], revocations: [] })).rejects.toThrow(
      "No node with the id",
    );
    const before = await a.sees();
    const record = (await b.view.current()).mesh.records.get(b.id);
    if (record === undefined) throw new Error("b is no member");
    const { entry, admission } = record;
    const notified = {
      digest: [],
      revoked: [],
      revocations: [firstNode().revokes(b.id)],
      records: [
        { entry: { ...entry, version: entry.version + 5, status: "stopped" as const }, admission },
        { entry: { ...entry, version: entry.version - 1 }, admission },
        firstNode("guest").record(),
      ],
    };
    await a.answerTo(b.id, notified);
    expect(await a.sees()).toEqual(before);
  });

  it("believe nobody about the heartbeats of a version that its node has not signed", async () => {
    const [a, b, c] = await three();
    const version = (await a.view.current()).mesh.records.get(c.id)?.entry.version ?? 0;
    await a.answerTo(b.id, { digest: [[c.id, version + 1_000, 1]], revoked: [], records: [], revocations: [] });
    await network.rounds(7, a, b, c);
    expect(await a.sees()).toEqual(["a* online", "b online", "c online"]);
  });

  it("take up their own version when they were restored from a copy", async () => {
    const a = await node("a");
    const database = await open({ fresh: true });
    const b = await node("b", { database });
    await b.join(await a.token());
    await b.publish({ agents: ["later"] });
    await network.rounds(2, a, b);
    const version = async (one: MeshNode) => (await one.view.refresh()).mesh.records.get(b.id)?.entry.version ?? 0;
    const before = await version(a);
    await database.query("update nodes set version = 1, entry = $2::jsonb where id = $1", [
      b.id,
      JSON.stringify(entryOf(b.keys, { name: "b", version: 1 })),
    ]);
    await network.rounds(2, b, a);
    expect([await version(b), await version(a)]).toEqual([before + 1, before + 1]);
    // And a beat under its own version that it has not made.
    await b.answerTo(a.id, { digest: [[b.id, before + 1, 1_000]], revoked: [], records: [], revocations: [] });
    await network.rounds(1, b, a);
    expect(await version(a)).toBe(before + 2);
    // Once a round: who goes on saying so does not keep it writing.
    for (let n = 0; n < 5; n++) {
      const here = await version(b);
      await b.answerTo(a.id, { digest: [[b.id, here, 1_000]], revoked: [], records: [], revocations: [] });
    }
    expect(await version(b)).toBe(before + 3);
  });

  describe("revocation", () => {
    it("is known to all, beats every version, survives restarts, and leaves whom the node had admitted", async () => {
      const [a, b, c] = await three();
      expect(await a.leaving.revoke("b", never)).toMatchObject({ id: b.id, name: "b", notified: 2, admitted: ["c"] });
      expect(await b.standing()).toBe("revoked");
      expect(await c.sees()).toEqual(["a online", "c* online"]);
      await b.publish({}, 1_000_000);
      await expect(c.answerTo(b.id, { digest: [], revoked: [], records: [], revocations: [] })).rejects.toThrow(
        "No node with the id",
      );
      await network.rounds(2, a, b, c);
      for (const one of [a, c]) await one.start();
      await network.rounds(2, a, b, c);
      expect(await all(a, c)).toEqual([
        ["a* online", "c online"],
        ["a online", "c* online"],
      ]);
    });

    it("of a node that was off is shown to it by those who refuse it", async () => {
      const [a, b, c] = await three();
      network.separate([b], [a, c]);
      await a.leaving.revoke(b.id, never);
      network.heal();
      expect(await b.standing()).toBe("member");
      await network.rounds(1, b);
      expect(await b.standing()).toBe("revoked");
    });

    it("leaves its key without use: it admits nobody any more", async () => {
      const [a, b, c] = await three();
      const token = await b.token();
      network.separate([b], [a, c]);
      await a.leaving.revoke("b", never);
      const late = await node("late");
      expect(await late.join(token)).toEqual(["a", "b", "c"]);
      network.heal();
      await network.rounds(3, a, c, late);
      expect(await all(a, c)).toEqual([
        ["a* online", "c online"],
        ["a online", "c* online"],
      ]);
      await network.rounds(1, b);
      await expect(b.token()).rejects.toThrow("This node may admit nobody: it is revoked.");
      await expect(b.join(await a.token())).rejects.toThrow("its key is no member's again");
    });

    it("names a node by id or name, and neither itself nor one that nobody knows", async () => {
      const [a, b] = await three();
      await expect(a.leaving.revoke("a", never)).rejects.toThrow("A node does not revoke itself.");
      await expect(a.leaving.revoke("nobody", never)).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
      expect(await a.leaving.revoke("f".repeat(32), never)).toMatchObject({ name: null });
      expect(await a.leaving.revoke(b.id, never)).toMatchObject({ name: "b" });
      // Again: the same one.
      expect(await a.leaving.revoke(b.id, never)).toMatchObject({ id: b.id, name: null });
    });
  });

  describe("leaving", () => {
    it("removes the node everywhere, and leaves whom it had admitted", async () => {
      const [a, b, c] = await three();
      expect(await b.leaving.leave({ force: false }, never)).toMatchObject({ id: b.id, notified: 2 });
      expect(await all(a, c)).toEqual([
        ["a* online", "c online"],
        ["a online", "c* online"],
      ]);
      expect(await b.standing()).toBe("left");
      expect(await b.sees()).toEqual([]);
      await network.rounds(2, a, b, c);
      expect(await a.sees()).toEqual(["a* online", "c online"]);
    });

    it("changes nothing where nobody can be told, unless it is forced", async () => {
      const [a, b, c] = await three();
      network.separate([b], [a, c]);
      await expect(b.leaving.leave({ force: false }, never)).rejects.toThrow("nothing was changed");
      expect(await b.standing()).toBe("member");
      expect(await b.leaving.leave({ force: true }, never)).toMatchObject({ notified: 0 });
      expect(await b.standing()).toBe("left");
    });

    it("is refused where others share the database", async () => {
      const database = await open({ fresh: true });
      const [a, b] = [network.node("a", { database }), network.node("b", { database })];
      await a.start();
      await b.start();
      await expect(b.leaving.leave({ force: true }, never)).rejects.toThrow("This node shares its database with a");
    });
  });

  it("that share a database are admitted by registering there, and pass with it into another mesh", async () => {
    const shared = await open({ fresh: true });
    const [a, b] = [network.node("a", { database: shared }), network.node("b", { database: shared })];
    await a.start();
    await b.start();
    expect(await b.standing()).toBe("waiting");
    await expect(b.token()).rejects.toThrow("not countersigned yet");
    await network.rounds(1, a);
    expect(await b.standing()).toBe("member");
    const c = await node("c");
    expect(await c.join(await b.token())).toEqual(["a", "b"]);
    await network.rounds(2, a, b, c);
    expect(await all(a, c)).toEqual([
      ["a* online", "b online", "c online"],
      ["a online", "b online", "c* online"],
    ]);
    await a.leaving.revoke("b", never);
    expect(await b.standing()).toBe("revoked");
    await network.rounds(2, a, c);
    expect(await c.sees()).toEqual(["a online", "c* online"]);
  });

  it("forget one of which nothing was heard for a month, and are not told of it again", async () => {
    const [a, b, c] = await three();
    network.separate([b], [a, c]);
    for (let week = 0; week < 5; week += 1) {
      network.now += 7 * 24 * 3_600_000;
      await a.publish();
      await c.publish();
      await network.rounds(2, a, c);
    }
    expect(await a.sees()).toEqual(["a* online", "c online"]);
    await a.registry.prune();
    await network.rounds(2, a, c);
    expect(await a.sees()).toEqual(["a* online", "c online"]);
    // It has forgotten them as well; its key is as good as before.
    network.heal();
    await network.rounds(1, b);
    expect(await b.standing()).toBe("alone");
    await b.publish();
    expect(await b.join(await a.token())).toEqual(["a", "c"]);
    expect(await a.sees()).toEqual(["a* online", "b online", "c online"]);
  });
});
