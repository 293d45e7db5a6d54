/** The summary tree over a real store and a model behind the real SDK: what is due, what is stored, in which tree. */

import { expect, it } from "vitest";
import { type Claim, claim, markDue } from "../../../../runtime/app/compaction/work.ts";
import { DUE_RULES } from "../../../../runtime/domain/summaries/steps.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import { clockAt, memoryOf, said, write, writerOf } from "../../../support/memory.ts";
import { embedderOf, fakeEncoder } from "../embedding/support.ts";
import { compactorOf, counted, fakeModel, never, summariesOf, talk, workOf } from "./support.ts";

const numbered = (topic: string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => `${topic} ${from + n}`);

describeEachDatabase("compaction", (open) => {
  it("makes a leaf of ten messages: links in order, span, count and model", async () => {
    const database = await open();
    const writer = writerOf(database);
    const entries = numbered("harbour", 1, 10).map((text, n) =>
      said(text, { createdAt: new Date(Date.UTC(2026, 4, 1, 10, n)).toISOString() }),
    );
    const { conversationId: id } = await write(writer, "harbour", entries);
    const compactor = compactorOf(database, await fakeModel());
    expect(await compactor.run(never)).toEqual({
      stored: { leaf: 1, branch: 0, root: 0 },
      failed: 0,
      unavailable: null,
    });
    const [leaf, ...others] = await summariesOf(database, id);
    expect(others).toEqual([]);
    expect(leaf).toMatchObject({ kind: "leaf", depth: 0, parent_id: null, message_count: 10, model: "writer" });
    expect(leaf?.earliest_at.toISOString()).toBe("2026-05-01T10:00:00.000Z");
    expect(leaf?.latest_at.toISOString()).toBe("2026-05-01T10:09:00.000Z");
    expect(leaf?.sources).toEqual(numbered("harbour", 1, 10));
    expect(leaf?.content).toContain("harbour 7");
    expect(await workOf(database, id)).toMatchObject({ due: false, claimed: false, attempts: 0 });
    expect(await compactor.run(never)).toMatchObject({ stored: { leaf: 0 } });
  });

  const MINUTE = 60_000;
  it.each<
    [
      string,
      { readonly messages: number; readonly idleMs: number; readonly finalize?: boolean; readonly closed?: boolean },
      number,
    ]
  >([
    ["9 messages a moment ago", { messages: 9, idleMs: 0 }, 0],
    ["5 messages 16 minutes ago", { messages: 5, idleMs: 16 * MINUTE }, 1],
    ["4 messages 16 minutes ago", { messages: 4, idleMs: 16 * MINUTE }, 0],
    ["2 messages 4 days ago", { messages: 2, idleMs: 4 * 1_440 * MINUTE + MINUTE }, 1],
    ["1 message a year ago", { messages: 1, idleMs: 365 * 1_440 * MINUTE }, 0],
    ["1 message and marked ready", { messages: 1, idleMs: 0, finalize: true }, 1],
    ["2 messages and closed", { messages: 2, idleMs: 0, closed: true }, 1],
  ])(
    "with %s in it, a conversation gets %o: %i leaves",
    async (name, { messages, idleMs, finalize = false, closed = false }, leaves) => {
      const database = await open();
      const then = new Date(Date.now() - idleMs).toISOString();
      const entries = numbered(name, 1, messages).map((text) => said(text));
      const { conversationId: id } = await write(writerOf(database, { clock: clockAt(then) }), name, entries, {
        finalize,
      });
      if (closed) await database.query("update conversations set active = false where id = $1", [id]);
      await compactorOf(database, await fakeModel()).run(never);
      expect(await summariesOf(database, id)).toHaveLength(leaves);
    },
  );

  it("waits again once something was said after a conversation was marked ready", async () => {
    const database = await open();
    const early = writerOf(database, { clock: clockAt(new Date(Date.now() - MINUTE).toISOString()) });
    const { conversationId: id } = await write(early, "reopened", [said("a"), said("b")], { finalize: true });
    await write(writerOf(database), "reopened", [said("c")]);
    await compactorOf(database, await fakeModel()).run(never);
    expect(await summariesOf(database, id)).toEqual([]);
  });

  it("grows a tree: five leaves get a branch, three branches a root, each under the one above it", async () => {
    const database = await open();
    const compactor = compactorOf(database, await fakeModel());
    let id = "";
    for (let n = 0; n < 16; n += 1) {
      id = await talk(database, "tree", 10, `topic ${n}:`);
      await compactor.run(never);
    }
    const tree = await summariesOf(database, id);
    const of = (kind: string) => tree.filter((one) => one.kind === kind);
    const [root] = of("root");
    expect(
      tree
        .map(({ kind }) => kind)
        .join(" ")
        .replaceAll("leaf leaf leaf leaf leaf", "5"),
    ).toBe("5 branch 5 branch 5 branch root leaf");
    expect(root).toMatchObject({ depth: 2, parent_id: null, message_count: 150, sources: [] });
    for (const branch of of("branch")) {
      expect(branch).toMatchObject({ depth: 1, parent_id: root?.id, message_count: 50, sources: [] });
      expect(of("leaf").filter(({ parent_id }) => parent_id === branch.id)).toHaveLength(5);
    }
    const last = of("leaf").at(-1);
    expect(last?.parent_id).toBe(of("leaf").at(-2)?.id);
    expect(root?.earliest_at).toEqual(tree[0]?.earliest_at);
    expect(root?.latest_at).toEqual(of("branch").at(-1)?.latest_at);
    expect(await counted(database, id)).toEqual({ twice: 0, never: 0, once: 160 });
  });

  it("links a summary to the latest one before it, until a branch absorbs both", async () => {
    const database = await open();
    const compactor = compactorOf(database, await fakeModel());
    await talk(database, "chain", 10, "one");
    await compactor.run(never);
    const id = await talk(database, "chain", 10, "two");
    await compactor.run(never);
    const [first, second] = await summariesOf(database, id);
    expect(first?.parent_id).toBeNull();
    expect(second?.parent_id).toBe(first?.id);
  });

  it("works a backlog off in whole messages, oldest first, and in branches of eight leaves", async () => {
    const database = await open();
    const long = "The ferry leaves when the ice is gone, and not a day before that. ".repeat(30);
    const entries = Array.from({ length: 180 }, (_, n) => said(`${n}: ${long} end of ${n}`));
    const { conversationId: id } = await write(writerOf(database), "backlog", entries);
    const fake = await fakeModel();
    await compactorOf(database, fake, { window: 16_000 }).run(never);
    const tree = await summariesOf(database, id);
    const leaves = tree.filter(({ kind }) => kind === "leaf");
    const branches = tree.filter(({ kind }) => kind === "branch");
    expect(leaves.length).toBeGreaterThan(8);
    expect(leaves.flatMap(({ sources }) => sources)).toEqual(entries.map(({ content }) => content));
    expect(leaves.filter(({ parent_id }) => parent_id === branches[0]?.id)).toHaveLength(8);
    // Every message reached the model whole, to its last word.
    const shown = fake.requests.map(({ lastUser }) => lastUser).join("\n");
    for (const { content } of entries) expect(shown).toContain(content);
  });

  it("starts where hand-made summaries end, once the store knows nothing of its work", async () => {
    const database = await open();
    const id = await talk(database, "restored", 30, "before");
    const compactor = compactorOf(database, await fakeModel());
    await compactor.run(never);
    await database.query("delete from compaction_work where conversation_id = $1", [id]);
    expect(await compactor.run(never)).toMatchObject({ stored: { leaf: 0 }, failed: 0 });
    await talk(database, "restored", 10, "after");
    await compactor.run(never);
    expect((await summariesOf(database, id)).map(({ message_count }) => message_count)).toEqual([30, 10]);
    expect(await counted(database, id)).toEqual({ twice: 0, never: 0, once: 40 });
  });

  it("lets searches find a summary and open it down to its messages", async () => {
    const database = await open();
    const compactor = compactorOf(database, await fakeModel());
    for (let n = 0; n < 5; n += 1) {
      await talk(database, "expansion", 10, n === 3 ? "lighthouse keeper" : `weather ${n}`);
      await compactor.run(never);
    }
    const memory = memoryOf(database);
    const results = await memory.search("lighthouse keeper", { scope: "summaries", limit: 10 });
    const branch = results.find(({ depth }) => depth === 1);
    const leaf = results.find(({ depth }) => depth === 0);
    expect(branch?.children?.map(({ depth }) => depth)).toEqual([0, 0, 0, 0, 0]);
    expect(branch?.children?.map(({ id }) => id)).toContain(leaf?.id);
    expect(leaf?.sources?.map(({ content }) => content)).toEqual(numbered("lighthouse keeper", 1, 10));
  });

  it("has its summaries embedded: each of them is new to the embedder", async () => {
    const database = await open();
    let stored = 0;
    const compactor = compactorOf(database, await fakeModel(), {
      onStored: () => {
        stored += 1;
      },
    });
    const id = await talk(database, "embedded", 10);
    await compactor.run(never);
    const encoder = await fakeEncoder();
    await embedderOf(database, encoder).run(never);
    const [leaf] = await summariesOf(database, id);
    expect(stored).toBe(1);
    expect(encoder.encoded).toContain(leaf?.content);
  });

  it("looks at every conversation, however many there are, and claims the one that is due longest", async () => {
    const database = await open({ fresh: true });
    await database.query(
      `insert into conversations (id, session_key, agent, channel)
       select gen_random_uuid(), 'quiet/' || n, 'main', 'agent' from generate_series(1, 1200) as n`,
    );
    const ids = [
      await talk(database, "due/1", 10),
      await talk(database, "due/2", 10),
      await talk(database, "due/3", 9),
    ];
    expect(await markDue(database, never)).toBe(2);
    expect(await markDue(database, never)).toBe(0);
    await database.query("update compaction_work set due_at = now() - interval '1 hour' where conversation_id = $1", [
      ids[1],
    ]);
    const claimed: (Claim | null)[] = [];
    const owner = "00000000-0000-0000-0000-00000000000c";
    for (let n = 0; n < 3; n += 1) claimed.push(await claim(database, owner, 60_000));
    expect(claimed.map((one) => one?.conversationId)).toEqual([ids[1], ids[0], undefined]);
    expect(DUE_RULES[0]?.messages).toBe(10);
  });
});
