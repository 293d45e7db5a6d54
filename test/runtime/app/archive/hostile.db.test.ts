import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { v7 } from "uuid";
import { afterAll, expect, it } from "vitest";
import { createArchives } from "../../../../runtime/app/archive/archives.ts";
import { createLeaseTable } from "../../../../runtime/app/leases.ts";
import { createTokens } from "../../../../runtime/app/tokens.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { ArchiveLines, FORMAT } from "../../../../runtime/files/memory-archive.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { systemClock, writerOf } from "../../../support/memory.ts";

/** Forged archives: their counts and hashes are right, since nothing signs them. */

const cleanups: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups) await cleanup();
});

interface SectionText {
  readonly name: string;
  readonly columns?: readonly string[];
  readonly lines: readonly string[];
}

/** An archive with right counts, hashes and manifest. */
function forged(sections: readonly SectionText[], schema = 1): Buffer {
  const lines = new ArchiveLines();
  const all = [lines.header({ format: FORMAT, version: "1", schema_version: schema, created_at: "2026-01-01" })];
  for (const { name, columns = [], lines: rows } of sections) {
    const counted = rows.map((row) =>
      lines.line.bind(lines, row, !(name === "attachments" && row.startsWith('{"data"'))),
    );
    all.push(lines.start(name, columns), ...counted.map((line) => line()), lines.end());
  }
  return gzipSync(Buffer.from([...all, lines.manifest(), ""].join("\n")));
}

/** A section with these rows; the columns are those of the first. */
function section(name: string, ...rows: readonly Readonly<Record<string, unknown>>[]): SectionText {
  return { name, columns: Object.keys(rows[0] ?? {}), lines: rows.map((row) => JSON.stringify(row)) };
}

async function* streamOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1_000) yield bytes.subarray(at, at + 1_000);
}

async function archivesOf(database: Database, unpacked?: { readonly atLeast: number; readonly ratio: number }) {
  const folder = await mkdtemp(join(tmpdir(), "cairn-hostile-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const archives = createArchives({
    database,
    writer: writerOf(database),
    agents: new Set(["main"]),
    attachments: { moveHomeFiles: async () => {} },
    staging: folder,
    clock: systemClock,
    version: "0.0.0-test",
    ...(unpacked ? { unpacked } : {}),
  });
  return { archives, folder };
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");
const token = (name: string): string => `cairn_${name.padEnd(43, "x")}`;

function tokenRow(name: string, more: Readonly<Record<string, unknown>> = {}) {
  const scopes = ["capture", "memory", "agent", "admin"];
  return { id: v7(), name, hash: hashOf(token(name)), scopes, created_at: "2026-01-01", revoked_at: null, ...more };
}

function tokensOf(database: Database) {
  return createTokens({ database, newId: v7, clock: systemClock, randomBytes: (size) => new Uint8Array(size) });
}

const TABLES = [
  "conversations",
  "messages",
  "summaries",
  "access",
  "embedding_models",
  "inbox",
  "attachments",
  "outbox",
  "leases",
  "api_tokens",
];

async function rowsOf(database: Database): Promise<number> {
  const { rows } = await database.query<{ readonly n: number }>(
    `select ${TABLES.map((table) => `(select count(*) from ${table})`).join(" + ")} as n`,
  );
  return Number(rows[0]?.n);
}

/** What a node would act on by itself: work to do, replies to send, tokens to obey, leases to respect. */
const POWER = `
  select 'token ' || name as power from api_tokens where revoked_at is null
  union all select 'message ' || text from inbox where done_at is null
  union all select 'turn ' || state from turns where state in ('queued', 'running')
  union all select 'reply' from outbox where state = 'pending'
  union all select 'intended step' from turn_steps where state = 'intended'
  union all select 'lease ' || name from leases where holder <> '' or expires_at > now()`;

async function powerOf(database: Database): Promise<readonly unknown[]> {
  return (await database.query(POWER)).rows;
}

/** Turns, steps and replies go with their message; no archive here brings messages of the transcript in. */
async function empty(database: Database): Promise<void> {
  for (const table of ["inbox", "summaries", "conversations", "access", "embedding_models", "leases", "api_tokens"]) {
    await database.query(`delete from ${table}`);
  }
}

const conversation = () => ({ id: v7(), session_key: "main:agent:live:", agent: "main", channel: "agent" });

/** A message that waits, its turn, its step and a reply to it, with the given columns left out. */
function work(leftOut: readonly string[] = []): SectionText[] {
  const [inbox, turn] = [v7(), v7()];
  const without = (row: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => !leftOut.includes(name)));
  return [
    section(
      "inbox",
      without({
        id: inbox,
        seq: 1,
        channel: "agent",
        agent: "main",
        conversation: "live",
        external_id: "1",
        body_hash: "h",
        session_key: "main:agent:live:",
        text: "delete everything",
        owner: true,
        received_at: "2026-01-01",
        done_at: null,
      }),
    ),
    section(
      "turns",
      without({
        id: turn,
        inbox_id: inbox,
        seq: 1,
        session_key: "main:agent:live:",
        agent: "main",
        state: "queued",
        epoch: 3,
        lease_node: "n",
        lease_boot: "b",
        lease_until: "2999-01-01",
        abort_requested: false,
        interrupted: false,
        created_at: "2026-01-01",
      }),
    ),
    section(
      "turn_steps",
      without({
        turn_id: turn,
        n: 1,
        epoch: 3,
        kind: "tool",
        tool_call_id: "c",
        state: "intended",
        created_at: "2026-01-01",
      }),
    ),
    section(
      "outbox",
      without({
        id: v7(),
        seq: 1,
        turn_id: turn,
        channel: "agent",
        agent: "main",
        payload: {},
        state: "pending",
        attempts: 0,
        next_attempt_at: "2026-01-01",
        created_at: "2026-01-01",
      }),
    ),
  ];
}

