import { v7 } from "uuid";
import { beforeAll, describe, expect, it } from "vitest";
import type { MemoryTools } from "../../../runtime/app/api.ts";
import { createMemoryTools, MEMORY_TOOL_DEFINITIONS } from "../../../runtime/app/memory-tools.ts";
import type { MemoryStats } from "../../../runtime/app/recall/stats.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import { MemoryError } from "../../../runtime/contracts/errors.ts";
import type { Visibility } from "../../../runtime/contracts/memory.ts";
import { describeDatabase } from "../../support/databases.ts";
import { clockAt, memoryOf, said, write, writerOf } from "../../support/memory.ts";

const owner = { visibility: { all: true } } as const;
const clock = clockAt("2026-03-10T12:00:00Z");

function toolsOf(database: Database): MemoryTools {
  return createMemoryTools({ database, memory: memoryOf(database, { clock }), clock, timezone: "Europe/Vienna" });
}

interface Page {
  readonly messages: readonly { readonly content: string; readonly created_at: string }[];
  readonly next_cursor: string | null;
}

describeDatabase("the memory tools", (open) => {
  let database: Database;
  let tools: MemoryTools;
  // The result is the tool's own: its shape is what the tests look at.
  const call = <Result = Record<string, unknown>>(name: string, args: object) =>
    tools.call(name, args, owner) as Promise<Result>;

  beforeAll(async () => {
    database = await open();
    tools = toolsOf(database);
  });

  it("refuse an unknown tool before they look at its arguments", async () => {
    await expect(tools.call("memory_append", 7, owner)).rejects.toMatchObject({ code: "MEMORY_TOOL_UNKNOWN" });
    await expect(tools.call("__proto__", {}, owner)).rejects.toMatchObject({ code: "MEMORY_TOOL_UNKNOWN" });
    expect(tools.names()).toEqual(MEMORY_TOOL_DEFINITIONS.map(({ name }) => name));
  });

  it.each([
    ["memory_search", {}, "query"],
    ["memory_search", { query: " " }, "query"],
    ["memory_search", { query: "x", limit: 0 }, "limit"],
    ["memory_search", { query: "x", limit: 51 }, "limit"],
    ["memory_search", { query: "x", mode: "magic" }, "mode"],
    ["memory_search", { query: "x", since: "soon" }, "since"],
    ["memory_search", { query: "x", since: "2026-02-01", before: "2026-01-01" }, "since"],
    ["memory_search", { query: "x", window: "today", since: "2026-01-01" }, "window"],
    ["memory_browse", { limit: 201 }, "limit"],
    ["memory_browse", { conversation_id: "7" }, "conversation_id"],
    ["memory_browse", { cursor: "bm9uc2Vuc2U" }, "cursor"],
    ["memory_get_full", { id: "../../etc/passwd" }, "id"],
    ["memory_stats", { who: "me" }, "who"],
  ])("%s refuses %j", async (name, args, path) => {
    await expect(tools.call(name, args, owner)).rejects.toMatchObject({
      code: "MEMORY_INVALID_ARGUMENT",
      details: { issues: [{ path }] },
    });
  });

  it("name the known arguments in the error of an unknown one", async () => {
    await expect(tools.call("memory_search", { query: "x", top_k: 3 }, owner)).rejects.toThrow(
      /top_k.*known are query, mode, scope, limit, agent, since, before, window, expand, synthesize/,
    );
  });

  it("describe themselves in JSON Schema without asking for what has a default", () => {
    const search = MEMORY_TOOL_DEFINITIONS.find(({ name }) => name === "memory_search");
    expect(search?.parameters).toMatchObject({
      type: "object",
      required: ["query"],
      additionalProperties: false,
      properties: { limit: { type: "integer", minimum: 1, maximum: 50, default: 10 } },
    });
  });

  it("search answers in the documented shape", async () => {
    await write(writerOf(database), "shape", [said("an albatross", { createdAt: "2026-03-10T00:30:00Z" })]);
    const result = await call("memory_search", { query: "albatross", agent: null });
    expect(result).toEqual({
      query: "albatross",
      mode: "hybrid",
      took_ms: expect.any(Number),
      results: [
        {
          kind: "message",
          id: expect.any(String),
          conversation_id: expect.any(String),
          session: "shape",
          agent: "main",
          channel: "agent",
          role: "user",
          content: "an albatross",
          created_at: "2026-03-10T00:30:00.000Z",
          score: expect.any(Number),
          scores: { fts: expect.any(Number), semantic: 0, temporal: expect.any(Number), importance: 0.6 },
          access_count: 0,
        },
      ],
    });
    const inWindow = async (window: string) =>
      (await call<{ results: unknown[] }>("memory_search", { query: "albatross", window })).results.length;
    expect(await inWindow("today")).toBe(1);
    expect(await inWindow("this_morning")).toBe(1);
    expect(await inWindow("yesterday")).toBe(0);
  });

  describe("memory_browse", () => {
    const createdAt = "2026-01-05T10:00:00.000Z";
    beforeAll(async () => {
      const entries = Array.from({ length: 25 }, (_, n) =>
        said(`row ${n}`, { createdAt, role: n % 5 ? "user" : "assistant" }),
      );
      await write(writerOf(database), "browse", entries, { channel: "cli", user: "ada" });
      await write(writerOf(database), "browse 2", [said("later", { createdAt: "2026-01-06T00:30:00+01:00" })], {
        channel: "cli",
        agent: "coder",
      });
    });

    it("pages through rows of one time in their order, each once, both ways", async () => {
      for (const order of ["asc", "desc"] as const) {
        const seen: string[] = [];
        let cursor: string | null = null;
        do {
          const page: Page = await call<Page>("memory_browse", { session_key: "browse", limit: 10, order, cursor });
          seen.push(...page.messages.map(({ content }) => content));
          cursor = page.next_cursor;
        } while (cursor !== null);
        const expected = Array.from({ length: 25 }, (_, n) => `row ${n}`);
        expect(seen).toEqual(order === "asc" ? expected : expected.reverse());
      }
    });

    it("answers whole records without vectors or inner numbers", async () => {
      const { messages } = await call<Page>("memory_browse", { session_key: "browse 2" });
      expect(messages).toEqual([
        {
          id: expect.any(String),
          conversation_id: expect.any(String),
          agent: "coder",
          channel: "cli",
          role: "user",
          content: "later",
          tool_name: null,
          tool_args: null,
          tool_result: null,
          metadata: {},
          created_at: "2026-01-05T23:30:00.000Z",
        },
      ]);
    });

    it("filters, with dates in the configured time zone", async () => {
      const found = async (args: object) =>
        (await call<Page>("memory_browse", { channel: "cli", ...args })).messages.length;
      expect(await found({})).toBe(26);
      expect(await found({ role: "assistant" })).toBe(5);
      expect(await found({ agent: "coder" })).toBe(1);
      expect(await found({ since: "2026-01-06" })).toBe(1);
      expect(await found({ before: "2026-01-06" })).toBe(25);
      expect(await found({ window: "today" })).toBe(0);
      const mine = { visibility: { channel: "cli", user: "ada" } } as const;
      expect(((await tools.call("memory_browse", {}, mine)) as Page).messages).toHaveLength(25);
    });
  });

  describe("memory_get_full", () => {
    it("answers the row, what the payload keeps of it, or why the rest is lost", async () => {
      const long = "y".repeat(20_000);
      const { rows } = await write(
        writerOf(database),
        "full",
        [
          said("short"),
          said("", { key: "kept", toolName: "shell", toolResult: long, payload: { toolResult: long } }),
          said(long, { key: "lost", cap: true }),
        ],
        { user: "ada" },
      );
      const [short, kept, lost] = rows.map(({ id }) => id);
      const full = (id: string | undefined) => call("memory_get_full", { id });
      expect(await full(short)).toEqual({
        id: short,
        recovered: true,
        source: "row",
        content: "short",
        tool_args: null,
        tool_result: null,
      });
      expect(await full(kept)).toMatchObject({ recovered: true, source: "payload", content: "", tool_result: long });
      expect(await full(lost)).toMatchObject({
        recovered: false,
        source: "row",
        content: long.slice(0, 16_000),
        reason: expect.stringContaining("content"),
      });
      await expect(full(v7())).rejects.toMatchObject({ code: "MEMORY_NOT_FOUND" });
      const stranger = { visibility: { channel: "agent", user: "bob" } } as const;
      await expect(tools.call("memory_get_full", { id: short }, stranger)).rejects.toMatchObject({
        code: "MEMORY_NOT_FOUND",
      });
    });
  });

  it("memory_stats counts", async () => {
    const fresh = await open({ fresh: true });
    await write(
      writerOf(fresh),
      "s",
      Array.from({ length: 12 }, (_, n) => said(`m ${n}`)),
    );
    await write(writerOf(fresh), "t", [said("alone")], { agent: "coder" });
    const stats = (args: object) => toolsOf(fresh).call("memory_stats", args, owner);
    expect(await stats({})).toEqual({
      messages: { total: 13, embedded: 0, coverage: 0 },
      embedding_queue_depth: 0,
      embedding_model: null,
      unsummarized: { total: 13, conversations_over_threshold: 1 },
      summaries: { leaf: 0, branch: 0, root: 0, max_depth: 0 },
      compaction: { due: 0, failing: 0, given_up: 0, last_run_at: null, last_error: null },
      queues: [],
      database: { backend: fresh.backend, schema_version: expect.any(Number), size_bytes: expect.any(Number) },
    });
    expect(await stats({ agent: "coder" })).toMatchObject({ messages: { total: 1 }, unsummarized: { total: 1 } });
  });

  it("memory_stats tells errors to who sees everything, others those of their own conversations and all numbers", async () => {
    const fresh = await open({ fresh: true });
    const failing = async (user: string, error: string) => {
      const { conversationId } = await write(writerOf(fresh), user, [said(user)], { user });
      await fresh.query(
        "insert into compaction_work (conversation_id, attempts, failed_at, error) values ($1, 5, now(), $2)",
        [conversationId, error],
      );
    };
    await failing("ada", "the summary of ada's letter was refused");
    await failing("bob", "the summary of bob's was, too");
    const queue = { waiting: 2, active: 1, failed: 1, completed: 4, oldest_waiting_ms: null };
    const states = async () => [
      { ...queue, queue: "embed", last_error: "10.0.0.7 cannot embed ada's letter" } as const,
    ];
    const memory = memoryOf(fresh, { clock });
    const tools = createMemoryTools({ database: fresh, memory, clock, timezone: "UTC", jobs: { states } });
    const stats = async (visibility: Visibility) =>
      (await tools.call("memory_stats", {}, { visibility })) as Pick<MemoryStats, "compaction" | "queues">;

    const all = await stats({ all: true });
    expect(all.compaction).toMatchObject({ given_up: 2, last_error: "the summary of bob's was, too" });
    expect(all.queues).toEqual(await states());
    const numbers = [{ ...queue, queue: "embed", last_error: null }];
    for (const [user, error] of [
      ["ada", "the summary of ada's letter was refused"],
      ["bob", "the summary of bob's was, too"],
      ["eve", null],
    ] as const) {
      const seen = await stats({ channel: "agent", user });
      expect(seen.compaction).toMatchObject({ given_up: 2, last_error: error });
      expect(seen.queues).toEqual(numbers);
    }
    await fresh.query("insert into compaction_status (last_run_at, last_error) values (now(), 'no key for 10.0.0.7')");
    expect((await stats({ all: true })).compaction.last_error).toBe("no key for 10.0.0.7");
    expect((await stats({ channel: "agent", user: "eve" })).compaction.last_error).toBeNull();
  });

  it("memory_browse says how to ask where filters that hardly meet take too long", async () => {
    const slow = {
      ...database,
      query: () => Promise.reject(new MemoryError("MEMORY_TIMEOUT", "The statement ran into its deadline.")),
    };
    const tools = toolsOf(slow as Database);
    await expect(tools.call("memory_browse", { role: "tool", agent: "main" }, owner)).rejects.toMatchObject({
      code: "MEMORY_TIMEOUT",
      details: { hint: expect.stringContaining("session_key") },
    });
  });
});
