import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createHookPipeline } from "../../../../../runtime/app/hooks.ts";
import { CairnError } from "../../../../../runtime/contracts/errors.ts";
import type { ApprovalOutcome, HookContexts } from "../../../../../runtime/contracts/hooks.ts";
import type { Clock, Logger } from "../../../../../runtime/contracts/ports.ts";
import { AnswerPending, type ToolContext } from "../../../../../runtime/contracts/tool.ts";
import {
  createAuditFile,
  createSafetyHooks,
  type SafetyDeps,
} from "../../../../../runtime/plugins/hooks/safety/index.ts";
import { createWorkspaceGate } from "../../../../../runtime/plugins/tools/index.ts";

const SECRET = "sk-live-0123456789";
const PATH_ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  shell: ["cwd"],
  file_read: ["path"],
  archive: ["paths"],
};
const clock: Clock = { now: () => new Date("2026-03-01T23:59:59.500Z"), monotonic: () => 0 };
const logger: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => logger };

async function setUp(
  settings: Partial<SafetyDeps["settings"]> = {},
  more: Partial<SafetyDeps> = {},
  approve: HookContexts["tool:before"]["approve"] = () => Promise.reject(new Error("not to be approved")),
) {
  const base = await mkdtemp(join(tmpdir(), "cairn-safety-"));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const auditDirectory = join(base, "logs", "audit");
  const hooks = createSafetyHooks({
    settings: { shell_danger: true, workspace_fence: true, audit: true, rules: [], ...settings },
    gate: createWorkspaceGate({ protectedPaths: [] }),
    auditFile: createAuditFile({ directory: auditDirectory, clock, logger: more.logger ?? logger }),
    redact: (text) => text.replaceAll(SECRET, "[redacted]"),
    logger,
    ...more,
  });
  const pipeline = createHookPipeline(hooks, logger);
  const context: ToolContext = {
    agent: "main",
    sessionKey: "main:agent:talk:ada",
    conversationId: "c",
    turnId: "t",
    toolCallId: "call_1",
    tools: [],
    workspace: base,
    channel: "agent",
    user: "ada",
    owner: false,
    ask: () => Promise.reject(new Error("not to be asked")),
    delegate: () => Promise.reject(new Error("not to be delegated")),
    spawn: () => Promise.reject(new Error("not to be delegated")),
    once: (work) => work(),
    progress: () => undefined,
    deliver: async () => undefined,
    sendFile: async () => undefined,
  };
  return {
    base,
    auditDirectory,
    hooks,
    /** The code of the refusal, or null when the call may run. */
    async callBefore(name: string, args: Record<string, unknown>): Promise<string | null> {
      try {
        const pathArguments = PATH_ARGUMENTS[name] ?? [];
        const call = { id: "call_1", name, arguments: args };
        await pipeline.run("tool:before", { ...context, call, pathArguments, approve });
        return null;
      } catch (error) {
        if (!(error instanceof CairnError)) throw error;
        return `${error.code}: ${error.message}`;
      }
    },
    callAfter: (name: string, args: Record<string, unknown>, content: string, isError = false) =>
      pipeline.run("tool:after", {
        ...context,
        call: { id: "call_1", name, arguments: args },
        result: { content, ...(isError ? { isError } : {}) },
        durationMs: 12.6,
        changedFiles: [],
      }),
    async lines(): Promise<Record<string, unknown>[]> {
      const text = await readFile(join(auditDirectory, "2026-03-01.jsonl"), "utf8").catch(() => "");
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line));
    },
  };
}

it("has the priorities of the specification", async () => {
  const { hooks } = await setUp({ rules: [{ name: "r", pattern: "x", action: "refuse" }] });
  expect(hooks.map(({ name, event, priority }) => `${name} ${event} ${priority}`)).toEqual([
    "shell_danger tool:before 10",
    "workspace_fence tool:before 15",
    "custom_rules tool:before 20",
    "audit tool:before 90",
    "audit tool:after 90",
  ]);
});

it("leaves out what is switched off", async () => {
  const { callBefore, hooks } = await setUp({ shell_danger: false, workspace_fence: false, audit: false });
  expect(hooks).toEqual([]);
  expect(await callBefore("shell", { command: "rm -rf /" })).toBeNull();
});

describe("the shell danger blocker", () => {
  it("refuses with the reason, and looks at the shell tool only", async () => {
    const { callBefore } = await setUp();
    expect(await callBefore("shell", { command: "rm -rf /" })).toMatch(/^TOOL_REFUSED: .*whole file system/);
    expect(await callBefore("shell", { command: "rm -rf build" })).toBeNull();
    expect(await callBefore("memory_search", { command: "rm -rf /", query: "rm -rf /" })).toBeNull();
  });

  it("judges a command where the call starts it", async () => {
    const { callBefore } = await setUp();
    expect(await callBefore("shell", { command: "rm -rf *", cwd: "build" })).toBeNull();
    expect(await callBefore("shell", { command: "rm -rf *" })).toMatch(/whole workspace/);
  });

  it("asks about what it cannot decide", async () => {
    const command = "read c < f; $c x";
    const asked: string[] = [];
    const decided = async (outcome: ApprovalOutcome) => {
      const { callBefore, lines } = await setUp({}, {}, async (call, reason) => {
        asked.push(`${call.name}: ${reason}`);
        return outcome;
      });
      return [await callBefore("shell", { command }), (await lines()).map(({ event }) => event)];
    };
    expect(await decided("approved")).toEqual([null, ["call"]]);
    expect(await decided("denied")).toEqual([expect.stringMatching(/^TOOL_REFUSED: .*denied it/), ["refused"]]);
    expect(await decided("expired")).toEqual([expect.stringMatching(/^TOOL_REFUSED: .*in time/), ["refused"]]);
    expect(asked).toEqual(Array(3).fill("shell: the name of a command is computed while it runs"));
  });

  it("records no refusal of a call that waits for the owner's word", async () => {
    const pending = new AnswerPending("waits");
    const { callBefore, lines } = await setUp({}, {}, () => Promise.reject(pending));
    await expect(callBefore("shell", { command: "read c < f; $c x" })).rejects.toBe(pending);
    expect(await lines()).toEqual([]);
  });

  it("does not ask about what is known to be dangerous", async () => {
    const { callBefore } = await setUp({}, {}, async () => "approved");
    expect(await callBefore("shell", { command: "rm -rf /" })).toMatch(/^TOOL_REFUSED/);
  });
});

