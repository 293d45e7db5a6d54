import { appendFile, mkdir, readdir, readFile, rename, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { writeCaptureSettings } from "../../../../runtime/client/hook/settings.ts";
import { lacks } from "../../../lanes/tools.ts";
import { captureHome, saying } from "../../../support/capture-home.ts";
import { startForeignListener } from "../../../support/foreign-listener.ts";
import { OPENCODE_SESSION, sessionText, writeOpenCodeDatabase } from "../../../support/session-files.ts";

const CLAUDE = "7d4c9a52-1c0e-4f6a-9f55-0a6f3c1d2e10";
const CODEX = "0198f2c4-7b1e-7c30-8a2f-5d6e7f809101";

async function claude() {
  const at = await captureHome();
  const path = await at.place(".claude", "projects", "-home-ada-shop", `${CLAUDE}.jsonl`);
  const call = (event: string, more: object = {}) =>
    at.hook("claude-code", {
      session_id: CLAUDE,
      transcript_path: path,
      cwd: "/home/ada/shop",
      hook_event_name: event,
      ...more,
    });
  return { ...at, path, call };
}

describe("a session of Claude Code", () => {
  test("arrives turn by turn: 12 events, each once, with pointers to their lines", async () => {
    const { node, path, call, log } = await claude();
    const lines = (await sessionText("claude-code")).trimEnd().split("\n");
    await writeFile(path, `${lines.slice(0, 7).join("\n")}\n`);
    await call("Stop");
    await call("Stop");
    await appendFile(path, `${lines.slice(7).join("\n")}\n`);
    await call("Stop");
    await call("SessionEnd", { reason: "prompt_input_exit" });
    expect(node.requests.map(({ events, finalize }) => [events.length, finalize])).toEqual([
      [5, false],
      [7, false],
      [0, true],
    ]);
    const [first, second] = node.batches;
    expect(first).toMatchObject({
      session_key: `claude-code:${CLAUDE}`,
      agent: "claude-code",
      channel: "claude-code",
      source: "claude-code-hook",
      title: "The checkout test fails since Monday. Can you find out why? 🗿",
    });
    expect(second?.title).toBe("Failing checkout test");
    const events = [...(first?.events ?? []), ...(second?.events ?? [])];
    for (const event of events) {
      expect(event.metadata).toMatchObject({ session_jsonl_path: path, session_jsonl_line: expect.any(Number) });
      const line = JSON.parse(lines[Number(event.metadata?.["session_jsonl_line"]) - 1] ?? "") as { uuid: string };
      expect(event.event_id).toBe(`${line.uuid}:${event.event_id.split(":")[1]}`);
    }
    // The thinking is left out, and how long it was is told where it led to.
    expect(events[2]).toMatchObject({
      content: "I look at what changed since Monday.",
      metadata: { full_reasoning_length: 92, session_jsonl_reasoning_line: 4 },
    });
    expect(events.filter(({ metadata }) => metadata?.["full_reasoning_length"] !== undefined)).toHaveLength(1);
    expect(await log()).toBe("");
  });

  test("thinking at the end of a turn waits for what follows from it", async () => {
    const { node, path, call } = await claude();
    const lines = (await sessionText("claude-code")).trimEnd().split("\n");
    await writeFile(path, `${lines.slice(0, 4).join("\n")}\n`);
    await call("Stop");
    await appendFile(path, `${lines[4]}\n`);
    await call("Stop");
    expect(node.batches[1]?.events).toMatchObject([
      { content: "I look at what changed since Monday.", metadata: { full_reasoning_length: 92 } },
    ]);
  });

  test("a subagent is a session of its own", async () => {
    const { node, path, call, place } = await claude();
    const agent = await place(".claude", "projects", "-home-ada-shop", CLAUDE, "subagents", "agent-a1.jsonl");
    const text = await sessionText("claude-code");
    await writeFile(path, text);
    await writeFile(agent, text);
    await call("SubagentStop", { agent_transcript_path: agent });
    expect([...node.stored.keys()].sort()).toEqual([`claude-code:${CLAUDE}`, `claude-code:${CLAUDE}:agent-a1`]);
  });

  test("what a killed session left is captured when another one starts", async () => {
    const { node, path, call, place } = await claude();
    const lines = (await sessionText("claude-code")).trimEnd().split("\n");
    await writeFile(path, `${lines.slice(0, 7).join("\n")}\n`);
    await call("Stop");
    await appendFile(path, `${lines.slice(7).join("\n")}\n`);
    const other = await place(".claude", "projects", "-home-ada-shop", "other.jsonl");
    await call("SessionStart", { transcript_path: other });
    expect(node.stored.get(`claude-code:${CLAUDE}`)).toHaveLength(12);
  });

  test("a file that was written anew in its place is read from its start", async () => {
    const { node, path, call } = await claude();
    const user = (uuid: string, content: string) =>
      `${JSON.stringify({ type: "user", uuid, sessionId: CLAUDE, message: { role: "user", content } })}\n`;
    await writeFile(path, user("a", "first"));
    await call("Stop");
    await writeFile(path, user("b", "another that is longer") + user("c", "and on"));
    await call("Stop");
    expect(node.stored.get(`claude-code:${CLAUDE}`)).toEqual(["a:0", "b:0", "c:0"]);
  });

  test("nothing that stands in a session makes the node refuse the batch, or keeps the hook from going on", async () => {
    const { node, path, call, log } = await claude();
    const nested = (depth: number) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);
    const inputs = [JSON.parse('{"__proto__":{"a":1}}'), { constructor: { prototype: 1 } }, nested(600)];
    const lines = [
      { type: "custom-title", customTitle: "T".repeat(2_000), sessionId: CLAUDE },
      ...inputs.map((input, n) => ({
        type: "assistant",
        uuid: `u${n}`,
        message: { role: "assistant", content: [{ type: "tool_use", id: "c", name: n === 0 ? "  " : "Run", input }] },
      })),
    ].map((line) => JSON.stringify(line));
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    const block = (block: string, uuid: string) => `{"type":"user","uuid":"${uuid}","message":{"content":[${block}]}}`;
    lines.push(block(`{"type":"tool_use","name":"Run","input":${deep}}`, "d1"));
    lines.push(block(`{"type":"tool_result","content":{"a":${deep}}}`, "d2"));
    lines.push(block('{"type":"text","text":"and on"}', "last"));
    await writeFile(path, `${lines.join("\n")}\n`);
    await call("Stop");
    const [first] = node.batches;
    expect(first?.title).toHaveLength(200);
    expect(first?.events.map(({ tool_name, content }) => tool_name ?? content)).toEqual([
      "unknown",
      "Run",
      "Run",
      "Run",
      "and on",
    ]);
    for (const event of first?.events.slice(0, 4) ?? []) {
      expect(event).not.toHaveProperty("tool_args");
      expect(event.metadata?.["full_tool_args_length"]).toBeGreaterThan(0);
    }
    expect(await log()).toBe("");
  });

  test("arguments of 100 kB are left out, and their length is told", async () => {
    const { node, path, call } = await claude();
    const input = { content: "x".repeat(100_000) };
    const message = { role: "assistant", content: [{ type: "tool_use", id: "c", name: "Write", input }] };
    await writeFile(path, `${JSON.stringify({ type: "assistant", uuid: "u", sessionId: CLAUDE, message })}\n`);
    await call("Stop");
    const [event] = node.batches[0]?.events ?? [];
    expect(event).not.toHaveProperty("tool_args");
    expect(event).toMatchObject({
      tool_name: "Write",
      metadata: { full_tool_args_length: JSON.stringify(input).length, session_jsonl_line: 1 },
    });
  });

  test("however the file grows, and whatever the node answers, every event is there once and in order (25 runs)", async () => {
    const text = Buffer.from(await sessionText("claude-code"));
    const answers = fc.constantFrom<200 | 500 | 503 | "cut" | "cut-after">(200, 503, 500, "cut", "cut-after");
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 0, max: text.length }), { maxLength: 8 }),
        fc.array(answers, { maxLength: 12 }),
        async (cuts, sequence) => {
          const { node, path, call, log } = await claude();
          const queue = [...sequence];
          node.answer = () => queue.shift() ?? 200;
          let written = 0;
          for (const cut of [...cuts.sort((a, b) => a - b), text.length]) {
            await appendFile(path, text.subarray(written, cut));
            written = cut;
            await call("Stop");
          }
          node.answer = () => 200;
          await call("SessionEnd");
          const said = node.batches.flatMap(({ events }) => events);
          const unique = [...new Map(said.map((event) => [event.event_id, event])).values()];
          expect(unique.map(({ event_id }) => event_id)).toEqual(node.stored.get(`claude-code:${CLAUDE}`));
          expect(unique.map(saying).at(0)).toBe("The checkout test fails since Monday. Can you find out why? 🗿");
          expect(unique).toHaveLength(12);
          expect(unique.map(({ metadata }) => metadata?.["full_reasoning_length"]).filter(Boolean)).toEqual([92]);
          const reported = (await log()).split("\n").filter(Boolean);
          expect(
            reported.filter((line) => !/claude-code: \d+ batches wait for the node \(.+\); they are in /.test(line)),
          ).toEqual([]);
        },
      ),
      { numRuns: 25 },
    );
  });

  test("a file that was written anew is read from its start", async () => {
    const { node, path, call } = await claude();
    const text = await sessionText("claude-code");
    await writeFile(path, text);
    await call("Stop");
    // Longer than the former: only its inode tells.
    const message = { role: "user", content: "begin again" };
    const first = JSON.stringify({ type: "user", uuid: "new", sessionId: CLAUDE, message });
    await writeFile(`${path}.new`, `${first}\n${text}`);
    await rename(`${path}.new`, path);
    await call("Stop");
    await truncate(path, first.length + 1);
    await call("Stop");
    expect(node.requests.map(({ events }) => events.length)).toEqual([12, 13, 1]);
    expect(node.stored.get(`claude-code:${CLAUDE}`)).toHaveLength(13);
  });

  test("lines that are no JSON, and a cursor that is none, cost nothing but time", async () => {
    const { node, path, call, paths } = await claude();
    const lines = (await sessionText("claude-code")).trimEnd().split("\n");
    await writeFile(path, `{"broken\n\n${lines.join("\nnull\n")}\n\0\0\n`);
    await call("Stop");
    for (const name of await readdir(paths.cursors)) await truncate(join(paths.cursors, name), 10);
    await call("Stop");
    expect(node.stored.get(`claude-code:${CLAUDE}`)).toHaveLength(12);
  });

  test("with a full spool and no node nothing is passed over: the cursor stays, and the next call sends it", async () => {
    const { node, path, call, paths, log } = await claude();
    await writeFile(path, await sessionText("claude-code"));
    node.answer = () => 503;
    await writeFile(paths.spool, "a file where the directory should be");
    await call("Stop");
    expect(await log()).toMatch(/claude-code: .*spool cannot be used/);
    await rm(paths.spool);
    node.answer = () => 200;
    await call("Stop");
    expect(node.stored.get(`claude-code:${CLAUDE}`)).toHaveLength(12);
  });
});

