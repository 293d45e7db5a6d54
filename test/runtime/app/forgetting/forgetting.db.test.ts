/** The owner's erasure: nothing of a forgotten message is left in any table, all else stays, and nothing brings it back. */

import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 } from "uuid";
import { expect, it, onTestFinished } from "vitest";
import { claim, NOTHING_SCANNED, store } from "../../../../runtime/app/embedding/work.ts";
import { createForgetting, type ForgettingDeps } from "../../../../runtime/app/forgetting/forgetting.ts";
import { createEmbeddingTable } from "../../../../runtime/app/recall/embedding-tables.ts";
import { getFull } from "../../../../runtime/app/recall/full.ts";
import { showRow } from "../../../../runtime/app/recall/show.ts";
import { createTermCounter } from "../../../../runtime/app/terms/terms.ts";
import { createWikiPages } from "../../../../runtime/app/wiki/pages.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import type { Selection } from "../../../../runtime/contracts/forgetting.ts";
import { describeEachDatabase, quietLogger } from "../../../support/databases.ts";
import { memoryOf, said, systemClock, write, writerOf } from "../../../support/memory.ts";
import { compactorOf, fakeModel, never, summariesOf, talk } from "../compaction/support.ts";

const SECRET = "kumquat-4711";

const forgettingOf = (database: Database, deps: Partial<ForgettingDeps> = {}) =>
  createForgetting({
    database,
    newId: v7,
    clock: systemClock,
    wikis: new Map(),
    onErased: () => undefined,
    logger: quietLogger,
    ...deps,
  });

const given = (expected: number) => ({ expected, reason: "asked for", by: "owner" });

/** Forgets what a preview has counted. */
async function forget(database: Database, selection: Selection, deps: Partial<ForgettingDeps> = {}) {
  const forgetting = forgettingOf(database, deps);
  const { messages } = await forgetting.preview(selection);
  return forgetting.forget(selection, given(messages));
}

/** Tables that have the text in any of their rows. */
async function tablesWith(database: Database, text: string): Promise<string[]> {
  const { rows } = await database.query<{ readonly name: string }>(
    `select relname as name from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace order by 1`,
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const { rows: hits } = await database.query(`select from "${name}" as t where t::text ilike $1 limit 1`, [
      `%${text}%`,
    ]);
    if (hits.length > 0) found.push(name);
  }
  return found;
}

async function model(database: Database): Promise<number> {
  const { rows } = await database.query<{ readonly id: number }>(
    `insert into embedding_models (name, dimensions, current) values ('small', 3, not exists (select from embedding_models where current))
     on conflict (name, dimensions) do update set name = excluded.name returning id`,
  );
  const id = rows[0]?.id ?? 0;
  await createEmbeddingTable(database, database.backend, { id, dimensions: 3 });
  return id;
}

async function embedAll(database: Database): Promise<void> {
  const id = await model(database);
  const request = { modelId: id, owner: v7(), limit: 100, limitFailed: 1, leaseMs: 60_000, scanned: NOTHING_SCANNED };
  for (;;) {
    const { rows } = await claim(database, request);
    if (rows.length === 0) return;
    const embedded = rows.map((row) => ({ kind: row.kind, id: row.id, vector: [1, 2, 3] }));
    await store(database, { id, dimensions: 3 }, embedded);
  }
}

async function countOf(database: Database, sql: string, ...values: unknown[]): Promise<number> {
  const { rows } = await database.query<{ readonly n: number }>(`select count(*)::int as n from ${sql}`, values);
  return rows[0]?.n ?? 0;
}

