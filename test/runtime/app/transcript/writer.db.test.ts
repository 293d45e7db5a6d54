import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import type { WrittenNotice } from "../../../../runtime/app/transcript/writer.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import { clockAt, said, write, writerOf } from "../../../support/memory.ts";

async function contents(database: Database, sessionKey: string): Promise<string[]> {
  const { rows } = await database.query<{ content: string }>(
    `select m.content from messages m join conversations c on c.id = m.conversation_id
     where c.session_key = $1 order by m.seq`,
    [sessionKey],
  );
  return rows.map(({ content }) => content);
}

describeEachDatabase("the writer", (open) => {
  it("opens a session's conversation once and stores a batch in its order", async () => {
    const database = await open();
    const writer = writerOf(database);
    const first = await write(writer, "order", [said("one"), said("two"), said("three")], { user: "ada", title: "T" });
    const second = await write(writer, "order", [said("four")]);
    expect(first.created).toBe(true);
    expect(second).toMatchObject({ created: false, conversationId: first.conversationId });
    expect(await contents(database, "order")).toEqual(["one", "two", "three", "four"]);
    const { rows } = await database.query(
      "select agent, channel, user_id, title, active from conversations where id = $1",
      [first.conversationId],
    );
    expect(rows).toEqual([{ agent: "main", channel: "agent", user_id: "ada", title: "T", active: true }]);
  });

  it("stores a key once in a conversation and answers with the row that is there", async () => {
    const writer = writerOf(await open());
    const first = await write(writer, "twice", [said("a", { key: "k" })]);
    const again = await write(writer, "twice", [said("b", { key: "k" }), said("c", { key: "k2" })]);
    expect(again.rows.map(({ inserted }) => inserted)).toEqual([false, true]);
    expect(again.rows[0]?.id).toBe(first.rows[0]?.id);
    const elsewhere = await write(writer, "twice, elsewhere", [said("a", { key: "k" })]);
    expect(elsewhere.rows[0]?.inserted).toBe(true);
  });

  it("stores the first of equal keys within a batch", async () => {
    const database = await open();
    const { rows } = await write(writerOf(database), "within", [said("x", { key: "k" }), said("y", { key: "k" })]);
    expect(rows.map(({ inserted }) => inserted)).toEqual([true, false]);
    expect(rows[1]?.id).toBe(rows[0]?.id);
    expect(await contents(database, "within")).toEqual(["x"]);
  });

  it("stores each key once under sixteen concurrent writers", async () => {
    const database = await open();
    const writer = writerOf(database);
    const keys = Array.from({ length: 25 }, (_, index) => `k${index}`);
    const reports = await Promise.all(
      Array.from({ length: 16 }, async (_, who) => {
        const inserted: boolean[] = [];
        for (const key of keys) {
          const { rows } = await write(writer, "crowd", [said(`${key} by ${who}`, { key })]);
          inserted.push(rows[0]?.inserted === true);
        }
        return inserted.filter(Boolean).length;
      }),
    );
    expect(reports.reduce((sum, count) => sum + count, 0)).toBe(keys.length);
    expect(await contents(database, "crowd")).toHaveLength(keys.length);
    const { rows } = await database.query("select count(*) as n from conversations where session_key = 'crowd'");
    expect(rows).toEqual([{ n: 1 }]);
  });

  it("cuts tool results always and content where asked, and says so in the row", async () => {
    const database = await open();
    const long = `${"x".repeat(15_999)}😀tail`;
    const { rows } = await write(writerOf(database), "cut", [
      said(long, { key: "capped", cap: true }),
      said(long, { key: "whole" }),
      said("", { key: "tool", toolName: "shell", toolResult: long, payload: { toolResult: long } }),
    ]);
    expect(rows.map(({ truncated }) => truncated)).toEqual([true, false, true]);
    expect(rows[0]).toMatchObject({ fullContentLength: long.length });
    expect(rows[2]).toMatchObject({ fullToolResultLength: long.length });
    const stored = await database.query<{ content: string; tool_result: string | null; metadata: object }>(
      "select content, tool_result, metadata from messages where id = any($1::uuid[]) order by seq",
      [rows.map(({ id }) => id)],
    );
    expect(stored.rows[0]?.content).toBe("x".repeat(15_999));
    expect(stored.rows[0]?.metadata).toEqual({ truncated: true, full_content_length: long.length });
    expect(stored.rows[1]).toMatchObject({ content: long, metadata: {} });
    expect(stored.rows[2]?.tool_result).toBe("x".repeat(15_999));
    expect(stored.rows[2]?.metadata).toEqual({ truncated: true, full_tool_result_length: long.length });
    const kept = await database.query("select message_id, content, tool_result from payloads where message_id = $1", [
      rows[2]?.id,
    ]);
    expect(kept.rows).toEqual([{ message_id: rows[2]?.id, content: null, tool_result: long }]);
  });

  it("stores what PostgreSQL would refuse, with replacement characters", async () => {
    const database = await open();
    const { rows } = await write(writerOf(database), "odd", [
      said("a\0b\ud800c", { toolName: "t\0", toolArgs: { "k\0": ["\udfff", 1e21, -0] }, metadata: { m: "\0" } }),
    ]);
    const stored = await database.query("select content, tool_name, tool_args, metadata from messages where id = $1", [
      rows[0]?.id,
    ]);
    expect(stored.rows).toEqual([
      {
        content: "a\ufffdb\ufffdc",
        tool_name: "t\ufffd",
        tool_args: { "k\ufffd": ["\ufffd", 1e21, 0] },
        metadata: { m: "\ufffd" },
      },
    ]);
  });

  it("refuses a batch with one invalid entry whole, and names what is wrong", async () => {
    const database = await open();
    const wrong = write(writerOf(database), "invalid", [said("fine"), said(""), said("x", { createdAt: "yesterday" })]);
    await expect(wrong).rejects.toMatchObject({
      code: "MEMORY_INVALID_ARGUMENT",
      details: { issues: [{ path: "messages[1].content" }, { path: "messages[2].created_at" }] },
    });
    expect(await contents(database, "invalid")).toEqual([]);
  });

  it("keeps the given time and orders equal times by insertion", async () => {
    const database = await open();
    const createdAt = "2020-02-03T04:05:06.789Z";
    await write(writerOf(database), "time", [said("a", { createdAt }), said("b", { createdAt })]);
    const { rows } = await database.query<{ created_at: Date }>(
      "select m.created_at from messages m join conversations c on c.id = m.conversation_id where session_key = 'time'",
    );
    expect(rows.map((row) => row.created_at.toISOString())).toEqual([createdAt, createdAt]);
    expect(await contents(database, "time")).toEqual(["a", "b"]);
  });

  it("carries settings over to the conversation that follows a closed one", async () => {
    const database = await open();
    const writer = writerOf(database);
    const { conversationId } = await write(writer, "carry", [said("before")]);
    await database.query(`update conversations set active = false, settings = '{"thinking": "high"}' where id = $1`, [
      conversationId,
    ]);
    const next = await write(writer, "carry", [said("after")]);
    expect(next.created).toBe(true);
    const { rows } = await database.query("select settings from conversations where id = $1", [next.conversationId]);
    expect(rows).toEqual([{ settings: { thinking: "high" } }]);
    const late = await write(writer, "carry", [said("late")], { conversationId });
    expect(late).toMatchObject({ conversationId, created: false });
    await expect(write(writer, "carry", [said("x")], { conversationId: v7() })).rejects.toMatchObject({
      code: "MEMORY_NOT_FOUND",
    });
  });

  it("finalizes without closing, also with no new message", async () => {
    const database = await open();
    const { conversationId } = await write(writerOf(database), "final", [], { finalize: true });
    const { rows } = await database.query(
      "select active, finalized_at is not null as finalized from conversations where id = $1",
      [conversationId],
    );
    expect(rows).toEqual([{ active: true, finalized: true }]);
  });

  it("finalizes what a node with a clock ahead has written: nothing came after it", async () => {
    const database = await open();
    const [ahead, behind] = ["2026-03-01T10:00:00.500Z", "2026-03-01T10:00:00.300Z"].map((time) =>
      writerOf(database, { clock: clockAt(time) }),
    );
    if (ahead === undefined || behind === undefined) throw new Error("There are two clocks.");
    await write(ahead, "two clocks", [said("written ahead")]);
    const { conversationId } = await write(behind, "two clocks", [said("written behind")], { finalize: true });
    const { rows } = await database.query(
      "select finalized_at >= updated_at as ready from conversations where id = $1",
      [conversationId],
    );
    expect(rows).toEqual([{ ready: true }]);
  });

  it("stores a batch of a thousand events, once", async () => {
    const database = await open();
    const entries = Array.from({ length: 1_000 }, (_, index) => said(`event ${index} ${"word ".repeat(index % 40)}`));
    const writer = writerOf(database);
    const first = await write(writer, "thousand", entries);
    const again = await write(writer, "thousand", entries);
    expect(first.rows.every(({ inserted }) => inserted)).toBe(true);
    expect(again.rows.some(({ inserted }) => inserted)).toBe(false);
    expect(again.rows.map(({ id }) => id)).toEqual(first.rows.map(({ id }) => id));
    expect(await contents(database, "thousand")).toEqual(entries.map(({ content }) => content));
  });

  describe("in a transaction of the caller", () => {
    it("leaves nothing behind when that is rolled back, and notifies no listener", async () => {
      const database = await open();
      const notices: WrittenNotice[] = [];
      const writer = writerOf(database, { onWritten: (notice) => notices.push(notice) });
      const failing = database.transaction(async (tx) => {
        await writer.writeIn(tx, {
          sessionKey: "undone",
          agent: "a",
          channel: "c",
          openedBy: "turn",
          entries: [said("x")],
        });
        throw new Error("undo");
      });
      await expect(failing).rejects.toThrow("undo");
      expect(await contents(database, "undone")).toEqual([]);
      expect(notices).toEqual([]);
    });

    it("tells of the new rows, and of tool calls to synthesize, after the commit", async () => {
      const database = await open();
      const notices: WrittenNotice[] = [];
      const writer = writerOf(database, { onWritten: (notice) => notices.push(notice) });
      const call = said("", { key: "call", role: "assistant", toolName: "shell", toolArgs: { command: "ls" } });
      const report = await database.transaction((tx) =>
        writer.writeIn(tx, {
          sessionKey: "told",
          agent: "a",
          channel: "c",
          openedBy: "turn",
          entries: [said("x"), call],
        }),
      );
      expect(notices).toEqual([]);
      report.afterCommit();
      const ids = report.rows.map(({ id }) => id);
      expect(notices).toMatchObject([{ sessionKey: "told", agent: "a", inserted: ids, toolCalls: [ids[1]] }]);
    });
  });
});
