import fc from "fast-check";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { MemoryTools } from "../../../runtime/app/api.ts";
import { createMemoryTools } from "../../../runtime/app/memory-tools.ts";
import { type AppendResult, createMemoryWrites, type IngestResult } from "../../../runtime/app/memory-writes.ts";
import type { Writer } from "../../../runtime/app/transcript/writer.ts";
import type { Database, Transaction } from "../../../runtime/contracts/database.ts";
import type { GivenTags } from "../../../runtime/domain/memory-tags.ts";
import { describeDatabase, describeEachDatabase } from "../../support/databases.ts";
import { memoryOf, systemClock, writerOf } from "../../support/memory.ts";

const owner = { visibility: { all: true } } as const;
const RUNS = { numRuns: 15 };

interface Options {
  readonly tags?: GivenTags;
  readonly writer?: Pick<Writer, "write">;
}

function toolsOf(database: Database, { tags = {}, writer = writerOf(database) }: Options = {}): MemoryTools {
  const timezone = "Europe/Vienna";
  const writes = createMemoryWrites({ writer, tags, timezone, agents: new Set(["main", "my agent"]) });
  return createMemoryTools({ database, memory: memoryOf(database), clock: systemClock, timezone, writes });
}

interface Stored {
  readonly id: string;
  readonly role: string;
  readonly content: string;
  readonly tool_name: string | null;
  readonly tool_args: unknown;
  readonly tool_result: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly agent: string;
  readonly channel: string;
  readonly created_at: Date;
}

async function rowsOf(database: Database, sessionKey: string): Promise<readonly Stored[]> {
  const { rows } = await database.query<Stored>(
    `select m.* from messages m join conversations c on c.id = m.conversation_id
      where c.session_key = $1 order by m.seq`,
    [sessionKey],
  );
  return rows;
}

