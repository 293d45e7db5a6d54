import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { claudeCodeLine } from "../../../../runtime/domain/harnesses/claude-code.ts";
import { codexLine } from "../../../../runtime/domain/harnesses/codex.ts";
import { elided, MAX_TOOL_ARGS, type SessionEvent, titleFrom } from "../../../../runtime/domain/harnesses/event.ts";
import { cutParts, partsFrom } from "../../../../runtime/domain/harnesses/match.ts";
import { isCompleteMessage, openCodePart } from "../../../../runtime/domain/harnesses/opencode.ts";
import { harnessPaths } from "../../../../runtime/domain/harnesses/paths.ts";
import { sessionLines } from "../../../support/session-files.ts";

const brief = (event: SessionEvent) => [
  event.role,
  event.tool_name ?? null,
  event.content ?? event.tool_result ?? event.tool_args,
];

describe("a session of Claude Code", () => {
  test("line by line", async () => {
    const pieces = (await sessionLines("claude-code")).map(claudeCodeLine);
    expect(pieces.flatMap(({ events }) => events.map(brief))).toEqual([
      ["user", null, "The checkout test fails since Monday. Can you find out why? 🗿"],
      ["system", null, "<system-reminder>Today is 2026-08-10.</system-reminder>"],
      ["assistant", null, "I look at what changed since Monday."],
      ["assistant", "Bash", { command: "git log --since=monday --oneline", description: "Commits since Monday" }],
      ["tool", null, "a1b2c3d Round prices up\n9f8e7d6 Update the lockfile"],
      ["assistant", "Read", { file_path: "/home/ada/shop/price.ts" }],
      ["tool", null, "export const price = Math.ceil;\n[image: image/png]"],
      ["assistant", null, "Commit a1b2c3d rounds prices up; the test expects 19.99 and gets 20."],
      ["system", null, "Conversation compacted"],
      ["system", null, "This session is being continued from a previous conversation."],
      ["user", null, "Look at this picture too."],
      ["user", null, "[image: image/jpeg]"],
    ]);
    expect(pieces.flatMap(({ title }) => title ?? [])).toEqual(["Failing checkout test"]);
    expect(pieces.flatMap(({ reasoning }) => reasoning ?? [])).toEqual([
      "The test was green last week, so a commit since then broke it. Let me look at the log first.",
    ]);
  });

  test("has ids that stay and differ, times, and what belongs together", async () => {
    const events = (await sessionLines("claude-code")).flatMap((line) => claudeCodeLine(line).events);
    expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length);
    expect(events[3]).toMatchObject({
      event_id: "00000000-0000-4000-8000-000000000005:0",
      created_at: "2026-08-10T12:00:07.123Z",
      metadata: { tool_call_id: "toolu_01A" },
    });
    expect(events[4]?.metadata).toEqual({ tool_call_id: "toolu_01A" });
  });
});

describe("a session of Codex", () => {
  test("line by line: what went to and came from the model, once", async () => {
    const pieces = (await sessionLines("codex")).map((line, n) => codexLine(line, n + 1));
    expect(pieces.flatMap(({ events }) => events.map(brief))).toEqual([
      ["system", null, "<permissions instructions>Ask before you write.</permissions instructions>"],
      ["system", null, "<environment_context>\n  <cwd>/home/ada/shop</cwd>\n</environment_context>"],
      ["user", null, "Add a test for refunds.\n[image]"],
      ["assistant", "exec_command", { cmd: ["bash", "-lc", "rg -n refund src"], workdir: "/home/ada/shop" }],
      ["tool", null, "src/refund.ts:1:export function refund() {}\n"],
      ["assistant", "apply_patch", expect.stringContaining("*** Begin Patch")],
      ["tool", null, expect.stringContaining("Success. Updated")],
      ["assistant", "web_search", { type: "search", query: "refund rounding rules" }],
      ["assistant", null, "The test is there; it fails, as refunds are not implemented."],
    ]);
    expect(pieces[9]?.events[0]).toMatchObject({
      event_id: "line:10",
      created_at: "2026-08-10T20:05:04.101Z",
      metadata: { tool_call_id: "call_1" },
    });
    expect(pieces[7]).toEqual({ events: [], reasoning: "**Looking for the refund code**" });
  });
});

describe("a session of OpenCode", () => {
  const part = (data: object, message: object = { role: "assistant" }) =>
    openCodePart({ id: "prt_1", timeCreated: 1_786_392_000_000, data, message });

  test("a tool part is one event with arguments and result", () => {
    const state = { status: "completed", input: { a: 1 }, output: "out", time: { start: 1_786_392_003_000, end: 1 } };
    expect(part({ type: "tool", callID: "c", tool: "grep", state }).events).toEqual([
      {
        event_id: "prt_1",
        role: "assistant",
        tool_name: "grep",
        tool_args: { a: 1 },
        tool_result: "out",
        created_at: "2026-08-10T20:00:03.000Z",
        metadata: { tool_call_id: "c" },
      },
    ]);
    const failed = { status: "error", input: {}, error: "no" };
    expect(part({ type: "tool", callID: "c", tool: "x", state: failed }).events[0]).toMatchObject({
      tool_result: "no",
      metadata: { is_error: true },
    });
    const running = { status: "running", input: {} };
    expect(part({ type: "tool", callID: "c", tool: "x", state: running }).events[0]).toMatchObject({
      metadata: { unfinished: true },
    });
  });

  test("texts are whose message it is; what the program adds is the system's", () => {
    expect(part({ type: "text", text: "hi" }, { role: "user" }).events[0]).toMatchObject({
      role: "user",
      content: "hi",
    });
    expect(part({ type: "text", text: "hi" }).events[0]?.role).toBe("assistant");
    expect(part({ type: "text", text: "hi", synthetic: true }, { role: "user" }).events[0]?.role).toBe("system");
    expect(part({ type: "reasoning", text: "hm" })).toEqual({ events: [], reasoning: "hm" });
    for (const type of ["step-start", "step-finish", "patch", "snapshot"]) expect(part({ type }).events).toEqual([]);
  });

  test("a message of the model is complete once it says so, or has failed", () => {
    expect(isCompleteMessage({ role: "user", time: { created: 1 } })).toBe(true);
    expect(isCompleteMessage({ role: "assistant", time: { created: 1 } })).toBe(false);
    expect(isCompleteMessage({ role: "assistant", time: { created: 1, completed: 2 } })).toBe(true);
    expect(isCompleteMessage({ role: "assistant", time: { created: 1 }, error: { name: "MessageAbortedError" } })).toBe(
      true,
    );
  });
});

