import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { v7 } from "uuid";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { createMemoryReading, type MemoryReading } from "../../../runtime/app/reading.ts";
import { createWikiPages } from "../../../runtime/app/wiki/pages.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import { sessionKey } from "../../../runtime/domain/session-key.ts";
import { describeDatabase, describeEachDatabase } from "../../support/databases.ts";
import { said, systemClock, write, writerOf } from "../../support/memory.ts";

const of = (conversation: string, user = "") => ({
  key: sessionKey({ agent: "main", channel: "agent", conversation, user }),
  batch: { channelId: conversation, user, byOwner: user === "" },
});

describeEachDatabase("what an operator reads of the memory", (open) => {
  let database: Database;
  let reading: MemoryReading;
  const ids: string[] = [];

  beforeAll(async () => {
    database = await open({ fresh: true });
    reading = createMemoryReading({ database, wikis: new Map(), wikiEnabled: false });
    let ms = Date.UTC(2026, 0, 6);
    const later = () => {
      ms += 1_000;
      return new Date(ms);
    };
    // Each write a second after the one before: the list is in their order.
    const clock = { ...systemClock, now: () => later() };
    const writer = writerOf(database, { clock });
    const terminal = of("terminal");
    const add = async (text: string, minute: number) => {
      const createdAt = new Date(Date.UTC(2026, 0, 5, 10, minute)).toISOString();
      const { rows } = await write(writer, terminal.key, [said(text, { createdAt })], terminal.batch);
      ids.push(rows[0]?.id ?? "");
    };
    await add("The first words of an earlier conversation", 0);
    await database.query("update conversations set active = false");
    for (const [minute, text] of ["How do bees sleep?", "one", "two", "three", "four"].entries()) {
      await add(text, minute + 1);
    }
    const review = of("review", "token:1");
    await write(writer, review.key, [said("A review, please")], { ...review.batch, title: "Reviewing" });
    await database.query(`update conversations set settings = '{"model": "ollama:small"}' where title = 'Reviewing'`);
    const test = of("self-test-ab12");
    await write(writer, test.key, [said("This is a self-test")], test.batch);
    await write(writer, "claude-code:s1", [said("a captured question")], {
      agent: "coder",
      channel: "claude-code",
      openedBy: "capture",
    });
  });

  it("lists the sessions of agents with all their conversations, without those of the self-test", async () => {
    const sessions = await reading.sessions({ of: "session", limit: 50 });
    expect(
      sessions.map(({ name, user, title, conversations, messages }) => [name, user, title, conversations, messages]),
    ).toEqual([
      ["review", "token:1", "Reviewing", 1, 1],
      ["terminal", "", "How do bees sleep?", 2, 6],
    ]);
    expect(sessions.map(({ model }) => model)).toEqual(["ollama:small", null]);
    expect(sessions[1]).toMatchObject({ created_at: expect.any(String), last_at: "2026-01-05T10:05:00.000Z" });
    expect(await reading.sessions({ of: "session", agent: "coder", limit: 50 })).toEqual([]);
    expect(await reading.sessions({ of: "session", limit: 1 })).toHaveLength(1);
  });

  it("lists every conversation, captured ones and those of the self-test too", async () => {
    const all = await reading.sessions({ of: "conversation", limit: 50 });
    expect(all.map(({ name, opened_by, messages }) => [name, opened_by, messages])).toEqual([
      [null, "capture", 1],
      ["self-test-ab12", "turn", 1],
      ["review", "turn", 1],
      ["terminal", "turn", 5],
      ["terminal", "turn", 1],
    ]);
    const captured = await reading.sessions({ of: "conversation", agent: "coder", limit: 50 });
    expect(captured).toMatchObject([{ session_key: "claude-code:s1", title: "a captured question", conversations: 1 }]);
  });

  it("shows a message with its neighbours of the same conversation, in their order", async () => {
    const shown = await reading.show({ id: ids[3] ?? "", around: 1 });
    expect(shown).toMatchObject({
      kind: "message",
      session: { name: "terminal", agent: "main" },
      message: { id: ids[3], content: "two" },
      missing: null,
      before: [{ content: "one" }],
      after: [{ content: "three" }],
    });
    const wide = await reading.show({ id: ids[1] ?? "", around: 10 });
    expect(wide.kind === "message" && [wide.before, wide.after.map(({ content }) => content)]).toEqual([
      [],
      ["one", "two", "three", "four"],
    ]);
  });

  it("shows a cut message whole where a full copy was kept, and says where none was", async () => {
    const cut = async (kept: boolean) => {
      const id = v7();
      await database.query(
        `insert into messages (id, conversation_id, agent, channel, role, content, metadata)
         select $1, conversation_id, agent, channel, role, 'begin', '{"truncated": true, "full_content_length": 9}'
         from messages where id = $2`,
        [id, ids[0]],
      );
      if (kept) await database.query("insert into payloads (message_id, content) values ($1, 'begin end')", [id]);
      return reading.show({ id, around: 0 });
    };
    expect(await cut(true)).toMatchObject({ message: { content: "begin end" }, missing: null });
    expect(await cut(false)).toMatchObject({ message: { content: "begin" }, missing: expect.stringContaining("cut") });
  });

  it("shows a summary with the summaries and the messages below it", async () => {
    const [root, leaf] = [v7(), v7()];
    const summary = (id: string, parent: string | null, depth: number, kind: string, content: string) =>
      database.query(
        `insert into summaries (id, conversation_id, parent_id, depth, kind, content, message_count)
         select $1, conversation_id, $2::uuid, $3, $4, $5, 2 from messages where id = $6`,
        [id, parent, depth, kind, content, ids[1]],
      );
    await summary(root, null, 1, "root", "all about bees");
    await summary(leaf, root, 0, "leaf", "bees sleep at night");
    await database.query("insert into summary_sources values ($1, $2, 1), ($1, $3, 0)", [leaf, ids[2], ids[1]]);
    expect(await reading.show({ id: root, around: 0 })).toMatchObject({
      kind: "summary",
      session: { name: "terminal" },
      summary: { id: root, content: "all about bees", summary_kind: "root" },
      children: [{ id: leaf, parent_id: root }],
      sources: [],
    });
    expect(await reading.show({ id: leaf, around: 0 })).toMatchObject({
      sources: [{ content: "How do bees sleep?" }, { content: "one" }],
    });
  });

  it("takes the beginning of an id, names the rows where it is of several, and tells of one that is not there", async () => {
    const id = ids[4] ?? "";
    expect(await reading.show({ id: id.slice(0, -1).toUpperCase(), around: 0 })).toMatchObject({ message: { id } });
    await expect(reading.show({ id: id.slice(0, 8), around: 0 })).rejects.toMatchObject({
      code: "MEMORY_INVALID_ARGUMENT",
      message: expect.stringMatching(
        new RegExp(`:\\n  ${ids[0]}  message of \\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2} UTC\\n`),
      ),
    });
    await expect(reading.show({ id: "ffffffff", around: 0 })).rejects.toMatchObject({ code: "MEMORY_NOT_FOUND" });
  });
});

