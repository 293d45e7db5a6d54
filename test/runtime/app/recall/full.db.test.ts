import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { MemoryTools } from "../../../../runtime/app/api.ts";
import { createCapture } from "../../../../runtime/app/capture/capture.ts";
import { createMemoryTools } from "../../../../runtime/app/memory-tools.ts";
import { createRecover } from "../../../../runtime/app/recall/disk/recover.ts";
import type { FullRow } from "../../../../runtime/app/recall/full.ts";
import type { CaptureEvent } from "../../../../runtime/contracts/capture.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { memoryOf, systemClock, writerOf } from "../../../support/memory.ts";
import { writeOpenCodeDatabase } from "../../../support/session-files.ts";

const LONG = "Ein langer Text 🗿. ".repeat(1_500);

describeDatabase("memory_get_full of captured rows", (open) => {
  let database: Database;
  let tools: MemoryTools;
  let root: string;
  let sessions = 0;

  beforeAll(async () => {
    database = await open();
    root = await mkdtemp(join(tmpdir(), "cairn-full-"));
    await mkdir(join(root, "projects"));
    const recover = createRecover([join(root, "projects")]);
    tools = createMemoryTools({ database, memory: memoryOf(database), clock: systemClock, timezone: "UTC", recover });
  });

  afterAll(() => rm(root, { recursive: true, force: true }));

  async function fullOf(event: Omit<CaptureEvent, "event_id">): Promise<FullRow> {
    const capture = createCapture({ writer: writerOf(database), timezone: "UTC", agents: new Set() });
    const { conversation_id } = await capture.store({
      session_key: `full ${++sessions}`,
      agent: "claude-code",
      channel: "claude-code",
      events: [{ event_id: "1", ...event }],
    });
    const { rows } = await database.query<{ id: string }>("select id from messages where conversation_id = $1", [
      conversation_id,
    ]);
    // The tool's own result.
    return (await tools.call("memory_get_full", { id: rows[0]?.id }, { visibility: { all: true } })) as FullRow;
  }

  const line = (content: unknown) =>
    JSON.stringify({ type: "assistant", uuid: "u", sessionId: "s", message: { content } });

  it("recovers what was cut from the line that the row points to", async () => {
    const path = join(root, "projects", "a.jsonl");
    await writeFile(path, `${line("first")}\n${line([{ type: "text", text: LONG }])}\n`);
    const metadata = { session_jsonl_path: path, session_jsonl_line: 2 };
    expect(await fullOf({ role: "assistant", content: LONG, metadata })).toMatchObject({
      recovered: true,
      source: "jsonl",
      content: LONG,
    });
  });

  it("recovers arguments and a result from a part in SQLite, and tells what it could not", async () => {
    const path = join(root, "projects", "opencode.db");
    const state = { status: "completed", input: { text: "y".repeat(70_000) }, output: LONG };
    const data = JSON.stringify({ type: "tool", callID: "c", tool: "write", state });
    await writeOpenCodeDatabase(path, `insert into part values ('prt_100', 'msg_002', 's', 1, 1, '${data}')`);
    const event = {
      role: "assistant",
      tool_name: "write",
      tool_result: LONG,
      metadata: {
        session_sqlite_path: path,
        session_sqlite_part_id: "prt_100",
        full_tool_args_length: JSON.stringify(state.input).length,
      },
    } as const;
    expect(await fullOf(event)).toMatchObject({
      recovered: true,
      source: "sqlite",
      tool_args: state.input,
      tool_result: LONG,
    });
    const wrong = { ...event, metadata: { ...event.metadata, full_tool_args_length: 3 } };
    expect(await fullOf(wrong)).toMatchObject({
      recovered: false,
      source: "sqlite",
      tool_args: null,
      tool_result: LONG,
      reason: expect.stringContaining("tool_args was cut"),
    });
  });

  it("says why, where the pointer leads nowhere, and that it is lost, where there is none", async () => {
    const head = { recovered: false, source: "row", content: LONG.slice(0, 16_000) };
    const metadata = { session_jsonl_path: "/etc/passwd", session_jsonl_line: 1 };
    expect(await fullOf({ role: "user", content: LONG, metadata })).toMatchObject({
      ...head,
      reason: expect.stringContaining("outside the directories"),
    });
    expect(await fullOf({ role: "user", content: LONG })).toMatchObject({
      ...head,
      reason: "content was cut when the row was written, and no full copy is kept here.",
    });
    expect(await fullOf({ role: "user", content: "short" })).toMatchObject({ recovered: true, source: "row" });
  });

  it("reasoning that a hook left out counts as cut", async () => {
    const path = join(root, "projects", "b.jsonl");
    await writeFile(
      path,
      `${line([{ type: "thinking", thinking: "Hm." }])}\n${line([{ type: "text", text: "Yes." }])}\n`,
    );
    const metadata = { full_reasoning_length: 3, session_jsonl_path: path, session_jsonl_line: 2 };
    const pointed = { ...metadata, session_jsonl_reasoning_line: 1 };
    expect(await fullOf({ role: "assistant", content: "Yes.", metadata: pointed })).toMatchObject({
      recovered: true,
      source: "jsonl",
      content: "Yes.",
      reasoning: "Hm.",
    });
    expect(await fullOf({ role: "assistant", content: "Yes.", metadata })).toMatchObject({
      recovered: false,
      content: "Yes.",
    });
  });
});
