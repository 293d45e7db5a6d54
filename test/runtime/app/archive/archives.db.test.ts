import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { v7 } from "uuid";
import { afterAll, describe, expect, it } from "vitest";
import { createArchives } from "../../../../runtime/app/archive/archives.ts";
import { ATTACHMENTS, NOT_ARCHIVED, sectionsOf } from "../../../../runtime/app/archive/sections.ts";
import { readAttachment } from "../../../../runtime/app/attachments/chunks.ts";
import { createAttachmentStore } from "../../../../runtime/app/attachments/store.ts";
import { createForgetting } from "../../../../runtime/app/forgetting/forgetting.ts";
import { getFull } from "../../../../runtime/app/recall/full.ts";
import type { Database, Transaction } from "../../../../runtime/contracts/database.ts";
import { openEmbedded } from "../../../../runtime/plugins/memory/embedded/index.ts";
import { openPostgres } from "../../../../runtime/plugins/memory/postgres/index.ts";
import { storeFull } from "../../../../runtime/plugins/memory/wire/errors.ts";
import { lacks } from "../../../lanes/tools.ts";
import {
  createEmbeddedCopy,
  createPostgresCopy,
  describeEachDatabase,
  quietLogger,
} from "../../../support/databases.ts";
import { type Content, contentOf, fill } from "../../../support/full-store.ts";
import { said, systemClock, write, writerOf } from "../../../support/memory.ts";
import { through } from "../../../support/through.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