describeDatabase("the wikis of agents", (open) => {
  it("are read page by page, where their workspace is on this node", async () => {
    const workspace = await mkdtemp(join(tmpdir(), "cairn-reading-"));
    onTestFinished(() => rm(workspace, { recursive: true }));
    await mkdir(join(workspace, "wiki"));
    const page = (title: string, day: number) =>
      `---\ntitle: ${title}\nupdated: 2026-01-0${day}T00:00:00.000Z\nstatements: 1\n---\n# ${title}\n`;
    await writeFile(join(workspace, "wiki", "bees.md"), page("Bees", 1));
    await writeFile(join(workspace, "wiki", "wild-honey.md"), page("Wild Honey!", 2));
    await writeFile(join(workspace, "wiki", "notes.md"), "by hand");
    const database = await open();
    const pages = createWikiPages({ workspace, sleep: async () => undefined });
    const reading = createMemoryReading({
      database,
      wikis: new Map([
        ["main", pages],
        ["far", null],
      ]),
      wikiEnabled: true,
    });

    expect(await reading.wiki("main")).toMatchObject({
      enabled: true,
      pages: [{ slug: "wild-honey" }, { slug: "bees" }],
    });
    expect(await reading.wikiPage("main", "Wild Honey!")).toEqual({
      agent: "main",
      slug: "wild-honey",
      title: "Wild Honey!",
      updated: "2026-01-02T00:00:00.000Z",
      statements: 1,
      text: page("Wild Honey!", 2),
    });
    expect(await reading.wikiPage("main", "bees")).toMatchObject({ title: "Bees" });
    for (const other of ["notes", "../notes", "index"]) {
      await expect(reading.wikiPage("main", other), other).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
    }
    await expect(reading.wiki("far")).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
    await expect(reading.wiki("nobody")).rejects.toMatchObject({ code: "RUNTIME_AGENT_UNKNOWN" });
  });
});