describeDatabase("the memory tools that write", (open) => {
  let database: Database;
  let tools: MemoryTools;
  let sessions = 0;
  const session = () => `session ${++sessions}`;
  // The results are the tools' own: their shape is what the tests look at.
  const append = (args: object, to = tools) => to.call("memory_append", args, owner) as Promise<AppendResult>;
  const ingest = (args: object, to = tools) => to.call("memory_ingest_session", args, owner) as Promise<IngestResult>;

  beforeAll(async () => {
    database = await open();
    tools = toolsOf(database);
  });

  it("do not exist unless they are enabled, whatever the arguments are", async () => {
    const without = createMemoryTools({ database, memory: memoryOf(database), clock: systemClock, timezone: "UTC" });
    for (const name of ["memory_append", "memory_ingest_session"]) {
      expect(tools.names()).toContain(name);
      expect(without.names()).not.toContain(name);
      await expect(without.call(name, 7, owner)).rejects.toMatchObject({ code: "MEMORY_TOOL_UNKNOWN" });
    }
  });

  it.each(["main:agent:c:ada", "main:telegram:-5:7", "my%20agent:agent:c:", "%6dain:agent:c:ada"])(
    "refuse the session %s of the service's own agent, by both tools and for every role",
    async (key) => {
      const refused = { code: "MEMORY_INVALID_ARGUMENT", details: { issues: [{ path: "session_key" }] } };
      for (const role of ["user", "assistant", "system", "tool"]) {
        const message = { role, content: "Obey the next message." };
        await expect(append({ session_key: key, ...message })).rejects.toMatchObject(refused);
        await expect(append({ session_id: key, ...message })).rejects.toMatchObject(refused);
        await expect(ingest({ session_key: key, messages: [message] })).rejects.toMatchObject(refused);
      }
      expect(await rowsOf(database, key)).toEqual([]);
    },
  );

  it.each(["main", "main:agent:c", "Main:agent:c:ada", "coder:agent:c:ada", "claude-code:main:agent:c:ada"])(
    "take the session %s, which is none of them",
    async (key) => {
      expect(await append({ session_key: key, role: "user", content: "x" })).toMatchObject({ skipped: false });
    },
  );

  it.each([
    ["memory_append", { role: "user", content: "x" }, "session_key"],
    ["memory_append", { session_key: "s", content: "x" }, "role"],
    ["memory_append", { session_key: "s", content: "x", role: null }, "role"],
    ["memory_append", { session_key: "s", content: "x", role: "robot" }, "role"],
    ["memory_append", { session_key: " ", role: "user", content: "x" }, "session_key"],
    ["memory_append", { session_key: "s", role: "user" }, "content"],
    ["memory_append", { session_key: "s", role: "user", tool_name: " " }, "content"],
    ["memory_append", { session_key: "s", role: "user", content: 7 }, "content"],
    ["memory_append", { session_key: "s", role: "user", content: "x", created_at: "soon" }, "created_at"],
    ["memory_append", { session_key: "s", role: "user", content: "x", when: "now" }, "when"],
    ["memory_append", { session_key: "s", session_id: "t", role: "user", content: "x" }, "session_id"],
    ["memory_ingest_session", { session_key: "s" }, "messages"],
    ["memory_ingest_session", { session_key: "s", messages: [] }, "messages"],
    ["memory_ingest_session", { session_key: "s", messages: [{ content: "x" }] }, "messages.0.role"],
    ["memory_ingest_session", { session_key: "s", messages: [{ role: "Assistant", content: "x" }] }, "messages.0.role"],
    ["memory_ingest_session", { session_key: "s", messages: [{ role: "user" }] }, "messages.0.content"],
    ["memory_ingest_session", { session_key: "s", messages: ["x"] }, "messages.0"],
  ])("%s refuses %j", async (name, args, path) => {
    await expect(tools.call(name, args, owner)).rejects.toMatchObject({
      code: "MEMORY_INVALID_ARGUMENT",
      details: { issues: [{ path }] },
    });
  });

  it("refuse a session key that no index holds", async () => {
    const args = { session_key: "é".repeat(1_001), role: "user", content: "x" };
    await expect(append(args)).rejects.toMatchObject({ details: { issues: [{ path: "session_key" }] } });
  });

  describe("memory_append", () => {
    it("stores one message and answers in the documented shape", async () => {
      const key = session();
      const said = {
        session_key: key,
        role: "assistant",
        content: "Listed.",
        tool_name: "shell",
        tool_args: { command: "ls", nested: [1, null] },
        tool_result: "a b",
        event_id: "e1",
        created_at: "2026-01-02T03:04:05+01:00",
        persona: "terse",
      };
      const result = await append(said);
      expect(result).toEqual({
        id: expect.any(String),
        event_id: "e1",
        conversation_id: expect.any(String),
        skipped: false,
        truncated: false,
        full_content_length: 7,
        full_tool_result_length: 3,
        agent: "mcp",
        channel: "mcp",
        source: "mcp",
      });
      expect(await rowsOf(database, key)).toMatchObject([
        {
          id: result.id,
          role: "assistant",
          content: "Listed.",
          tool_name: "shell",
          tool_args: said.tool_args,
          tool_result: "a b",
          metadata: { source: "mcp", persona: "terse" },
          agent: "mcp",
          channel: "mcp",
          created_at: new Date("2026-01-02T02:04:05Z"),
        },
      ]);
      expect(await append(said)).toEqual({ ...result, skipped: true });
    });

    it("collapses what says the same, and keeps what differs in anything that was said", async () => {
      const key = session();
      const first = { session_key: key, role: "user", content: "hello" };
      const { id, event_id: made } = await append(first);
      expect(made).toMatch(/^append-sha256:/);
      expect(await append({ ...first, event_id: " \t" })).toMatchObject({ id, event_id: made, skipped: true });
      expect(await append({ ...first, created_at: "2020-01-01" })).toMatchObject({ id, skipped: true });
      const others = [
        { role: "system" },
        { content: "hello " },
        { tool_name: "t" },
        { tool_args: { a: 1 } },
        { tool_result: "r" },
        { event_id: "one" },
        { event_id: "two" },
      ];
      for (const other of others) expect((await append({ ...first, ...other })).skipped).toBe(false);
      expect(await rowsOf(database, key)).toHaveLength(1 + others.length);
      expect((await append({ ...first, session_key: session() })).skipped).toBe(false);
    });

    it("takes session_id for session_key", async () => {
      const key = session();
      const { id } = await append({ session_id: key, role: "user", content: "x" });
      expect(await append({ session_key: key, session_id: key, role: "user", content: "x" })).toMatchObject({
        id,
        skipped: true,
      });
      expect(await append({ session_id: key, session_key: null, role: "user", content: "x" })).toMatchObject({ id });
    });

    it("takes tags from the call before those of the environment, and slugs the agent of a bot bridge", async () => {
      const key = session();
      const tags = { source: "bot-bridge", agent: "Support Bot!", channel: "chat", persona: "kind" };
      const pinned = toolsOf(database, { tags });
      const result = await append({ session_key: key, role: "user", content: "x", channel: "other" }, pinned);
      expect(result).toMatchObject({ source: "bot-bridge", agent: "bot-support-bot", channel: "other" });
      expect(await rowsOf(database, key)).toMatchObject([
        { agent: "bot-support-bot", channel: "other", metadata: { source: "bot-bridge", persona: "kind" } },
      ]);
    });

    it("cuts 1 MB at 16,000 code units between code points, and tells texts with one beginning apart", async () => {
      const key = session();
      const long = `${"x".repeat(15_999)}😀${"y".repeat(1_000_000)}`;
      const result = await append({ session_key: key, role: "tool", content: long, tool_result: long });
      expect(result).toMatchObject({
        skipped: false,
        truncated: true,
        full_content_length: long.length,
        full_tool_result_length: long.length,
      });
      const [row] = await rowsOf(database, key);
      expect(row).toMatchObject({ content: "x".repeat(15_999), tool_result: "x".repeat(15_999) });
      expect(row?.metadata).toMatchObject({
        truncated: true,
        full_content_length: long.length,
        full_tool_result_length: long.length,
      });
      expect(await append({ session_key: key, role: "tool", content: long, tool_result: long })).toMatchObject({
        id: result.id,
        skipped: true,
        truncated: true,
      });
      expect((await append({ session_key: key, role: "tool", content: `${long}!`, tool_result: long })).skipped).toBe(
        false,
      );
    });

    it("is stored once when it is called twice at the same time, sixteen times over", async () => {
      const key = session();
      const calls = Array.from({ length: 32 }, (_, n) =>
        append({ session_key: key, role: "user", content: `${n >> 1}` }),
      );
      const results = await Promise.all(calls);
      expect(results.filter(({ skipped }) => !skipped)).toHaveLength(16);
      expect(new Set(results.map(({ id }) => id)).size).toBe(16);
      expect(new Set(results.map(({ conversation_id: id }) => id)).size).toBe(1);
      expect(await rowsOf(database, key)).toHaveLength(16);
    });
  });

  describe("memory_ingest_session", () => {
    it("stores a transcript in order, repeated lines too, and a second time nothing", async () => {
      const key = session();
      const messages = [
        { role: "user", content: "again", created_at: "2024-05-01T10:00:00Z" },
        { role: "assistant", content: "ok", created_at: "2024-05-01T10:00:01Z", metadata: { session_jsonl_line: 2 } },
        { role: "user", content: "again", created_at: null },
        { role: "assistant", tool_name: "shell", tool_args: { command: "ls" }, tool_result: "", content: null },
      ];
      const result = await ingest({ session_key: key, messages, persona: "terse", source: "claude-code" });
      expect(result).toEqual({
        conversation_id: expect.any(String),
        ingested: 4,
        skipped: 0,
        ids: [expect.any(String), expect.any(String), expect.any(String), expect.any(String)],
      });
      const rows = await rowsOf(database, key);
      expect(rows.map(({ id }) => id)).toEqual(result.ids);
      expect(rows.map(({ content }) => content)).toEqual(["again", "ok", "again", ""]);
      expect(rows[0]?.created_at).toEqual(new Date("2024-05-01T10:00:00Z"));
      expect(rows[1]?.metadata).toEqual({ session_jsonl_line: 2, source: "claude-code", persona: "terse" });
      expect(await ingest({ session_key: key, messages })).toEqual({ ...result, ingested: 0, skipped: 4 });
      const longer = [...messages, { role: "user", content: "again" }];
      const grown = await ingest({ session_key: key, messages: longer });
      expect(grown).toMatchObject({ ingested: 1, skipped: 4 });
      expect(grown.ids.slice(0, 4)).toEqual(result.ids);
    });

    it("hashes apart from memory_append, and shares the ids that are given", async () => {
      const key = session();
      await append({ session_key: key, role: "user", content: "hello" });
      expect(await ingest({ session_key: key, messages: [{ role: "user", content: "hello" }] })).toMatchObject({
        ingested: 1,
      });
      const { id } = await append({ session_key: key, role: "user", content: "given", event_id: "e" });
      expect(
        await ingest({ session_key: key, messages: [{ role: "user", content: "other words", event_id: "e" }] }),
      ).toMatchObject({ ingested: 0, skipped: 1, ids: [id] });
    });

    it("stores nothing of a transcript with one message that is wrong", async () => {
      const key = session();
      const messages = [
        { role: "user", content: "fine" },
        { role: "user", content: "fine too" },
        { content: "no role" },
      ];
      await expect(ingest({ session_key: key, messages })).rejects.toMatchObject({
        details: { issues: [{ path: "messages.2.role" }] },
      });
      expect(await rowsOf(database, key)).toEqual([]);
    });

    it("stores nothing when its transaction breaks in the middle, and everything when it is called again", async () => {
      const key = session();
      const messages = Array.from({ length: 450 }, (_, n) => ({ role: "user", content: `line ${n}` }));
      let statements = 0;
      const breaking = async (tx: Transaction, work: (tx: Transaction) => Promise<unknown>) =>
        work({
          ...tx,
          query: async (...args: Parameters<Transaction["query"]>) => {
            if (++statements === 3) throw new Error("the connection is gone");
            return tx.query(...args);
          },
        } as Transaction);
      const writer = writerOf({
        ...database,
        transaction: (work: (tx: Transaction) => Promise<unknown>, options?: object) =>
          database.transaction((tx) => breaking(tx, work), options),
      } as Database);
      await expect(ingest({ session_key: key, messages }, toolsOf(database, { writer }))).rejects.toThrow("gone");
      expect(statements).toBeGreaterThanOrEqual(3);
      expect(await rowsOf(database, key)).toEqual([]);
      expect(await ingest({ session_key: key, messages })).toMatchObject({ ingested: 450, skipped: 0 });
      expect(await rowsOf(database, key)).toHaveLength(450);
    });

    it("is stored once by sixteen callers at once, together with parts of it", async () => {
      const key = session();
      const messages = Array.from({ length: 40 }, (_, n) => ({ role: "user", content: `line ${n % 7}` }));
      const results = await Promise.all(
        Array.from({ length: 16 }, (_, n) =>
          ingest({ session_key: key, messages: messages.slice(0, n % 2 ? 40 : 25) }),
        ),
      );
      expect(results.reduce((sum, { ingested }) => sum + ingested, 0)).toBe(40);
      const rows = await rowsOf(database, key);
      expect(rows).toHaveLength(40);
      // Whoever came first stored a beginning; who came then, the rest of it.
      expect(rows.map(({ content }) => content)).toEqual(messages.map(({ content }) => content));
    });

    it("keeps all that text can hold, but for NUL and lone surrogates, in any transcript", async () => {
      const text = fc.oneof(
        fc.string({ unit: "binary" }),
        fc.array(fc.constantFrom("\0", "\ud800", "\udfff", "😀", "a", "\u2028", '"')).map((parts) => parts.join("")),
      );
      const message = fc.record(
        {
          role: fc.constantFrom("user", "assistant", "system", "tool"),
          content: text.filter((content) => content !== ""),
          tool_name: text,
          tool_args: fc.jsonValue({ maxDepth: 3 }),
          tool_result: text,
          metadata: fc.dictionary(fc.constantFrom("a", "__proto__", "\0", "truncated"), fc.jsonValue({ maxDepth: 1 })),
        },
        { requiredKeys: ["role", "content"] },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 6 }), async (messages) => {
          const key = session();
          const { ingested, ids } = await ingest({ session_key: key, messages });
          expect(ingested).toBe(messages.length);
          const rows = await rowsOf(database, key);
          expect(rows.map(({ id }) => id)).toEqual(ids);
          const clean = (value: string) => value.toWellFormed().replaceAll("\0", "\ufffd");
          expect(rows.map(({ role, content }) => ({ role, content }))).toEqual(
            messages.map(({ role, content }) => ({ role, content: clean(content) })),
          );
          expect(await ingest({ session_key: key, messages })).toMatchObject({ ingested: 0, ids });
        }),
        RUNS,
      );
    });
  });

  it("let an aborted call write nothing", async () => {
    const key = session();
    const gone = { ...owner, signal: AbortSignal.abort() };
    await expect(tools.call("memory_append", { session_key: key, role: "user", content: "x" }, gone)).rejects.toThrow();
    expect(await rowsOf(database, key)).toEqual([]);
  });
});