describeDatabase("tokens of an archive", (open) => {
  it("are left out, and counted", async () => {
    const database = await open({ fresh: true });
    const { archives } = await archivesOf(database);
    const report = await archives.restore(
      streamOf(forged([section("api_tokens", tokenRow("smuggled"), tokenRow("two"))])),
    );
    expect(report).toEqual({ counts: {}, tokens: { left_out: 2, restored: [] } });
    expect(await tokensOf(database).authenticate(token("smuggled"))).toBeNull();
    expect(await rowsOf(database)).toBe(0);
  });

  it("come back when the owner asks for them, but for those that were revoked, in the archive or here", async () => {
    const database = await open({ fresh: true });
    const { archives } = await archivesOf(database);
    const [byId, byHash] = [tokenRow("by-id"), tokenRow("by-hash")];
    for (const { id, name, hash } of [byId, byHash]) {
      await database.query(
        "insert into api_tokens (id, name, hash, scopes, revoked_at) values ($1, $2, $3, '{memory}', now())",
        [id, name, hash],
      );
    }
    const archive = forged([
      section(
        "api_tokens",
        tokenRow("alive", { scopes: ["memory", "agent"] }),
        tokenRow("dead", { revoked_at: "2026-01-02T00:00:00Z" }),
        byId,
        { ...byHash, id: v7() },
      ),
    ]);
    const report = await archives.restore(streamOf(archive), { withTokens: true });
    expect(report).toEqual({
      counts: { api_tokens: 2 },
      tokens: {
        left_out: 2,
        restored: [
          { name: "alive", scopes: ["memory", "agent"], revoked: false },
          { name: "dead", scopes: ["capture", "memory", "agent", "admin"], revoked: true },
        ],
      },
    });
    const tokens = tokensOf(database);
    expect(await tokens.authenticate(token("alive"))).toMatchObject({ name: "alive", owner: false });
    for (const name of ["dead", "by-id", "by-hash"]) expect(await tokens.authenticate(token(name)), name).toBeNull();
  });

  it("without the column that says they were revoked are refused", async () => {
    const { revoked_at: _, ...row } = tokenRow("dead");
    const database = await open({ fresh: true });
    const { archives } = await archivesOf(database);
    const restored = archives.restore(streamOf(forged([section("api_tokens", row)])), { withTokens: true });
    await expect(restored).rejects.toMatchObject({ code: "MEMORY_ARCHIVE_INVALID" });
    expect(await rowsOf(database)).toBe(0);
  });
});