describe("the workspace fence", () => {
  it("checks the declared path arguments of every tool, lists included", async () => {
    const { callBefore, base } = await setUp();
    await symlink("/etc", join(base, "out"));
    expect(await callBefore("file_read", { path: "notes/a.md" })).toBeNull();
    expect(await callBefore("file_read", { path: "../x" })).toMatch(/^TOOL_OUTSIDE_WORKSPACE/);
    expect(await callBefore("file_read", { path: "out/passwd" })).toMatch(/^TOOL_OUTSIDE_WORKSPACE/);
    expect(await callBefore("shell", { command: "ls", cwd: "/" })).toMatch(/^TOOL_OUTSIDE_WORKSPACE/);
    expect(await callBefore("shell", { command: "ls" })).toBeNull();
    expect(await callBefore("archive", { paths: ["a", "b/c"] })).toBeNull();
    expect(await callBefore("archive", { paths: ["a", "/etc/passwd"] })).toMatch(/^TOOL_OUTSIDE_WORKSPACE/);
    expect(await callBefore("other", { path: "/etc/passwd" })).toBeNull();
  });
});

describe("the owner's rules", () => {
  it("refuse what matches a tool's argument, or any argument as JSON", async () => {
    const { callBefore } = await setUp({
      rules: [
        {
          name: "no pushes",
          tools: ["shell"],
          argument: "command",
          pattern: "^git push",
          action: "refuse",
          message: "Ask first.",
        },
        { name: "no drafts", pattern: "drafts/", action: "refuse" },
      ],
    });
    expect(await callBefore("shell", { command: "git push" })).toBe(
      'TOOL_REFUSED: The call was refused: rule "no pushes": Ask first.',
    );
    expect(await callBefore("shell", { command: "echo git push" })).toBeNull();
    expect(await callBefore("file_read", { path: "drafts/a" })).toMatch(/rule "no drafts" forbids it/);
  });

  it("warn in the log, or ask", async () => {
    const warnings: object[] = [];
    const { callBefore } = await setUp(
      {
        rules: [
          { name: "installs", tools: ["shell"], pattern: "npm install", action: "warn" },
          { name: "deploys", tools: ["shell"], pattern: "deploy", action: "ask" },
        ],
      },
      { logger: { ...logger, warn: (fields) => void warnings.push(fields) } },
      async () => "denied",
    );
    expect(await callBefore("shell", { command: "npm install x" })).toBeNull();
    expect(warnings).toMatchObject([{ rule: "installs", tool: "shell" }]);
    expect(await callBefore("shell", { command: "make deploy" })).toMatch(/^TOOL_REFUSED: .*rule "deploys".*denied it/);
  });
});

describe("the audit log", () => {
  it("has a line for each call, its end, and each refusal", async () => {
    const { callBefore, callAfter, lines } = await setUp();
    await callBefore("shell", { command: "ls" });
    await callAfter("shell", { command: "ls" }, "exit code: 0");
    await callBefore("shell", { command: "rm -rf /" });
    await callAfter("shell", { command: "false" }, "exit code: 1", true);
    const at = "2026-03-01T23:59:59.500Z";
    expect(await lines()).toMatchObject([
      { at, event: "call", tool: "shell", arguments: { command: "ls" }, agent: "main", user: "ada", turn_id: "t" },
      { at, event: "result", tool: "shell", ok: true, duration_ms: 13, result: "exit code: 0", result_chars: 12 },
      {
        at,
        event: "refused",
        hook: "shell_danger",
        code: "TOOL_REFUSED",
        reason: expect.stringContaining("file system"),
      },
      { at, event: "result", ok: false },
    ]);
  });

  it("is private, and holds no secret and no endless text", async () => {
    const { callBefore, callAfter, lines, auditDirectory } = await setUp();
    await callBefore("shell", { command: `curl -H 'X: ${SECRET}'`, api_key: "plain", more: [{ deep: SECRET }] });
    await callBefore("file_read", { path: "x".repeat(90_000) });
    await callAfter("shell", {}, `${"y".repeat(490)}${SECRET}`);
    const file = join(auditDirectory, "2026-03-01.jsonl");
    const text = await readFile(file, "utf8");
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain(SECRET.slice(0, 8));
    expect(text.length).toBeLessThan(10_000);
    expect((await lines())[0]).toMatchObject({ arguments: { api_key: "[redacted]", more: [{ deep: "[redacted]" }] } });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(auditDirectory)).mode & 0o777).toBe(0o700);
  });

  it("stops nothing when it cannot be written", async () => {
    const errors: string[] = [];
    const { callBefore, base, auditDirectory } = await setUp(
      {},
      { logger: { ...logger, error: (_, message) => void errors.push(message) } },
    );
    await writeFile(join(base, "logs"), "in the way");
    expect(await callBefore("shell", { command: "ls" })).toBeNull();
    expect(errors).toEqual(["the audit log could not be written"]);
    expect(await readdir(base)).not.toContain(auditDirectory);
  });
});