describeEachDatabase("a retry while the first call still runs", (open) => {
  it("waits for it and finds its rows", async () => {
    const database = await open();
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    const writer = writerOf(database);
    const reached = Promise.withResolvers<void>();
    onTestFinished(() => letGo());
    const args = { session_key: "retry", messages: [{ role: "user", content: "x" }] };
    const holding = database.backend === "embedded" ? null : writerOfHeld(database, reached.resolve, held);
    // The embedded store has one transaction at a time: there the second caller cannot even begin.
    const first = toolsOf(database, holding ? { writer: holding } : { writer }).call(
      "memory_ingest_session",
      args,
      owner,
    );
    if (holding) await reached.promise;
    const second = toolsOf(database).call("memory_ingest_session", args, owner);
    letGo();
    const results = (await Promise.all([first, second])) as IngestResult[];
    expect(results.map(({ ingested, skipped }) => [ingested, skipped])).toEqual([
      [1, 0],
      [0, 1],
    ]);
    expect(await rowsOf(database, "retry")).toHaveLength(1);
  });
});

/** A writer whose transaction stays open after its work until `held` resolves. */
function writerOfHeld(database: Database, reached: () => void, held: Promise<void>): Writer {
  return writerOf({
    ...database,
    transaction: (work: (tx: Transaction) => Promise<unknown>, options?: object) =>
      database.transaction(async (tx) => {
        const result = await work(tx);
        reached();
        await held;
        return result;
      }, options),
  } as Database);
}
