import { execFileSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { createRecover } from "../../../../../runtime/app/recall/disk/recover.ts";
import { type CutRow, cutParts } from "../../../../../runtime/domain/harnesses/match.ts";
import { writeOpenCodeDatabase } from "../../../../support/session-files.ts";

const LONG = "A long answer. ".repeat(2_000);

/** A directory with a root that may be read, and a neighbour that may not. */
async function places() {
  const directory = await mkdtemp(join(tmpdir(), "cairn-roots-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const root = join(directory, "projects");
  const outside = join(directory, "projects-private");
  await mkdir(root);
  await mkdir(outside);
  return { directory, root, outside, recover: createRecover([join(directory, "missing"), root]) };
}

function claudeLine(content: unknown, type = "assistant", n = 1): string {
  const message = { role: type, content };
  return JSON.stringify({ type, uuid: `u${n}`, sessionId: "s", timestamp: "2026-08-10T12:00:00Z", message });
}

function cutRow(path: unknown, line: unknown, full = LONG, change: Partial<CutRow> = {}): CutRow {
  const metadata = {
    truncated: true,
    full_content_length: full.length,
    session_jsonl_path: path,
    session_jsonl_line: line,
    ...change.metadata,
  };
  return { content: full.slice(0, 16_000), tool_name: null, tool_args: null, tool_result: null, ...change, metadata };
}

describe("a pointer to a line", () => {
  test("brings back the text, also from the end of a file that is still written", async () => {
    const { root, recover } = await places();
    const path = join(root, "s.jsonl");
    const lines = [claudeLine("short", "user", 0), claudeLine([{ type: "text", text: LONG }])];
    await writeFile(path, lines.join("\n"));
    const row = cutRow(path, 2);
    expect(await recover(row, cutParts(row))).toEqual({ source: "jsonl", parts: { content: LONG } });
  });

  test("brings back arguments, results and reasoning", async () => {
    const { root, recover } = await places();
    const path = join(root, "s.jsonl");
    const args = { text: LONG };
    const lines = [
      claudeLine([{ type: "thinking", thinking: "First. " }], "assistant", 0),
      claudeLine([{ type: "thinking", thinking: "Then." }], "assistant", 1),
      claudeLine([{ type: "tool_use", id: "c", name: "Write", input: args }], "assistant", 2),
      claudeLine([{ type: "tool_result", tool_use_id: "c", content: LONG }], "user", 3),
    ];
    await writeFile(path, `${lines.join("\n")}\n`);
    const call = cutRow(path, 3, "", {
      tool_name: "Write",
      metadata: {
        full_content_length: undefined,
        full_tool_args_length: JSON.stringify(args).length,
        full_reasoning_length: "First. Then.".length,
        session_jsonl_reasoning_line: 1,
      },
    });
    expect(await recover(call, cutParts(call))).toEqual({
      source: "jsonl",
      parts: { tool_args: args, reasoning: "First. Then." },
    });
    const result = cutRow(path, 4, "", {
      tool_result: LONG.slice(0, 16_000),
      metadata: { full_content_length: undefined, full_tool_result_length: LONG.length },
    });
    expect(await recover(result, cutParts(result))).toMatchObject({ parts: { tool_result: LONG } });
  });

  test("finds a line of 30 MB behind 100,000 others", async () => {
    const { root, recover } = await places();
    const path = join(root, "s.jsonl");
    const huge = "x".repeat(30_000_000);
    const others = `${claudeLine("short", "user")}\n`.repeat(100_000);
    await writeFile(path, `${others}${claudeLine(huge)}\n`);
    const row = cutRow(path, 100_001, huge);
    const answer = await recover(row, cutParts(row));
    expect(answer).toMatchObject({ source: "jsonl" });
    expect(answer !== null && "parts" in answer && answer.parts.content === huge).toBe(true);
  });

  test("that leads to another text brings back nothing", async () => {
    const { root, recover } = await places();
    const path = join(root, "s.jsonl");
    await writeFile(
      path,
      `${[claudeLine(`x${LONG.slice(1)}`), claudeLine(`${LONG}more`), "{ no json", '"text"', "{}"].join("\n")}\n`,
    );
    for (const line of [1, 2, 3, 4, 5]) {
      const row = cutRow(path, line);
      expect(await recover(row, cutParts(row))).toEqual({ reason: expect.any(String) });
    }
    for (const line of [7, 0, -1, 1.5, "1", null, 2 ** 60]) {
      const row = cutRow(path, line);
      expect(await recover(row, cutParts(row))).toEqual({ reason: expect.stringMatching(/no line|no such line/) });
    }
  });

  test("is followed through a link that ends inside, and not through one that ends outside", async () => {
    const { root, outside, recover } = await places();
    await writeFile(join(root, "s.jsonl"), claudeLine(LONG));
    await writeFile(join(outside, "s.jsonl"), claudeLine(LONG));
    await symlink(join(root, "s.jsonl"), join(root, "inside.jsonl"));
    await symlink(join(outside, "s.jsonl"), join(root, "out.jsonl"));
    await symlink(outside, join(root, "dir"));
    const answer = (path: string) => {
      const row = cutRow(path, 1);
      return recover(row, cutParts(row));
    };
    expect(await answer(join(root, "inside.jsonl"))).toMatchObject({ source: "jsonl" });
    for (const path of [
      join(root, "out.jsonl"),
      join(root, "dir", "s.jsonl"),
      join(outside, "s.jsonl"),
      join(root, "..", "projects-private", "s.jsonl"),
    ]) {
      expect(await answer(path)).toEqual({ reason: expect.stringContaining("outside the directories") });
    }
  });

  test("never opens what is no session: secrets, devices, pipes, directories, other files (11 pointers)", async () => {
    const { root, directory, recover } = await places();
    await writeFile(join(root, ".env"), `SECRET=${LONG}`);
    await writeFile(join(root, ".env.jsonl"), claudeLine(LONG));
    await writeFile(join(root, "notes.txt"), claudeLine(LONG));
    await mkdir(join(root, "d.jsonl"));
    execFileSync("mkfifo", [join(root, "pipe.jsonl")]);
    await symlink("/dev/zero", join(root, "zero.jsonl"));
    await symlink("/etc/passwd", join(root, "passwd.jsonl"));
    const pointers = [
      join(root, ".env"),
      join(root, ".env.jsonl"),
      join(root, "notes.txt"),
      join(root, "d.jsonl"),
      join(root, "pipe.jsonl"),
      join(root, "zero.jsonl"),
      join(root, "passwd.jsonl"),
      "/etc/shadow",
      join(directory, "nothing", "there.jsonl"),
      "projects/s.jsonl",
      `${join(root, "s.jsonl")}\0.jsonl`,
    ];
    for (const pointer of pointers) {
      const row = cutRow(pointer, 1);
      expect(await recover(row, cutParts(row)), pointer).toEqual({
        reason: expect.stringMatching(/^its disk pointer/),
      });
    }
    const outside = [cutRow("/etc/shadow", 1), cutRow("/etc/no-such-file", 1)];
    const [there, missing] = await Promise.all(outside.map((row) => recover(row, cutParts(row))));
    // Nobody learns by it which files there are.
    expect(there).toEqual(missing);
  });

  test("of a session that was moved away says so", async () => {
    const { root, recover } = await places();
    const path = join(root, "s.jsonl");
    await writeFile(path, claudeLine(LONG));
    await rename(path, `${path}.old`);
    const row = cutRow(path, 1);
    expect(await recover(row, cutParts(row))).toEqual({ reason: expect.stringContaining("or to nothing") });
  });

  test("a row without a pointer is not looked for", async () => {
    const { recover } = await places();
    const row = cutRow(undefined, undefined);
    expect(await recover(row, cutParts(row))).toBeNull();
  });
});

describe("a pointer to a part in SQLite", () => {
  const pointer = (path: string, part: string, lengths: object, change: Partial<CutRow> = {}): CutRow => ({
    content: "",
    tool_name: null,
    tool_args: null,
    tool_result: null,
    ...change,
    metadata: { session_sqlite_path: path, session_sqlite_part_id: part, ...lengths },
  });
  const state = { status: "completed", input: { text: LONG }, output: LONG };
  const part = (id: string, data: object) =>
    `insert into part values ('${id}', 'msg_002', 's', 1, 1, '${JSON.stringify(data)}');`;
  const MORE = part("prt_100", { type: "tool", callID: "c", tool: "write", state });

  test("brings back result, arguments and reasoning, while the program has it open, and changes nothing", async () => {
    const { root, recover } = await places();
    const path = join(root, "opencode.db");
    await writeOpenCodeDatabase(path);
    const writer = new DatabaseSync(path);
    onTestFinished(() => writer.close());
    writer.exec(MORE);
    const row = pointer(
      path,
      "prt_100",
      {
        full_tool_result_length: LONG.length,
        full_tool_args_length: JSON.stringify(state.input).length,
        full_reasoning_length: "The file has to be read before anything can be said.".length,
        session_sqlite_reasoning_part_id: "prt_005",
      },
      { tool_name: "write", tool_result: LONG.slice(0, 16_000) },
    );
    expect(await recover(row, cutParts(row))).toEqual({
      source: "sqlite",
      parts: {
        tool_result: LONG,
        tool_args: state.input,
        reasoning: "The file has to be read before anything can be said.",
      },
    });
    expect(writer.prepare("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
  });

  test("that leads to no such part, to another, to no database or to a view brings back nothing", async () => {
    const { root, outside, recover } = await places();
    const path = join(root, "opencode.db");
    await writeOpenCodeDatabase(path, MORE);
    await copyFile(path, join(outside, "opencode.db"));
    await writeFile(join(root, "empty.db"), "");
    await writeFile(join(root, "text.db"), claudeLine(LONG));
    const view = new DatabaseSync(join(root, "view.db"));
    const computed = JSON.stringify({ type: "tool", callID: "c", tool: "write", state });
    view.exec(`create table message (id, data); insert into message values ('m', '{}');
      create view part as select 'prt_100' as id, 'm' as message_id, 1 as time_created, '${computed}' as data`);
    view.close();
    const lengths = { full_tool_result_length: LONG.length };
    const head = { tool_name: "write", tool_result: LONG.slice(0, 16_000) };
    for (const [file, id] of [
      [path, "prt_999"],
      [path, "prt_006"],
      [path, "prt_100' or 1=1 --"],
      [join(root, "empty.db"), "prt_100"],
      [join(root, "text.db"), "prt_100"],
      [join(root, "view.db"), "prt_100"],
      [join(outside, "opencode.db"), "prt_100"],
    ] as const) {
      const row = pointer(file, id, lengths, head);
      expect(await recover(row, cutParts(row)), `${file} ${id}`).toEqual({ reason: expect.any(String) });
    }
  });
});