describeEachDatabase("forgetting", (open) => {
  it("shows what would go, and takes every trace of one message and nothing of its neighbours", async () => {
    const database = await open();
    const fake = await fakeModel();
    const session = `s-${v7()}`;
    const { rows, conversationId } = await write(
      writerOf(database),
      session,
      [
        ...Array.from({ length: 11 }, (_, n) => said(`harmless ${n} about figs`)),
        said(`my password is ${SECRET}`, {
          metadata: { speaker: `mia ${SECRET}` },
          payload: { content: `all of ${SECRET}` },
        }),
      ],
      { title: `about ${SECRET}` },
    );
    const id = rows.at(-1)?.id ?? "";
    await compactorOf(database, fake).run(never);
    // The model of the test repeats what it was sent or not: the summary says it for certain.
    await database.query("update summaries set content = $2 where conversation_id = $1", [
      conversationId,
      `told ${SECRET}`,
    ]);
    await createTermCounter(database).run();
    await embedAll(database);
    await memoryOf(database).search(SECRET, { mode: "fts" });
    await database.query("insert into access (kind, id) values ('message', $1) on conflict do nothing", [id]);
    expect(await tablesWith(database, "kumquat")).toEqual(
      expect.arrayContaining(["conversations", "messages", "payloads", "search_terms", "summaries"]),
    );
    const forgetting = forgettingOf(database);
    const selection = { kind: "messages", ids: [id] } as const;
    expect(await forgetting.preview(selection)).toMatchObject({
      messages: 1,
      conversations: 1,
      summaries: 1,
      first: [{ id, role: "user", text: `my password is ${SECRET}` }],
      unfinished: null,
    });
    expect(await forgetting.forget(selection, given(1))).toMatchObject({ messages: 1, summaries: 1 });
    expect(await tablesWith(database, "kumquat")).toEqual([]);
    expect(await countOf(database, "messages where conversation_id = $1", conversationId)).toBe(11);
    expect(await countOf(database, "access where id = $1", id)).toBe(0);
    expect(await countOf(database, `embeddings_${await model(database)} where id = $1`, id)).toBe(0);
    await expect(getFull(database, id, { visibility: { all: true } })).rejects.toThrow(
      /forgotten on \d{4}-\d\d-\d\d: asked for/,
    );
    await expect(showRow(database, { id, around: 2 }, undefined)).rejects.toThrow(/forgotten on .*: asked for/);
    const { rows: erasures } = await database.query("select 1 from erasures where selector_hash <> ''");
    expect(erasures).toEqual([]);
    await expect(getFull(database, id, { visibility: { channel: "agent", user: "" } })).rejects.toThrow(
      "There is no message with this id.",
    );
    expect(await countOf(database, "search_terms where lexeme like 'kumquat%'")).toBe(0);
    // What remains is summarized again, from the beginning.
    await compactorOf(database, fake).run(never);
    const [again] = await summariesOf(database, conversationId);
    expect(again?.sources).toEqual(Array.from({ length: 11 }, (_, n) => `harmless ${n} about figs`));
  });

  it("takes higher summaries that cover it, and leaves the others in the tree", async () => {
    const database = await open();
    const session = `s-${v7()}`;
    const conversation = await talk(database, session, 3, "tree");
    const { rows } = await database.query<{ readonly id: string }>(
      "select id from messages where conversation_id = $1 order by seq",
      [conversation],
    );
    const [root, branch, ...leaves] = [v7(), v7(), v7(), v7(), v7()];
    const add = (id: string, depth: number, parent: string | null, kind: string) =>
      database.query(
        "insert into summaries (id, conversation_id, parent_id, depth, kind, content) values ($1, $2, $3, $4, $5, 'x')",
        [id, conversation, parent, depth, kind],
      );
    await add(root ?? "", 2, null, "root");
    await add(branch ?? "", 1, root ?? null, "branch");
    for (const [n, leaf] of leaves.entries()) {
      // The last leaf is not absorbed yet: its parent is the one before, of its own level.
      await add(leaf, 0, n < 2 ? (branch ?? null) : (leaves[0] ?? null), "leaf");
      await database.query("insert into summary_sources (summary_id, message_id) values ($1, $2)", [leaf, rows[n]?.id]);
    }
    await forget(database, { kind: "messages", ids: [rows[0]?.id ?? ""] });
    const remaining = await summariesOf(database, conversation);
    expect(remaining.map(({ id, parent_id: parent }) => [id, parent])).toEqual([
      [leaves[1], null],
      [leaves[2], null],
    ]);
  });

  it("forgets a conversation, a session, a user and what matches, and nothing beside them", async () => {
    const database = await open();
    const writer = writerOf(database);
    const mark = v7();
    const keys = ["a", "b", "c"].map((name) => `${name}-${mark}`) as [string, string, string];
    const one = await write(writer, keys[0], [said("one"), said("two")]);
    await write(writer, keys[1], [said("three")], { user: `mia-${mark}` });
    const other = await write(writer, keys[2], [
      said(`100%_sure ${mark}`),
      said("call", { toolName: "shell", toolArgs: { text: `say "hi" ${mark}` } }),
      said("stays"),
    ]);
    expect(await forget(database, { kind: "conversation", id: one.conversationId })).toMatchObject({ messages: 2 });
    expect(await forget(database, { kind: "session", key: keys[0] })).toMatchObject({ id: null, messages: 0 });
    const user = { kind: "user", user: `mia-${mark}` } as const;
    expect(await forget(database, { ...user, channel: "elsewhere" })).toMatchObject({ messages: 0 });
    expect(await forget(database, user)).toMatchObject({ messages: 1 });
    expect(await forget(database, { kind: "matching", text: `100xxsure ${mark}` })).toMatchObject({ messages: 0 });
    expect(await forget(database, { kind: "matching", text: `100%_SURE ${mark}` })).toMatchObject({ messages: 1 });
    expect(await forget(database, { kind: "matching", text: `say "hi" ${mark}` })).toMatchObject({ messages: 1 });
    expect(await countOf(database, "messages where conversation_id = $1", other.conversationId)).toBe(1);
    expect(await tablesWith(database, `say ?"hi" ${mark}`)).toEqual([]);
  });

  it("refuses another number than the preview's, and erases nothing then", async () => {
    const database = await open();
    const key = `s-${v7()}`;
    const { conversationId } = await write(writerOf(database), key, [said("one"), said("two")]);
    const attempt = forgettingOf(database).forget({ kind: "session", key }, given(1));
    await expect(attempt).rejects.toMatchObject({ code: "MEMORY_CONFLICT" });
    expect(await countOf(database, "messages where conversation_id = $1", conversationId)).toBe(2);
    expect(await countOf(database, "forgotten where conversation_id = $1", conversationId)).toBe(0);
  });

  it("stores the same event no second time, while a new one of the conversation is stored", async () => {
    const database = await open();
    const writer = writerOf(database);
    const key = `s-${v7()}`;
    const entry = said("to be forgotten", { key: "event:1" });
    const { rows } = await write(writer, key, [entry]);
    await forget(database, { kind: "session", key });
    const again = await write(writer, key, [entry, said("new", { key: "event:2" })]);
    expect(again.rows).toMatchObject([{ id: rows[0]?.id, inserted: false }, { inserted: true }]);
    expect(await tablesWith(database, "to be forgotten")).toEqual([]);
  });

  it("is finished by the same command, and by housekeeping, after a process was killed between two batches", async () => {
    const database = await open();
    const [one, two] = [`s-${v7()}`, `s-${v7()}`];
    const user = `u-${v7()}`;
    for (const key of [one, two]) await write(writerOf(database), key, [said(`of ${key}`)], { user });
    /** Ends with the given number of transactions: the list, and a batch. */
    const dying = (transactions: number): Database => {
      let remaining = transactions;
      return new Proxy(database, {
        get(target, property) {
          const found: unknown = Reflect.get(target, property);
          if (typeof found !== "function") return found;
          return (...args: unknown[]) => {
            if (property === "transaction") remaining -= 1;
            if (remaining < 0) throw new Error("killed");
            return Reflect.apply(found, target, args);
          };
        },
      });
    };
    const selection = { kind: "user", user } as const;
    await expect(forgettingOf(dying(2)).forget(selection, given(2))).rejects.toThrow("killed");
    const remaining = await forgettingOf(database).preview(selection);
    expect(remaining).toMatchObject({ messages: 1, unfinished: expect.any(String) });
    // Typed again as it was, with the number of then.
    expect(await forgettingOf(database).forget(selection, given(2))).toMatchObject({
      id: remaining.unfinished,
      messages: 2,
    });
    expect(
      await countOf(database, "conversations c join messages m on m.conversation_id = c.id where c.user_id = $1", user),
    ).toBe(0);
    await write(writerOf(database), one, [said("later")], { user });
    await expect(forgettingOf(dying(1)).forget(selection, given(1))).rejects.toThrow("killed");
    await forgettingOf(database).finish();
    expect(await countOf(database, "erasures where finished_at is null")).toBe(0);
  });

  it("takes what inbox, steps and outbox keep, and attachments that nothing else names; an open turn refuses it", async () => {
    const database = await open();
    const key = `s-${v7()}`;
    const [shared, own] = ["shared", `own ${key}`].map((text) => createHash("sha256").update(text).digest("hex"));
    for (const hash of [shared, own])
      await database.query(
        "insert into attachments (sha256, n, bytes) values ($1, 0, '\\x00') on conflict do nothing",
        [hash],
      );
    const turn = async (state: string, files: readonly unknown[]) => {
      const [inbox, id] = [v7(), v7()];
      await database.query(
        `insert into inbox (id, channel, agent, conversation, external_id, body_hash, session_key, text, attachments, history)
         values ($1::uuid, 'agent', 'main', 'c', $1::text, 'h', $2, $3, $4, $5)`,
        [inbox, key, `text ${SECRET}`, JSON.stringify(files), JSON.stringify([{ role: "user", content: SECRET }])],
      );
      await database.query(
        "insert into turns (id, inbox_id, seq, session_key, agent, state, reply, error) values ($1, $2, 1, $3, 'main', $4, $5, $6)",
        [id, inbox, key, state, `reply ${SECRET}`, JSON.stringify({ code: "X", message: SECRET })],
      );
      await database.query(
        "insert into turn_steps (turn_id, n, epoch, kind, state, request) values ($1, 0, 1, 'tool', 'done', $2)",
        [id, JSON.stringify({ text: SECRET })],
      );
      await database.query(
        "insert into outbox (id, turn_id, channel, agent, payload) values ($1, $2, 'agent', 'main', $3)",
        [v7(), id, JSON.stringify({ text: SECRET })],
      );
      await database.query("insert into drafts (turn_id, words) values ($1, $2)", [id, `words ${SECRET}`]);
      await database.query(
        "insert into approvals (id, agent, tool, digest, call, reason, approved_by, turn_id) values ($1, 'main', 'shell', $2, $3, 'r', 'owner', $4)",
        [v7(), id, `command: echo ${SECRET}`, id],
      );
      await database.query(
        "insert into schedules (agent, name, definition, planned_at, turn_id, error) values ('main', $2, '', now(), $1, $3)",
        [id, id, SECRET],
      );
      return id;
    };
    const id = await turn("done", [
      { sha256: own, name: SECRET },
      { sha256: shared, name: "b" },
    ]);
    await write(writerOf(database), `other-${key}`, [
      said("keeps it", { metadata: { attachments: [{ sha256: shared }] } }),
    ]);
    await write(writerOf(database), key, [
      said(`said ${SECRET}`, { metadata: { turn_id: id, attachments: [{ sha256: own }] } }),
    ]);
    const open_ = await turn("waiting", []);
    const selection = { kind: "session", key } as const;
    await expect(forget(database, selection)).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    await database.query("update turns set state = 'aborted' where id = $1", [open_]);
    expect(await forget(database, selection)).toMatchObject({ messages: 1, turns: expect.any(Number), attachments: 1 });
    expect(await tablesWith(database, SECRET)).toEqual([]);
    expect(await countOf(database, "attachments where sha256 = any($1)", [own, shared])).toBe(1);
    expect(await countOf(database, "inbox where session_key = $1", key)).toBe(2);
  });

  it("keeps an embedder and a compactor that had read the message from storing what they made of it", async () => {
    const database = await open();
    const fake = await fakeModel();
    const key = `s-${v7()}`;
    const conversation = await talk(database, key, 12, `${SECRET} talk`);
    const id = await model(database);
    const request = { modelId: id, owner: v7(), limit: 500, limitFailed: 1, leaseMs: 60_000, scanned: NOTHING_SCANNED };
    const { rows: claimed } = await claim(database, request);
    let erased: Promise<unknown> | undefined;
    const compactor = compactorOf(database, fake, {
      model: {
        model: "slow",
        async complete() {
          erased ??= forget(database, { kind: "session", key });
          await erased;
          return { text: `They spoke of ${SECRET}.`, truncated: false };
        },
      } as never,
    });
    await compactor.run(never).catch(() => undefined);
    expect(erased).toBeDefined();
    await store(
      database,
      { id, dimensions: 3 },
      claimed.map((row) => ({ kind: row.kind, id: row.id, vector: [1, 2, 3] })),
    );
    expect(await summariesOf(database, conversation)).toEqual([]);
    // It has lost its claim: that is no failure of the conversation.
    const untouched = "compaction_work where conversation_id = $1 and attempts = 0 and error is null";
    expect(await countOf(database, untouched, conversation)).toBe(1);
    const mine = claimed.map((row) => row.id);
    expect(
      await countOf(
        database,
        `embeddings_${id} v join forgotten f on f.message_id = v.id where v.id = any($1::uuid[])`,
        mine,
      ),
    ).toBe(0);
    expect(await tablesWith(database, SECRET)).toEqual([]);
  });

  it("takes the statements of an erased summary out of the wiki, and leaves what people and other summaries say", async () => {
    const database = await open();
    const workspace = await mkdtemp(join(tmpdir(), "cairn-test-forget-"));
    onTestFinished(() => rm(workspace, { recursive: true, force: true }));
    const pages = createWikiPages({ workspace, sleep: (ms, signal) => sleep(ms, undefined, { signal }) });
    const key = `s-${v7()}`;
    const { rows, conversationId } = await write(writerOf(database), key, [said("one")]);
    const [gone, kept] = [v7(), v7()];
    await database.query("insert into summaries (id, conversation_id, content) values ($1, $2, 'x')", [
      gone,
      conversationId,
    ]);
    await database.query("insert into summary_sources (summary_id, message_id) values ($1, $2)", [gone, rows[0]?.id]);
    const update = { title: "Fruit", now: new Date(), limit: 9_000 };
    await pages.write([{ ...update, source: gone, statements: [`It is ${SECRET}.`, "Both say it."] }], never);
    await pages.write([{ ...update, source: kept, statements: ["Both say it."] }], never);
    await forget(database, { kind: "session", key }, { wikis: new Map([["main", pages]]) });
    const page = await readFile(join(workspace, "wiki", "fruit.md"), "utf8");
    expect(page).not.toContain(SECRET);
    expect(page).not.toContain(gone);
    expect(page).toContain(`- Both say it. [summary:${kept}]`);
    expect(await countOf(database, "forgotten_summaries where wiki_at is null and summary_id = $1", gone)).toBe(0);
  });

  it("lets nothing else remove a row: not the setting alone, not a tombstone alone, not an erasure that has ended", async () => {
    const database = await open();
    const key = `s-${v7()}`;
    const { rows, conversationId } = await write(writerOf(database), key, [said("one"), said("two")]);
    const [first = "", second = ""] = rows.map(({ id }) => id);
    const erasure = v7();
    await database.query(
      "insert into erasures (id, kind, selector_hash, reason, erased_by) values ($1, 'messages', 'h', 'r', 'owner')",
      [erasure],
    );
    await database.query("delete from message_keys where conversation_id = $1", [conversationId]);
    const remove = (id: string, setting: string, sql = "delete from messages where id = $1") =>
      database.transaction(async (tx) => {
        await tx.query("select set_config('cairn.erasure', $1, true)", [setting]);
        await tx.query(sql, [id]);
      });
    await expect(remove(first, erasure)).rejects.toMatchObject({
      cause: { message: expect.stringContaining("immutable") },
    });
    await database.query("insert into forgotten (message_id, erasure_id, conversation_id) values ($1, $2, $3)", [
      first,
      erasure,
      conversationId,
    ]);
    await expect(database.query("delete from messages where id = $1", [first])).rejects.toThrow();
    await expect(remove(first, v7())).rejects.toThrow();
    await expect(remove(second, erasure)).rejects.toThrow();
    await expect(remove(first, erasure, "update messages set content = 'other' where id = $1")).rejects.toThrow();
    await database.query("update erasures set finished_at = now() where id = $1", [erasure]);
    await expect(remove(first, erasure)).rejects.toThrow();
    expect(await countOf(database, "messages where conversation_id = $1", conversationId)).toBe(2);
    await database.query("update erasures set finished_at = null where id = $1", [erasure]);
    await remove(first, erasure);
    expect(await countOf(database, "messages where conversation_id = $1", conversationId)).toBe(1);
  });
});