async function home(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "cairn-archive-"));
  cleanups.push(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function archivesOf(database: Database) {
  const folder = await home();
  /** Where an earlier version kept them. */
  const attachments = join(folder, "attachments");
  const archives = createArchives({
    database,
    writer: writerOf(database),
    agents: new Set(["main"]),
    attachments: createAttachmentStore({ database, directory: attachments, logger: quietLogger }),
    staging: folder,
    clock: systemClock,
    version: "0.0.0-test",
  });
  return { archives, attachments, folder };
}

async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** In odd pieces, as a network would. */
async function* streamOf(bytes: Buffer, size = 1_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function saveAttachment(directory: string, bytes: Buffer): Promise<string> {
  const { mkdir, writeFile } = await import("node:fs/promises");
  const name = createHash("sha256").update(bytes).digest("hex");
  await mkdir(join(directory, name.slice(0, 2)), { recursive: true });
  await writeFile(join(directory, name.slice(0, 2), name), bytes);
  return name;
}

/** Text that fills the buffers of the stream, so that the reader is waited for. */
function incompressible(words: number): string {
  return Array.from({ length: words }, () => v7()).join(" ");
}

const INTERRUPTED = ["inbox", "turns", "turn_steps", "turn_questions", "outbox", "leases"];

function without(content: Content, tables: readonly string[]): Content {
  return Object.fromEntries(Object.entries(content).filter(([name]) => !tables.includes(name)));
}

const clusterUrl = process.env.CAIRN_TEST_PG_URL;

describe.skipIf(lacks("postgresql"))("an archive", () => {
  it("goes from PostgreSQL to the embedded store and back, row for row", async () => {
    const stores: Database[] = [];
    for (const backend of ["postgres", "embedded", "postgres"] as const) {
      if (backend === "postgres") {
        const { url, remove } = await createPostgresCopy(clusterUrl ?? "");
        const database = await openPostgres({ connectionString: url, pool: 4, logger: quietLogger });
        cleanups.push(remove, () => database.close());
        stores.push(database);
      } else {
        const { path, remove } = await createEmbeddedCopy();
        const database = await openEmbedded({ path, logger: quietLogger });
        cleanups.push(remove, () => database.close());
        stores.push(database);
      }
    }
    const [first, second, third] = stores;
    if (!first || !second || !third) throw new Error("three stores");
    await fill(first);
    const [one, two, three] = [await archivesOf(first), await archivesOf(second), await archivesOf(third)];
    const bytes = Buffer.from(incompressible(20_000));
    const file = await saveAttachment(one.attachments, bytes);

    const report = await two.archives.restore(streamOf(await bytesOf(one.archives.backup())), { withTokens: true });
    expect(report.counts).toMatchObject({ messages: 454, conversations: 2, summary_parents: 1, attachments: 1 });
    await three.archives.restore(streamOf(await bytesOf(two.archives.backup())), { withTokens: true });

    const [before, between, after] = [await contentOf(first), await contentOf(second), await contentOf(third)];
    expect(without(between, INTERRUPTED)).toEqual(without(before, INTERRUPTED));
    expect(without(after, INTERRUPTED)).toEqual(without(before, INTERRUPTED));
    expect(await readAttachment(third, file)).toEqual(bytes);

    const indexes = "select indexdef from pg_indexes where tablename ~ '^embeddings_' order by indexname";
    expect((await third.query(indexes)).rows).toEqual((await first.query(indexes)).rows);

    // Insertion goes on after the last restored row.
    const next = await write(writerOf(third), "main:agent:c1:ada", [said("after the restore")]);
    const { rows } = await third.query(
      "select seq = (select max(seq) from messages) as last from messages where id = $1",
      [next.rows[0]?.id],
    );
    expect(rows).toEqual([{ last: true }]);
  });

  it("has its vectors indexed by one process where the server's shared memory has no room for several", async () => {
    const stores: Database[] = [];
    for (let n = 0; n < 2; n += 1) {
      const { url, remove } = await createPostgresCopy(clusterUrl ?? "");
      const database = await openPostgres({ connectionString: url, pool: 4, logger: quietLogger });
      cleanups.push(remove, () => database.close());
      stores.push(database);
    }
    const [source, target] = stores;
    if (!source || !target) throw new Error("two stores");
    await fill(source);
    const { archives } = await archivesOf(source);
    const small = await archivesOf(withSmallSharedMemory(target));
    await small.archives.restore(streamOf(await bytesOf(archives.backup())));
    const indexes = "select indexdef from pg_indexes where tablename ~ '^embeddings_' order by indexname";
    expect((await target.query(indexes)).rows).toEqual((await source.query(indexes)).rows);
    expect((await target.query("select count(*)::int as n from embeddings_1")).rows).toEqual([{ n: 2 }]);
  });
});

describe("a restore", () => {
  it("leaves an index of vectors hours, and a batch of rows minutes", async () => {
    const { path, remove } = await createEmbeddedCopy();
    const database = await openEmbedded({ path, logger: quietLogger });
    cleanups.push(remove, () => database.close());
    const { archives } = await archivesOf(database);
    const bytes = await bytesOf(archives.backup());
    const limits: (number | undefined)[] = [];
    const watched = through(database, {
      transaction: (work, options) => {
        limits.push(options?.statementTimeoutMs);
        return database.transaction((tx) => {
          const limit: Transaction["limit"] = (ms) => {
            limits.push(ms);
            return tx.limit(ms);
          };
          return work({ query: tx.query.bind(tx), savepoint: tx.savepoint.bind(tx), limit });
        }, options);
      },
    });
    await (await archivesOf(watched)).archives.restore(streamOf(bytes));
    expect(limits).toEqual([10 * 60_000, 6 * 60 * 60_000]);
  });
});

/** A server that says of a parallel build what PostgreSQL says in a container with 64 MB of /dev/shm. */
function withSmallSharedMemory(database: Database): Database {
  const refusing = (tx: Transaction): Transaction => ({
    query: async (sql, values) => {
      if (sql.includes("using hnsw")) {
        const { rows } = await tx.query<{ n: string }>(
          "select current_setting('max_parallel_maintenance_workers') as n",
        );
        if (rows[0]?.n !== "0") throw storeFull(new Error("could not resize shared memory segment"));
      }
      return tx.query(sql, values);
    },
    savepoint: (work) => tx.savepoint((inner) => work(refusing(inner))),
    limit: (ms) => tx.limit(ms),
  });
  return through(database, {
    transaction: (work, options) => database.transaction((tx) => work(refusing(tx)), options),
  });
}

describeEachDatabase("an archive made after an erasure", (open) => {
  it("carries the tombstones: what was forgotten is not in it, and is not stored again where it is restored", async () => {
    const [source, target] = [await open({ fresh: true }), await open({ fresh: true })];
    const key = "main:agent:c1:ada";
    const entry = said("my password is kumquat", { key: "event:1" });
    const { rows } = await write(writerOf(source), key, [entry, said("stays")]);
    const id = rows[0]?.id ?? "";
    const forgetting = createForgetting({
      database: source,
      newId: v7,
      clock: systemClock,
      wikis: new Map(),
      onErased: () => undefined,
      logger: quietLogger,
    });
    await forgetting.forget({ kind: "messages", ids: [id] }, { expected: 1, reason: "a password", by: "owner" });
    const bytes = await bytesOf((await archivesOf(source)).archives.backup());
    expect(gunzipSync(bytes).toString()).not.toContain("kumquat");
    await (await archivesOf(target)).archives.restore(streamOf(bytes));
    const again = await write(writerOf(target), key, [entry]);
    expect(again.rows).toMatchObject([{ id, inserted: false }]);
    await expect(getFull(target, id, { visibility: { all: true } })).rejects.toThrow(/was forgotten on .*: a password/);
  });
});

describeEachDatabase("backup and restore", (open) => {
  it("brings open turns back as interrupted, without leases and with raised epochs", async () => {
    const [source, target] = [await open({ fresh: true }), await open({ fresh: true })];
    await fill(source);
    const bytes = await bytesOf((await archivesOf(source)).archives.backup());
    await (await archivesOf(target)).archives.restore(streamOf(bytes));
    const { rows } = await target.query(
      `select i.external_id as was, t.state, t.interrupted, t.notice is not null as told, t.epoch, t.lease_node,
         t.finished_at is not null as finished, i.done_at is not null as done, s.state as step, o.state as reply,
         q.state as question
       from turns t join inbox i on i.id = t.inbox_id join turn_steps s on s.turn_id = t.id join outbox o on o.turn_id = t.id
         join turn_questions q on q.turn_id = t.id
       order by i.seq`,
    );
    const ended = {
      interrupted: false,
      told: false,
      epoch: 5,
      lease_node: null,
      finished: false,
      done: true,
      question: "answered",
    };
    const cut = { ...ended, state: "failed", interrupted: true, told: true, finished: true };
    expect(rows).toEqual([
      { ...ended, was: "done", state: "done", step: "done", reply: "sent" },
      { ...cut, was: "running", step: "unknown", reply: "failed" },
      { ...cut, was: "queued", step: "done", reply: "sent" },
      { ...cut, was: "waiting", step: "unknown", reply: "sent", question: "expired" },
      { ...ended, was: "failed", state: "failed", step: "done", reply: "sent" },
    ]);
    const leases = await target.query("select name, holder, epoch, expires_at < now() as over from leases");
    expect(leases.rows).toEqual([{ name: "agent:main", holder: "", epoch: 10, over: true }]);
  });

  it("brings its pauses of schedules to a store whose node has begun them already", async () => {
    const source = await open({ fresh: true });
    await fill(source);
    const target = await open({ fresh: true });
    await target.query(
      "insert into schedules (agent, name, definition, planned_at) values ('main', 'morning', '[]', now())",
    );
    const bytes = await bytesOf((await archivesOf(source)).archives.backup());
    await (await archivesOf(target)).archives.restore(streamOf(bytes));
    const { rows } = await target.query("select name, paused_at is not null as paused from schedules");
    expect(rows).toEqual([{ name: "morning", paused: true }]);
  });

  it("refuses a store that is not empty", async () => {
    const database = await open({ fresh: true });
    await write(writerOf(database), "s", [said("there")]);
    const { archives } = await archivesOf(database);
    const bytes = await bytesOf(archives.backup());
    await expect(archives.restore(streamOf(bytes))).rejects.toMatchObject({ code: "MEMORY_STORE_NOT_EMPTY" });
  });

  it("refuses what is cut off, altered or something else, and leaves the store empty", async () => {
    const [source, target] = [await open({ fresh: true }), await open({ fresh: true })];
    await write(writerOf(source), "s", [said("one"), said("two"), said("three")]);
    const from = await archivesOf(source);
    await saveAttachment(from.attachments, Buffer.from("attached"));
    const bytes = await bytesOf(from.archives.backup());
    const text = gunzipSync(bytes).toString("utf8");
    const lines = text.trimEnd().split("\n");
    const repacked = (changed: string) => gzipSync(Buffer.from(changed));
    const cases: Record<string, Buffer> = {
      "cut off": bytes.subarray(0, bytes.length - 20),
      "cut off between lines": repacked(`${lines.slice(0, -1).join("\n")}\n`),
      "one word changed": repacked(text.replace("three", "trhee")),
      "one row left out": repacked(lines.filter((line) => !line.includes('"two"')).join("\n")),
      "an attachment changed": repacked(text.replace(Buffer.from("attached").toString("base64"), "YXR0YWNoZWs=")),
      "something added": repacked(`${text}{}\n`),
      "of a newer schema": repacked(text.replace(/"schema_version":\d+/, '"schema_version":999')),
      "not gzip": Buffer.from("hello"),
      "not an archive": gzipSync(Buffer.from("{}\n")),
      empty: Buffer.alloc(0),
    };
    const { archives, attachments, folder } = await archivesOf(target);
    for (const [name, archive] of Object.entries(cases)) {
      await expect(archives.restore(streamOf(archive)), name).rejects.toMatchObject({ code: "MEMORY_ARCHIVE_INVALID" });
    }
    // Where nothing is, one row counts it.
    const { compaction_counts: counts, ...content } = await contentOf(target);
    expect(counts).toEqual([{ id: true, due: 0, failing: 0, given_up: 0 }]);
    expect(Object.values(content).flat()).toEqual([]);
    await expect(readdir(attachments)).rejects.toThrow("ENOENT");
    expect(await readdir(folder)).toEqual([]);
    // The unchanged one still goes in.
    expect((await archives.restore(streamOf(repacked(text)))).counts.messages).toBe(3);
  });

  it("holds every table of the schema", async () => {
    const database = await open();
    const { rows } = await database.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'schema_migrations'`,
    );
    const held = new Set([...sectionsOf([]).map(({ table }) => table), ATTACHMENTS, ...NOT_ARCHIVED]);
    expect(rows.map(({ name }) => name).filter((name) => !held.has(name) && !name.startsWith("embeddings_"))).toEqual(
      [],
    );
  });

  it("is a snapshot: what is written while it runs stays out, and writers do not wait for it", async () => {
    const database = await open({ fresh: true });
    const writer = writerOf(database);
    const entries = Array.from({ length: 600 }, (_, index) =>
      said(`before ${index} ${incompressible(30)}`, { key: `${index}` }),
    );
    await write(writer, "s", entries);
    const { archives } = await archivesOf(database);
    const stream = archives.backup()[Symbol.asyncIterator]();
    const first = await stream.next();
    await write(writer, "s", [said("during")]);
    await write(writer, "another session", [said("during")]);
    const rest = await bytesOf({ [Symbol.asyncIterator]: () => stream });
    const bytes = Buffer.concat([first.value ?? Buffer.alloc(0), rest]);
    const text = gunzipSync(bytes).toString("utf8");
    expect(text.match(/"content":"before/g)).toHaveLength(600);
    expect(text).not.toContain("during");
    expect(text).not.toContain("another session");
    // Keys without their messages could not be restored.
    const target = await archivesOf(await open({ fresh: true }));
    const { counts } = await target.archives.restore(streamOf(bytes));
    expect(counts).toMatchObject({ conversations: 1, messages: 600, message_keys: 600 });
  });

  it("ends its transaction when the reader leaves or aborts", async () => {
    const database = await open({ fresh: true });
    await write(
      writerOf(database),
      "s",
      Array.from({ length: 400 }, (_, n) => said(incompressible(50), { key: `k${n}` })),
    );
    const { archives, folder } = await archivesOf(database);
    for await (const _chunk of archives.backup()) break;
    const abort = new AbortController();
    const aborted = async () => {
      for await (const _chunk of archives.backup(abort.signal)) abort.abort(new Error("enough"));
    };
    await expect(aborted()).rejects.toThrow("enough");
    if (database.backend === "postgres") {
      const { rows } = await database.query(
        "select 1 from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
      );
      expect(rows).toEqual([]);
    }
    expect(await readdir(folder)).toEqual([]);
  });
});

describeEachDatabase("export and import", (open) => {
  it("takes messages over with their ids, times and conversations, and skips them the second time", async () => {
    const [source, target] = [await open({ fresh: true }), await open({ fresh: true })];
    await fill(source);
    const lines = await bytesOf((await archivesOf(source)).archives.exportJsonl());
    const { archives } = await archivesOf(target);
    const asOwner = { turnSessions: true };
    expect(await archives.importJsonl(streamOf(lines), asOwner)).toEqual({ imported: 454, skipped: 0 });
    expect(await archives.importJsonl(streamOf(lines), asOwner)).toEqual({ imported: 0, skipped: 454 });
    const select = `select m.id, m.conversation_id, m.role, m.content, m.tool_name, m.tool_args, m.tool_result, m.metadata,
        m.created_at, k.key, p.tool_result as full, c.session_key, c.active
      from messages m join conversations c on c.id = m.conversation_id join message_keys k on k.message_id = m.id
      left join payloads p on p.message_id = m.id order by m.created_at, m.seq`;
    expect((await target.query(select)).rows).toEqual((await source.query(select)).rows);
    // Its own store skips all of it too.
    const own = await archivesOf(source);
    expect(await own.archives.importJsonl(streamOf(lines), asOwner)).toEqual({ imported: 0, skipped: 454 });
  });

  it("takes nothing into an agent's own session, unless the owner asks for it", async () => {
    const database = await open({ fresh: true });
    await write(writerOf(database), "main:agent:live:", [said("what the owner said")]);
    const { archives } = await archivesOf(database);
    const conversations = await database.query<{ id: string }>("select id from conversations");
    const line = (session_key: string, more: object = {}) =>
      JSON.stringify({ session_key, role: "assistant", content: `into ${session_key}`, ...more });
    for (const key of ["main:agent:live:", "main:agent:new:", "m%61in:agent:live:", "main:telegram:1:ada"]) {
      const lines = Buffer.from([line("elsewhere"), line(key), line("after")].join("\n"));
      await expect(archives.importJsonl(streamOf(lines)), key).rejects.toMatchObject({
        code: "MEMORY_INVALID_ARGUMENT",
        message: expect.stringContaining("Line 2: session_key is a session of this service's own agent"),
      });
    }
    // Another key does not open its conversation either.
    const planted = Buffer.from(line("elsewhere", { conversation_id: conversations.rows[0]?.id }));
    await expect(archives.importJsonl(streamOf(planted))).rejects.toMatchObject({ code: "MEMORY_INVALID_ARGUMENT" });
    const count = "select count(*)::int as n from messages m join conversations c on c.id = m.conversation_id";
    const { rows } = await database.query(`${count} where c.session_key not in ('elsewhere')`);
    expect(rows).toEqual([{ n: 1 }]);
    const owner = await archives.importJsonl(streamOf(Buffer.from(line("main:agent:live:"))), { turnSessions: true });
    expect(owner).toEqual({ imported: 1, skipped: 0 });
  });

  it("takes plain lines from elsewhere, repeats and all, once", async () => {
    const database = await open({ fresh: true });
    const { archives } = await archivesOf(database);
    const lines = Buffer.from(
      ['{"session_key":"s","role":"user","content":"hi"}', "", '{"session_key":"s","role":"user","content":"hi"}'].join(
        "\n",
      ),
    );
    expect(await archives.importJsonl(streamOf(lines, 7))).toEqual({ imported: 2, skipped: 0 });
    expect(await archives.importJsonl(streamOf(lines, 7))).toEqual({ imported: 0, skipped: 2 });
  });

  it("refuses lines that are not UTF-8", async () => {
    const { archives } = await archivesOf(await open());
    await expect(archives.importJsonl(streamOf(Buffer.from([0xff, 0xfe, 0x0a])))).rejects.toMatchObject({
      code: "MEMORY_ARCHIVE_INVALID",
    });
  });

  it.each([
    ["{", "Line 2 is not JSON"],
    ['{"session_key":"s"}', "Line 2 is not a message (role"],
    ['{"session_key":"s","role":"user"}', "content"],
    ['{"role":"user","content":"x"}', "Line 2 is not a message (session_key: is missing: a text)."],
    [
      '{"session_key":"s","role":"user","content":"x","conversation_id":"018f0000-0000-7000-8000-000000000000","created_at":"no time"}',
      "cannot be imported",
    ],
  ])("names the line that it cannot take: %s", async (line, message) => {
    const { archives } = await archivesOf(await open());
    const lines = Buffer.from(`{"session_key":"bad","role":"user","content":"hi"}\n${line}\n`);
    await expect(archives.importJsonl(streamOf(lines))).rejects.toMatchObject({
      code: "MEMORY_INVALID_ARGUMENT",
      message: expect.stringContaining(message),
    });
  });
});