describe("a session of Codex", () => {
  test("is found by its id where the harness names no file, and arrives: 9 events", async () => {
    const { node, hook, place, log } = await captureHome();
    const path = await place(".codex", "sessions", "2026", "08", "10", `rollout-2026-08-10T20-05-00-${CODEX}.jsonl`);
    await writeFile(path, await sessionText("codex"));
    const payload = { session_id: CODEX, transcript_path: null, hook_event_name: "Stop", turn_id: "1" };
    await hook("codex", payload);
    await hook("codex", payload);
    expect(node.requests).toHaveLength(1);
    expect(node.batches[0]).toMatchObject({
      session_key: `codex:${CODEX}`,
      title: "Add a test for refunds.",
      agent: "codex",
    });
    expect(node.stored.get(`codex:${CODEX}`)).toEqual([2, 3, 5, 10, 12, 13, 14, 15, 16].map((line) => `line:${line}`));
    expect(node.batches[0]?.events[3]?.metadata).toMatchObject({
      session_jsonl_path: path,
      session_jsonl_line: 10,
      full_reasoning_length: 31,
      session_jsonl_reasoning_line: 8,
    });
    expect(await log()).toBe("");
  });
});

describe("a session of OpenCode", () => {
  const call = { hook_event_name: "Stop", session_id: OPENCODE_SESSION };

  test("arrives from the database: 6 events with the ids of their parts", async () => {
    const { node, hook, place, log } = await captureHome();
    const path = await place(".local", "share", "opencode", "opencode.db");
    await writeOpenCodeDatabase(path);
    await hook("opencode", call);
    await hook("opencode", call);
    expect(node.requests).toHaveLength(1);
    expect(node.batches[0]).toMatchObject({ session_key: `opencode:${OPENCODE_SESSION}`, title: "Refund rounding" });
    const events = node.batches[0]?.events ?? [];
    expect(events.map(({ event_id, role, tool_name }) => [event_id, role, tool_name ?? null])).toEqual([
      ["prt_001", "user", null],
      ["prt_002", "system", null],
      ["prt_003", "user", null],
      ["prt_006", "assistant", "grep"],
      ["prt_007", "assistant", "bash"],
      ["prt_008", "assistant", null],
    ]);
    expect(events[3]).toMatchObject({
      tool_args: { pattern: "round", path: "/home/ada/shop" },
      tool_result: expect.stringContaining("Found 1 matches"),
      metadata: {
        session_sqlite_path: path,
        session_sqlite_part_id: "prt_006",
        full_reasoning_length: 52,
        session_sqlite_reasoning_part_id: "prt_005",
      },
    });
    expect(events[4]).toMatchObject({ tool_result: "npm error Missing script: tst", metadata: { is_error: true } });
    expect(await log()).toBe("");
  });

  test("a message that is still being written waits, also while the program has the database open", async () => {
    const { node, hook, place } = await captureHome();
    const path = await place(".local", "share", "opencode", "opencode.db");
    await writeOpenCodeDatabase(path);
    const program = new DatabaseSync(path);
    const session = `'${OPENCODE_SESSION}'`;
    program.exec(`insert into message values ('msg_003', ${session}, 1786392020000, 1, '{"role":"assistant","time":{"created":1}}');
      insert into part values ('prt_010', 'msg_003', ${session}, 1786392021000, 1, '{"type":"text","text":"half a sen"}')`);
    await hook("opencode", call);
    expect(node.stored.get(`opencode:${OPENCODE_SESSION}`)).toHaveLength(6);
    program.exec(`update part set data = '{"type":"text","text":"half a sentence, and the rest"}' where id = 'prt_010';
      update message set data = '{"role":"assistant","time":{"created":1,"completed":2}}' where id = 'msg_003'`);
    await hook("opencode", call);
    program.close();
    expect(node.batches.at(-1)?.events).toMatchObject([
      { event_id: "prt_010", content: "half a sentence, and the rest" },
    ]);
  });

  test("messages from after the clock was set back are captured, too, once", async () => {
    const { node, hook, place } = await captureHome();
    const path = await place(".local", "share", "opencode", "opencode.db");
    await writeOpenCodeDatabase(path);
    await hook("opencode", call);
    const program = new DatabaseSync(path);
    const session = `'${OPENCODE_SESSION}'`;
    program.exec(`insert into message values ('msg_000', ${session}, 1786391000000, 1, '{"role":"user"}');
      insert into part values ('prt_000', 'msg_000', ${session}, 1786391000000, 1, '{"type":"text","text":"an hour before"}')`);
    program.close();
    await hook("opencode", call);
    expect(node.stored.get(`opencode:${OPENCODE_SESSION}`)).toHaveLength(7);
    const asked = node.requests.length;
    await hook("opencode", call);
    expect(node.requests).toHaveLength(asked);
  });

  test("one that was never completed counts once another message follows", async () => {
    const { node, hook, place } = await captureHome();
    const path = await place(".local", "share", "opencode", "opencode-dev.db");
    const session = `'${OPENCODE_SESSION}'`;
    await writeOpenCodeDatabase(
      path,
      `insert into message values ('msg_003', ${session}, 1786392020000, 1, '{"role":"assistant","time":{"created":1}}');
       insert into part values ('prt_010', 'msg_003', ${session}, 1786392021000, 1, '{"type":"text","text":"cut off"}');
       insert into message values ('msg_004', ${session}, 1786392030000, 1, '{"role":"user"}');
       insert into part values ('prt_011', 'msg_004', ${session}, 1786392030000, 1, '{"type":"text","text":"go on"}')`,
    );
    await hook("opencode", call);
    expect(node.batches[0]?.events.map(saying).slice(-2)).toEqual(["cut off", "go on"]);
  });
});