describe("readers", () => {
  test("take any JSON without failing, and make only events that the route takes (500 values)", () => {
    const check = ({ events }: { readonly events: readonly SessionEvent[] }) => {
      for (const event of events) {
        expect(event.event_id).not.toBe("");
        expect(["user", "assistant", "system", "tool"]).toContain(event.role);
        expect(Boolean(event.content) || Boolean(event.tool_name) || event.tool_result !== undefined).toBe(true);
      }
    };
    const keys = fc.constantFrom(
      ..."type uuid message content role payload name input arguments call_id output text state status timestamp".split(
        " ",
      ),
    );
    const words = fc.constantFrom(
      ..."user assistant system response_item message function_call tool_use tool_result text tool completed thinking".split(
        " ",
      ),
    );
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        words,
        fc.jsonValue(),
        fc.array(tie("any"), { maxLength: 3 }),
        fc.dictionary(keys, tie("any"), { maxKeys: 6 }),
      ),
    })).any;
    fc.assert(
      fc.property(value, (line) => {
        check(claudeCodeLine(line));
        check(codexLine(line, 1));
        check(openCodePart({ id: "p", timeCreated: 0, data: line, message: line }));
      }),
      { numRuns: 500 },
    );
  });
});

describe("leaving out and finding again", () => {
  const event: SessionEvent = { event_id: "e", role: "assistant", tool_name: "Write", tool_args: {}, metadata: {} };

  test("arguments that are too long are left out, and their length is a number", () => {
    const args = { text: "x".repeat(MAX_TOOL_ARGS) };
    const sent = elided({ ...event, tool_args: args }, { length: 7 });
    expect(sent).not.toHaveProperty("tool_args");
    expect(sent.metadata).toEqual({ full_tool_args_length: JSON.stringify(args).length, full_reasoning_length: 7 });
    expect(elided({ ...event, tool_args: { a: 1 } })).toEqual({ ...event, tool_args: { a: 1 } });
  });

  const row = { content: "", tool_name: null, tool_args: null, tool_result: null, metadata: {} };

  test("a text is found by its beginning and its length, and by nothing less", () => {
    const long = "abc🗿".repeat(5_000);
    const cut = {
      ...row,
      content: long.slice(0, 16_000),
      metadata: { truncated: true, full_content_length: long.length },
    };
    const said = (content: string): SessionEvent => ({ event_id: "e", role: "user", content, metadata: {} });
    expect(partsFrom([said("other"), said(long)], cut, cutParts(cut))).toEqual({ content: long });
    for (const other of [`${long}x`, long.slice(1), `x${long.slice(1)}`, ""]) {
      expect(partsFrom([said(other)], cut, cutParts(cut))).toEqual({});
    }
  });

  test("arguments are found by their length and their tool", () => {
    const args = { text: "x".repeat(100) };
    const cut = { ...row, tool_name: "Write", metadata: { full_tool_args_length: JSON.stringify(args).length } };
    expect(partsFrom([{ ...event, tool_args: args }], cut, cutParts(cut))).toEqual({ tool_args: args });
    expect(partsFrom([{ ...event, tool_name: "Edit", tool_args: args }], cut, cutParts(cut))).toEqual({});
    expect(partsFrom([{ ...event, tool_args: { text: "y" } }], cut, cutParts(cut))).toEqual({});
  });
});

test("places are the user's, or those of the assistants' own variables", () => {
  expect(harnessPaths("claude-code", {}, "/home/ada")).toEqual({
    settings: "/home/ada/.claude",
    sessions: ["/home/ada/.claude/projects"],
  });
  expect(harnessPaths("codex", { CODEX_HOME: "/x" }, "/home/ada").sessions).toEqual([
    "/x/sessions",
    "/x/archived_sessions",
  ]);
  expect(harnessPaths("opencode", { XDG_DATA_HOME: "", XDG_CONFIG_HOME: "rel" }, "/home/ada")).toEqual({
    settings: "/home/ada/.config/opencode",
    sessions: ["/home/ada/.local/share/opencode"],
  });
});

test("a title is the first line, short", () => {
  expect(titleFrom("\n  Fix it \nplease")).toBe("Fix it");
  expect(titleFrom("🗿".repeat(100))).toBe(`${"🗿".repeat(79)}…`);
  expect(titleFrom(" \n")).toBeUndefined();
});