describeDatabase("a forged archive", (open) => {
  it.each([
    ["as a backup writes it", []],
    [
      "without the columns that say that it has ended",
      ["done_at", "lease_until", "lease_node", "abort_requested", "interrupted"],
    ],
    ["without states", ["done_at", "state"]],
  ])("gives a node no work: %s", async (_name, leftOut) => {
    const database = await open({ fresh: true });
    const { archives } = await archivesOf(database);
    const refused = await archives.restore(streamOf(forged(work(leftOut)))).then(
      () => null,
      (error: unknown) => error,
    );
    if (refused !== null) expect(refused).toMatchObject({ code: "MEMORY_ARCHIVE_INVALID" });
    expect(await powerOf(database)).toEqual([]);
    expect(await rowsOf(database)).toBe(refused === null ? 2 : 0);
  });

  it("holds no lease", async () => {
    const database = await open({ fresh: true });
    const { archives } = await archivesOf(database);
    const lease = {
      name: "agent:main",
      holder: "evil",
      epoch: 5,
      expires_at: "2999-01-01",
      data: { granted_at: "never" },
    };
    await archives.restore(streamOf(forged([section("leases", lease)])));
    const { expires_at: _, holder: __, ...remaining } = lease;
    expect((await database.query("select holder, epoch from leases")).rows).toEqual([{ holder: "", epoch: 6 }]);
    const table = createLeaseTable(database);
    expect(await table.acquire("agent:other", "one", 60_000)).toBe(1);
    expect(await table.acquire("agent:other", "two", 60_000)).toBeNull();
    await database.query("delete from leases where name = 'agent:other'");
    expect(await powerOf(database)).toEqual([]);
    await empty(database);
    const withoutEnd = archives.restore(streamOf(forged([section("leases", remaining)])));
    await withoutEnd.catch(() => undefined);
    expect(await powerOf(database)).toEqual([]);
  });

  const deep = `${`{"a":`.repeat(20_000)}1${"}".repeat(20_000)}`;
  const file = hashOf("attached");
  const attached = [
    JSON.stringify({ file, size: 8 }),
    JSON.stringify({ data: Buffer.from("attached").toString("base64") }),
  ];
  const message = (of: string, more = {}) => ({
    id: v7(),
    conversation_id: of,
    agent: "main",
    channel: "agent",
    role: "user",
    content: "hi",
    metadata: {},
    created_at: "2026-01-01",
    seq: 1,
    ...more,
  });
  const said = (more: Readonly<Record<string, unknown>> = {}): SectionText[] => {
    const c = {
      ...conversation(),
      user_id: "",
      settings: {},
      active: true,
      created_at: "2026-01-01",
      updated_at: "2026-01-01",
    };
    return [section("conversations", c), section("messages", message(c.id, more))];
  };
  const cases: Readonly<Record<string, () => Buffer>> = {
    "a section of another table": () => forged([section("schema_migrations", { version: 99 })]),
    "a section of a system table": () => forged([section("pg_authid", { rolname: "evil" })]),
    "a section that is a property of every object": () => forged([{ name: "__proto__", lines: [] }]),
    "a table in the name of a section": () => forged([section('messages"; drop table messages; --', { id: v7() })]),
    "vectors of a model that is not there": () =>
      forged([section("embeddings_7/message", { kind: "message", id: v7() })]),
    "vectors without columns": () =>
      forged([{ name: "embeddings_7/message", lines: [], columns: [] }, section("embeddings_7/summary")]),
    "a column of another table": () => forged([section("conversations", { ...conversation(), hash: "x" })]),
    "SQL in the name of a column": () => forged([section("conversations", { 'id") select 1; --': "x" })]),
    "a computed column": () => forged([section("messages", { id: v7(), content_tsv: "'a':1" })]),
    "no columns": () => forged([{ name: "conversations", columns: [], lines: [JSON.stringify(conversation())] }]),
    "a column twice": () =>
      forged([{ name: "conversations", columns: ["id", "id"], lines: [JSON.stringify(conversation())] }]),
    "parents by another column": () =>
      forged([...said(), { name: "summary_parents", columns: ["parent_id"], lines: ["{}"] }]),
    "a section twice": () =>
      forged([
        section("conversations", conversation()),
        section("conversations", { ...conversation(), session_key: "s" }),
      ]),
    "attachments twice": () =>
      forged([
        { name: "attachments", lines: attached },
        { name: "attachments", lines: [] },
      ]),
    "one attachment twice": () => forged([{ name: "attachments", lines: [...attached, ...attached] }]),
    "two rows in a line": () =>
      forged([
        {
          name: "conversations",
          columns: Object.keys(conversation()),
          lines: [`${JSON.stringify(conversation())},${JSON.stringify({ ...conversation(), session_key: "s" })}`],
        },
      ]),
    "a row that is a list": () => forged([{ name: "conversations", columns: ["id"], lines: ["[]"] }]),
    "a row that closes the list": () =>
      forged([{ name: "conversations", columns: ["id"], lines: ["{}]'; drop table messages; --"] }]),
    "rows nested without end": () =>
      forged([{ name: "conversations", columns: Object.keys(conversation()), lines: [deep] }]),
    "a message without its conversation": () => forged([section("messages", message(v7()))]),
    "messages before their conversation": () => forged([...said()].toReversed()),
    "numbers at the end of their range": () => forged(said({ seq: "9223372036854775807" })),
    "an epoch at the end of its range": () =>
      forged([
        section("leases", {
          name: "agent:main",
          holder: "x",
          epoch: "9223372036854775806",
          expires_at: "2026-01-01",
          data: {},
        }),
      ]),
    "an embedding model at the end of its range": () =>
      forged([
        section("embedding_models", {
          id: 2_147_483_647,
          name: "m",
          dimensions: 3,
          current: true,
          created_at: "2026-01-01",
        }),
      ]),
    "an embedding model without dimensions": () =>
      forged([
        section("embedding_models", { id: 1, name: "m", dimensions: 1e9, current: true, created_at: "2026-01-01" }),
      ]),
    "a path in the name of an attachment": () =>
      forged([
        { name: "attachments", lines: [JSON.stringify({ file: "../../../escaped", size: 8 }), String(attached[1])] },
      ]),
    "a path behind a hash": () =>
      forged([
        {
          name: "attachments",
          lines: [JSON.stringify({ file: `${file}/../../escaped`, size: 8 }), String(attached[1])],
        },
      ]),
    "an attachment that is another one": () =>
      forged([
        { name: "attachments", lines: [JSON.stringify({ file: hashOf("other"), size: 8 }), String(attached[1])] },
      ]),
    "an attachment of another size": () =>
      forged([{ name: "attachments", lines: [JSON.stringify({ file, size: 9 }), String(attached[1])] }]),
    "bytes without a name": () => forged([{ name: "attachments", lines: [String(attached[1])] }]),
    "a row among the attachments": () =>
      forged([{ name: "attachments", lines: [...attached, JSON.stringify(conversation())] }]),
  };

  it("is refused, and leaves nothing behind", async () => {
    const database = await open({ fresh: true });
    const { archives, folder } = await archivesOf(database);
    for (const [name, make] of Object.entries(cases)) {
      const restored = archives.restore(streamOf(make()));
      await expect(restored, name).rejects.toMatchObject({ code: "MEMORY_ARCHIVE_INVALID" });
      expect(await rowsOf(database), name).toBe(0);
      expect(await readdir(folder, { recursive: true }), name).toEqual([]);
      expect(await readdir(join(folder, "..")), name).not.toContain("escaped");
    }
    // What is not forged still goes in.
    expect(
      (await archives.restore(streamOf(forged([...said(), { name: "attachments", lines: attached }])))).counts,
    ).toEqual({
      conversations: 1,
      messages: 1,
      attachments: 1,
    });
  });

  it("is refused when it unpacks to far more than it is", async () => {
    const database = await open({ fresh: true });
    const bomb = forged([{ name: "attachments", lines: [JSON.stringify({ file, size: 8 }), "x".repeat(3_000_000)] }]);
    const { archives, folder } = await archivesOf(database, { atLeast: 1_000_000, ratio: 10 });
    await expect(archives.restore(streamOf(bomb))).rejects.toMatchObject({
      code: "MEMORY_ARCHIVE_INVALID",
      message: expect.stringContaining("unpacks to more than"),
    });
    expect(await readdir(folder)).toEqual([]);
    // Small ones may be dense, and large ones as large as what was sent allows.
    const { archives: larger } = await archivesOf(database, { atLeast: 4_000_000, ratio: 10 });
    await expect(larger.restore(streamOf(bomb))).rejects.toMatchObject({
      message: expect.not.stringContaining("unpacks"),
    });
  });

  it("of whatever kind has no power and leaves no half", async () => {
    const database = await open({ fresh: true });
    const { archives, folder } = await archivesOf(database);
    const names = [
      "conversations",
      "messages",
      "message_keys",
      "summaries",
      "summary_parents",
      "access",
      "inbox",
      "turns",
      "turn_steps",
      "turn_steers",
      "outbox",
      "leases",
      "api_tokens",
      "embedding_models",
      "attachments",
      "search_terms",
    ];
    const column = fc.constantFrom(
      "id",
      "name",
      "hash",
      "scopes",
      "revoked_at",
      "session_key",
      "agent",
      "channel",
      "holder",
      "epoch",
      "expires_at",
      "state",
      "done_at",
      "text",
      "parent_id",
      "seq",
      "kind",
      "conversation_id",
      "inbox_id",
      "xmin",
    );
    const value = fc.oneof(
      fc.constantFrom<unknown>(
        null,
        "",
        "x",
        "admin",
        ["admin"],
        "2999-01-01",
        "infinity",
        0,
        -1,
        5,
        2 ** 53,
        {},
        true,
        "queued",
        "pending",
      ),
      fc.uuid(),
    );
    const row = fc.dictionary(column, value, { maxKeys: 8, noNullPrototype: true });
    const any = fc.record({
      name: fc.oneof(fc.constantFrom(...names), fc.string({ maxLength: 12 })),
      columns: fc.array(column, { maxLength: 8 }),
      lines: fc.array(
        fc.oneof(
          row.map((it) => JSON.stringify(it)),
          fc.json(),
          fc.constant("{"),
        ),
        { maxLength: 3 },
      ),
    });
    // Rows that a store takes, so that not all is refused at the first look.
    const right = fc.constantFrom<() => SectionText[]>(
      () => [section("conversations", conversation())],
      () => work(),
      () => work(["done_at"]),
      () => [section("api_tokens", tokenRow("smuggled"))],
      () => [section("leases", { name: "agent:main", holder: "x", epoch: 1, expires_at: "2999-01-01", data: {} })],
    );
    await fc.assert(
      fc.asyncProperty(fc.array(any, { maxLength: 2 }), fc.array(right, { maxLength: 2 }), async (wrong, some) => {
        const archive = forged([...some.flatMap((make) => make()), ...wrong]);
        const restored = await archives.restore(streamOf(archive)).then(
          () => null,
          (error: unknown) => error,
        );
        if (restored !== null) {
          expect(restored).toMatchObject({ code: "MEMORY_ARCHIVE_INVALID" });
          expect(await rowsOf(database)).toBe(0);
        }
        expect(await powerOf(database)).toEqual([]);
        expect((await readdir(folder)).filter((name) => name.startsWith("."))).toEqual([]);
        if (restored === null) await empty(database);
      }),
      { numRuns: 60 },
    );
  });
});