describe("the hook", () => {
  test("never fails: whatever it is called with goes to its log at most (12 calls)", async () => {
    const { hook, node, place, userHome, log } = await captureHome();
    await mkdir(join(userHome, "dir.jsonl"));
    const link = await place(".claude", "x.jsonl");
    await symlink("/nowhere", link);
    const database = await place(".local", "share", "opencode", "opencode.db");
    await writeFile(database, "no database");
    const calls: [string, object | string][] = [
      ["claude-code", ""],
      ["claude-code", "no json"],
      ["claude-code", "null"],
      ["claude-code", {}],
      ["claude-code", { transcript_path: "relative.jsonl" }],
      ["claude-code", { transcript_path: join(userHome, "missing.jsonl") }],
      ["claude-code", { transcript_path: join(userHome, "dir.jsonl") }],
      ["claude-code", { transcript_path: link, hook_event_name: ["Stop"] }],
      ["codex", { session_id: "../../etc" }],
      ["opencode", { session_id: "ses_x" }],
      ["opencode", { session_id: "ses_x", database: "/dev/null" }],
      ["vim", {}],
    ];
    for (const [harness, payload] of calls) await hook(harness, payload);
    expect(node.requests).toEqual([]);
    expect(await log()).toMatch(/unknown harness vim/);
  });

  test("without its settings says what to do", async () => {
    const { hook, paths, log } = await captureHome();
    await rm(paths.token);
    await hook("claude-code", {});
    expect(await log()).toMatch(/run `cairn capture install`/);
  });

  test("keeps its log small, and private", async () => {
    const { hook, paths } = await captureHome();
    await mkdir(paths.directory, { recursive: true });
    await writeFile(paths.log, "x".repeat(1024 * 1024 + 1));
    await hook("vim", {});
    expect((await readFile(paths.log, "utf8")).length).toBeLessThan(200);
    expect((await stat(paths.log)).mode & 0o777).toBe(0o600);
    expect((await stat(`${paths.log}.1`)).size).toBe(1024 * 1024 + 1);
  });

  test("asks the node where it runs now, not where it was when the hook was installed", async () => {
    const { hook, node, home, place, userHome } = await captureHome();
    const path = await place(".claude", "projects", "p", "s.jsonl");
    await writeFile(path, await sessionText("claude-code"));
    const old = { version: 1, base_url: "http://127.0.0.1:1", local: true, token_id: null } as const;
    await writeCaptureSettings(home, old, "token");
    await mkdir(join(userHome, ".cairn", "run"));
    await writeFile(join(home, "run", "node.json"), JSON.stringify({ pid: 1, url: node.url, maintenance: false }));
    await hook("claude-code", { transcript_path: path, hook_event_name: "Stop" });
    expect(node.requests).toHaveLength(1);
  });

  test.skipIf(lacks("other-user"))(
    "sends nothing to another user who has the port of a node that has stopped",
    async () => {
      const { hook, node, home, log, place } = await captureHome();
      const path = await place(".claude", "projects", "p", "s.jsonl");
      await writeFile(path, await sessionText("claude-code"));
      const listener = await startForeignListener();
      const taken = `http://127.0.0.1:${listener.port}`;
      await writeCaptureSettings(home, { version: 1, base_url: taken, local: true, token_id: null }, "token");
      await hook("claude-code", { transcript_path: path, hook_event_name: "Stop" });
      expect(await log()).toContain(`Another user's process listens at ${taken}`);
      expect(listener.received()).toBe("");
      await writeCaptureSettings(home, { version: 1, base_url: node.url, local: true, token_id: null }, "token");
      await hook("claude-code", { transcript_path: path, hook_event_name: "Stop" });
      expect(node.batches[0]?.events.length).toBeGreaterThan(0);
    },
  );
});
