import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { type Capture, createCapture } from "../../../../runtime/app/capture/capture.ts";
import type { WrittenNotice } from "../../../../runtime/app/transcript/writer.ts";
import type { CaptureBatch, CaptureEvent } from "../../../../runtime/contracts/capture.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { sessionKey } from "../../../../runtime/domain/session-key.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { writerOf } from "../../../support/memory.ts";

interface Stored {
  readonly role: string;
  readonly content: string;
  readonly tool_name: string | null;
  readonly tool_args: unknown;
  readonly tool_result: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly created_at: Date;
}

describeDatabase("capture", (open) => {
  let database: Database;
  let capture: Capture;
  const notices: WrittenNotice[] = [];
  let sessions = 0;
  const session = () => `claude-code:${++sessions}`;

  beforeAll(async () => {
    database = await open();
    const writer = writerOf(database, { onWritten: (notice) => notices.push(notice) });
    capture = createCapture({ writer, timezone: "Europe/Vienna", agents: new Set(["main", "my agent"]) });
  });

  const batch = (key: string, events: readonly CaptureEvent[], change: Partial<CaptureBatch> = {}): CaptureBatch => ({
    session_key: key,
    agent: "claude-code",
    channel: "claude-code",
    events,
    ...change,
  });
  const said = (n: number, content = `line ${n}`): CaptureEvent => ({ event_id: `e${n}`, role: "user", content });

  async function rowsOf(key: string): Promise<readonly Stored[]> {
    const { rows } = await database.query<Stored>(
      `select m.* from messages m join conversations c on c.id = m.conversation_id
        where c.session_key = $1 order by m.seq`,
      [key],
    );
    return rows;
  }

  async function conversationOf(key: string) {
    const { rows } = await database.query<{ active: boolean; finalized_at: Date | null; title: string | null }>(
      "select active, finalized_at, title from conversations where session_key = $1",
      [key],
    );
    expect(rows).toHaveLength(1);
    return rows[0];
  }

  it("writes into no session of an agent of the service, whether there is one or not, and however it is written", async () => {
    const own = [
      sessionKey({ agent: "main", channel: "telegram", conversation: "7", user: "7" }),
      sessionKey({ agent: "my agent", channel: "agent", conversation: "a:b", user: "" }),
      "%6dain:telegram:7:7",
    ];
    for (const key of own) {
      await expect(capture.store(batch(key, [{ ...said(1), role: "system" }])), key).rejects.toMatchObject({
        code: "MEMORY_INVALID_ARGUMENT",
        details: { issues: [{ path: "session_key" }] },
      });
      await expect(capture.store(batch(key, [], { finalize: true })), key).rejects.toThrow("session_key");
      expect(await rowsOf(key)).toEqual([]);
    }
    // Four parts are no offence, and neither is an agent's name.
    for (const key of ["codex:a:b:c", "main", "main:a:b", "main:%zz:b:c"]) {
      expect(await capture.store(batch(key, [said(1)])), key).toMatchObject({ inserted: 1 });
    }
  });

  it("stores every field of an event, the source in the metadata", async () => {
    const key = session();
    const result = await capture.store(
      batch(
        key,
        [
          said(1),
          {
            event_id: "e2",
            role: "assistant",
            tool_name: "Bash",
            tool_args: { command: "ls" },
            created_at: "2026-01-02T03:04:05.678Z",
            metadata: { session_jsonl_path: "/x.jsonl", session_jsonl_line: 2 },
          },
          { event_id: "e3", role: "tool", tool_result: "out", created_at: "2026-01-02T04:04:06" },
        ],
        { source: "hook", title: " Fix it " },
      ),
    );
    expect(result).toMatchObject({ inserted: 3, deduplicated: 0, truncated: 0, finalized: false });
    const rows = await rowsOf(key);
    expect(rows.map(({ role, content, tool_result }) => [role, content, tool_result])).toEqual([
      ["user", "line 1", null],
      ["assistant", "", null],
      ["tool", "", "out"],
    ]);
    expect(rows[1]).toMatchObject({
      tool_name: "Bash",
      tool_args: { command: "ls" },
      metadata: { session_jsonl_path: "/x.jsonl", session_jsonl_line: 2, source: "hook" },
    });
    expect(rows.slice(1).map(({ created_at }) => created_at.toISOString())).toEqual([
      "2026-01-02T03:04:05.678Z",
      "2026-01-02T03:04:06.000Z",
    ]);
    expect(notices.find(({ sessionKey }) => sessionKey === key)?.toolCalls).toHaveLength(1);
    expect(await conversationOf(key)).toMatchObject({ active: true, finalized_at: null, title: "Fix it" });
  });

  it("stores what is new of a batch that was sent before, in any mixture (20 mixtures)", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 8 }), { maxLength: 5 }),
        async (lists) => {
          const key = session();
          const seen = new Set<number>();
          for (const list of lists.filter(({ length }) => length > 0)) {
            const fresh = new Set(list.filter((n) => !seen.has(n)));
            const result = await capture.store(
              batch(
                key,
                list.map((n) => said(n)),
              ),
            );
            expect(result).toMatchObject({ inserted: fresh.size, deduplicated: list.length - fresh.size });
            for (const n of list) seen.add(n);
          }
          expect((await rowsOf(key)).map(({ content }) => content)).toEqual([...seen].map((n) => `line ${n}`));
        },
      ),
      { numRuns: 20 },
    );
  });

  it("the same event id in another conversation is another event", async () => {
    const [one, other] = [session(), session()];
    await capture.store(batch(one, [said(1)]));
    expect(await capture.store(batch(other, [said(1)]))).toMatchObject({ inserted: 1 });
  });

  it("cuts content and tool_result at 16,000 units, never in a pair, and leaves tool_args whole", async () => {
    const key = session();
    const long = `${"x".repeat(15_999)}🗿${"y".repeat(10)}`;
    const args = { text: "z".repeat(100_000) };
    const result = await capture.store(
      batch(key, [
        { event_id: "1", role: "user", content: long },
        { event_id: "2", role: "assistant", tool_name: "Write", tool_args: args, tool_result: "r".repeat(16_001) },
        { event_id: "3", role: "user", content: "c".repeat(16_000) },
      ]),
    );
    expect(result).toMatchObject({ inserted: 3, truncated: 2 });
    const rows = await rowsOf(key);
    expect(rows[0]?.content).toBe("x".repeat(15_999));
    expect(rows[0]?.metadata).toEqual({ truncated: true, full_content_length: long.length });
    expect(rows[1]?.tool_args).toEqual(args);
    expect(rows[1]?.tool_result).toHaveLength(16_000);
    expect(rows[1]?.metadata).toEqual({ truncated: true, full_tool_result_length: 16_001 });
    expect(rows[2]?.metadata).toEqual({});
  });

  it("replaces NUL and lone surrogates, wherever they are, and loses no batch for them", async () => {
    const key = session();
    await capture.store(
      batch(key, [
        {
          event_id: "\0\ud800",
          role: "assistant",
          content: "a\0b\ud800c",
          tool_name: "t\0",
          tool_args: { "k\0": ["\udfff"] },
          tool_result: "\0",
          metadata: { m: "\0" },
        },
      ]),
    );
    expect(await rowsOf(key)).toMatchObject([
      {
        content: "a\ufffdb\ufffdc",
        tool_name: "t\ufffd",
        tool_args: { "k\ufffd": ["\ufffd"] },
        tool_result: "\ufffd",
        metadata: { m: "\ufffd" },
      },
    ]);
    expect(await capture.store(batch(key, [{ event_id: "\0\ud800", role: "user", content: "again" }]))).toMatchObject({
      inserted: 0,
      deduplicated: 1,
    });
  });

  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

  it.each([
    ["empty content without a tool", { event_id: "x", role: "user", content: "" }, "events.1.content"],
    ["a time that is none", { event_id: "x", role: "user", content: "c", created_at: "soon" }, "events.1.created_at"],
    [
      "a year that cannot be stored",
      { event_id: "x", role: "user", content: "c", created_at: "0000-01-01T00:00:00Z" },
      "events.1.created_at",
    ],
    [
      "arguments that nest too deep",
      { event_id: "x", role: "assistant", tool_name: "t", tool_args: nested(600) },
      "events.1.tool_args",
    ],
    ["a blank id", { event_id: "  ", role: "user", content: "c" }, "events.1.event_id"],
  ] as const)("refuses the whole batch for %s, and says which event it is", async (_name, wrong, path) => {
    const key = session();
    const failure = capture.store(batch(key, [said(1), wrong, said(3)]));
    await expect(failure).rejects.toMatchObject({
      code: "MEMORY_INVALID_ARGUMENT",
      status: 400,
      details: { issues: [{ path }] },
    });
    expect(await rowsOf(key)).toEqual([]);
  });

  it("takes 1,000 events and not 1,001", async () => {
    const key = session();
    const events = Array.from({ length: 1_001 }, (_, n) => said(n));
    await expect(capture.store(batch(key, events))).rejects.toMatchObject({
      code: "RUNTIME_BODY_TOO_LARGE",
      status: 413,
    });
    expect(await rowsOf(key)).toEqual([]);
    expect(await capture.store(batch(key, events.slice(0, 1_000)))).toMatchObject({ inserted: 1_000 });
  });

  it("finalize marks the conversation ready to compact, and it goes on", async () => {
    const key = session();
    await capture.store(batch(key, [said(1)], { finalize: true }));
    const first = await conversationOf(key);
    expect(first).toMatchObject({ active: true, finalized_at: expect.any(Date) });
    await capture.store(batch(key, [said(2)]));
    expect(await capture.store(batch(key, [], { finalize: true }))).toMatchObject({ inserted: 0, finalized: true });
    expect((await conversationOf(key))?.active).toBe(true);
    expect(await rowsOf(key)).toHaveLength(2);
    await expect(capture.store(batch(key, []))).rejects.toMatchObject({ status: 400 });
  });

  it("16 writers that send the same 200 events at once, in two orders, store each of them once", async () => {
    const key = session();
    const events = Array.from({ length: 200 }, (_, n) => said(n));
    const backwards = events.toReversed();
    const results = await Promise.all(
      Array.from({ length: 16 }, (_, n) => capture.store(batch(key, n % 2 === 0 ? events : backwards))),
    );
    expect(results.reduce((sum, { inserted }) => sum + inserted, 0)).toBe(200);
    expect(new Set((await rowsOf(key)).map(({ content }) => content)).size).toBe(200);
    expect(await rowsOf(key)).toHaveLength(200);
  });
});
