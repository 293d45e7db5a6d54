/** Sessions of a coding assistant on their way into a real node: by the installed hook, through outages and kills. */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { cairn, environmentOf } from "../support/commands.ts";
import { createEmbeddedCopy, createPostgresCopy } from "../support/databases.ts";
import { until } from "../support/eventually.ts";
import type { Deployment, NodeProcess } from "../support/node-process.ts";
import { deploymentOf, runningNode } from "../support/running-node.ts";
import { OPENCODE_SESSION, sessionText, writeOpenCodeDatabase } from "../support/session-files.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const HOOK = join(ROOT, "bin", "cairn-capture.js");
const SESSION = "7d4c9a52-1c0e-4f6a-9f55-0a6f3c1d2e10";

interface Row {
  readonly id: string;
  readonly role: string;
  readonly content: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

async function storeOf(backend: "embedded" | "postgres"): Promise<object> {
  const made =
    backend === "embedded"
      ? await createEmbeddedCopy().then(({ path, remove }) => ({ config: { embedded: { path } }, remove }))
      : await createPostgresCopy(process.env.CAIRN_TEST_PG_URL ?? "").then(({ url, remove }) => ({
          config: { postgres: { connection_string: url } },
          remove,
        }));
  onTestFinished(made.remove);
  return made.config;
}

async function setUp(backend: "embedded" | "postgres") {
  const config = { agents: { main: {} }, providers: { offline: {} }, memory: await storeOf(backend) };
  const deployment = await deploymentOf({ config });
  const path = join(deployment.dir, ".claude", "projects", "-home-ada-shop", `${SESSION}.jsonl`);
  await mkdir(dirname(path), { recursive: true });
  return { deployment, path };
}

/** What Claude Code would start, as its settings say. */
async function hookCommand({ dir }: Deployment): Promise<string> {
  const settings = JSON.parse(await readFile(join(dir, ".claude", "settings.json"), "utf8")) as {
    hooks: { Stop: [{ hooks: [{ command: string }] }] };
  };
  return settings.hooks.Stop[0].hooks[0].command;
}

function payload(path: string, event = "Stop"): string {
  return JSON.stringify({ session_id: SESSION, transcript_path: path, hook_event_name: event, cwd: "/" });
}

/** The hook without its launcher, which would let go of it. */
function startHook(deployment: Deployment, path: string) {
  const child = spawn(process.execPath, [HOOK, "claude-code", deployment.home], {
    env: environmentOf(deployment),
    stdio: ["pipe", "inherit", "inherit"],
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end(payload(path));
  return { child, ended: once(child, "exit") };
}

async function total(node: NodeProcess): Promise<number> {
  return (await node.call<{ messages: { total: number } }>("/api/memory/tool/memory_stats", {})).messages.total;
}

/** All rows of the session, in the order in which they were stored. */
async function rowsOf(node: NodeProcess, sessionKey = `claude-code:${SESSION}`): Promise<Row[]> {
  const rows: Row[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: { messages: Row[]; next_cursor: string | null } = await node.call("/api/memory/tool/memory_browse", {
      session_key: sessionKey,
      order: "asc",
      limit: 200,
      ...(cursor === null ? {} : { cursor }),
    });
    rows.push(...page.messages);
    cursor = page.next_cursor;
    if (cursor === null) return rows;
  }
}

/** `count` lines of a session, numbered from `first`, a second apart. */
function lines(first: number, count: number): string {
  return Array.from({ length: count }, (_, n) => {
    const timestamp = new Date(Date.UTC(2026, 7, 10) + (first + n) * 1_000).toISOString();
    const message = { role: "user", content: `line ${first + n}` };
    return `${JSON.stringify({ type: "user", uuid: `u${first + n}`, sessionId: SESSION, timestamp, message })}\n`;
  }).join("");
}

const numbered = (count: number) => Array.from({ length: count }, (_, n) => `line ${n}`);
const contents = (rows: readonly Row[]) => rows.map(({ content }) => content);

/** `many`: events of a session that is killed in the middle; the embedded store takes them more slowly. */
const BACKENDS = [
  { backend: "embedded", many: 1_200 },
  { backend: "postgres", many: 3_000 },
] as const;

describe.each(BACKENDS)("capture into a node over $backend", ({ backend, many }) => {
  beforeAll(async () => {
    await stat(join(ROOT, "dist", "runtime", "client", "hook", "main.js"));
  });

  it("an installed hook delivers a session of 13 events, and what was cut comes back from its file", async () => {
    const { deployment, path } = await setUp(backend);
    const node = await runningNode(deployment);
    const installed = await cairn<{ node: string; changed: boolean }>(deployment, "capture", "install", "claude-code");
    expect(installed).toMatchObject({ node: node.url, changed: true });
    expect(await cairn(deployment, "capture", "install", "claude-code")).toMatchObject({ changed: false });
    const tokens = await cairn<{ tokens: { scopes: string[] }[] }>(deployment, "token", "list");
    expect(tokens.tokens.map(({ scopes }) => scopes)).toEqual([["capture"]]);

    const long = `${"A long answer about rounding. ".repeat(1_000)}🗿`;
    const message = { role: "assistant", content: [{ type: "text", text: long }] };
    const last = JSON.stringify({
      type: "assistant",
      uuid: "long",
      sessionId: SESSION,
      message,
      timestamp: "2026-08-10T13:00:00Z",
    });
    await writeFile(path, `${await sessionText("claude-code")}${last}\n`);
    const ran = promisify(execFile)("/bin/sh", ["-c", await hookCommand(deployment)], {
      env: environmentOf(deployment),
    });
    ran.child.stdin?.end(payload(path, "SessionEnd"));
    expect(await ran).toEqual({ stdout: "", stderr: "" });
    await until(async () => (await total(node)) === 13);
    const rows = await rowsOf(node);
    const cut = rows.at(-1);
    expect(cut).toMatchObject({
      content: long.slice(0, 16_000),
      metadata: { truncated: true, full_content_length: long.length },
    });
    const full = await node.call("/api/memory/tool/memory_get_full", { id: cut?.id });
    expect(full).toMatchObject({ recovered: true, source: "jsonl", content: long });
    const thought = rows.find(({ metadata }) => metadata["full_reasoning_length"] !== undefined);
    expect(await node.call("/api/memory/tool/memory_get_full", { id: thought?.id })).toMatchObject({
      recovered: true,
      reasoning: expect.stringContaining("The test was green last week"),
    });
    expect(await cairn(deployment, "capture", "status")).toMatchObject({ spool: { waiting: 0, dead: 0 } });
    expect(await cairn(deployment, "capture", "uninstall", "claude-code")).toMatchObject({
      changed: true,
      token_revoked: true,
    });
    expect(await readdir(join(deployment.home, "capture"))).not.toContain("token");
  });

  it(`a hook that is killed at any moment, and 4 at once, leave ${many} events, each there once, in order`, async () => {
    const { deployment, path } = await setUp(backend);
    const node = await runningNode(deployment);
    await cairn(deployment, "capture", "install", "claude-code");
    await writeFile(path, lines(0, many));
    // From before it has begun to the middle of its work.
    for (const ms of [5, 60, 120, 250, 400]) {
      const { child, ended } = startHook(deployment, path);
      const timer = setTimeout(() => child.kill("SIGKILL"), ms);
      await ended;
      clearTimeout(timer);
    }
    await Promise.all(Array.from({ length: 4 }, () => startHook(deployment, path).ended));
    // A hook ends at its deadline; the next one goes on where it was.
    await until(async () => {
      const isComplete = (await total(node)) >= many;
      if (!isComplete) await startHook(deployment, path).ended;
      return isComplete;
    });
    expect(await total(node)).toBe(many);
    expect(contents(await rowsOf(node))).toEqual(numbered(many));
  });

  it(`a node that is killed in the middle of ${many} events and away for 100 more has all ${many + 200}, each once, in order`, async () => {
    const { deployment, path } = await setUp(backend);
    const first = await runningNode(deployment);
    await cairn(deployment, "capture", "install", "claude-code");
    await writeFile(path, lines(0, many));
    const { ended } = startHook(deployment, path);
    await until(async () => (await total(first).catch(() => 0)) >= 400);
    first.signal("SIGKILL");
    await Promise.all([ended, first.exited]);
    await appendFile(path, lines(many, 100));
    await startHook(deployment, path).ended;
    const spooled = await cairn<{ spool: { waiting: number } }>(deployment, "capture", "status");
    expect(spooled.spool.waiting).toBeGreaterThan(0);
    const second = await runningNode(deployment);
    await appendFile(path, lines(many + 100, 100));
    await startHook(deployment, path).ended;
    expect(contents(await rowsOf(second))).toEqual(numbered(many + 200));
    expect(await total(second)).toBe(many + 200);
    expect(await cairn(deployment, "capture", "flush")).toEqual({ stored: 0, dead: 0, waiting: 0, requeued: 0 });
  });
});

const LONG = `${"A long answer about refunds. ".repeat(1_000)}🗿`;
const CODEX_SESSION = "0198f2c4-7b1e-7c30-8a2f-5d6e7f809101";

/** How each assistant writes a session down, with a last event that is longer than a row, and what it does when it rests. */
const ASSISTANTS = [
  {
    harness: "codex",
    session: CODEX_SESSION,
    events: 10,
    source: "jsonl",
    async write({ dir }: Deployment) {
      const day = join(dir, ".codex", "sessions", "2026", "08", "10");
      await mkdir(day, { recursive: true });
      const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: LONG }] };
      const last = { timestamp: "2026-08-10T20:06:00Z", type: "response_item", payload: message };
      const path = join(day, `rollout-2026-08-10T20-05-00-${CODEX_SESSION}.jsonl`);
      await writeFile(path, `${await sessionText("codex")}${JSON.stringify(last)}\n`);
    },
    async rest(deployment: Deployment, file: string) {
      const { hooks } = JSON.parse(await readFile(file, "utf8")) as { hooks: { Stop: [{ hooks: [Command] }] } };
      const { command } = hooks.Stop[0].hooks[0];
      const ran = promisify(execFile)("/bin/sh", ["-c", command], { env: environmentOf(deployment) });
      ran.child.stdin?.end(JSON.stringify({ session_id: CODEX_SESSION, hook_event_name: "Stop", turn_id: "1" }));
      await ran;
    },
  },
  {
    harness: "opencode",
    session: OPENCODE_SESSION,
    events: 7,
    source: "sqlite",
    async write({ dir }: Deployment) {
      const data = join(dir, ".local", "share", "opencode");
      await mkdir(data, { recursive: true });
      const part = JSON.stringify({ type: "text", text: LONG });
      await writeOpenCodeDatabase(
        join(data, "opencode.db"),
        `insert into part values ('prt_010', 'msg_002', '${OPENCODE_SESSION}', 1786392010000, 1786392010000, '${part}')`,
      );
    },
    async rest(deployment: Deployment, file: string) {
      const event = { type: "session.status", properties: { sessionID: OPENCODE_SESSION, status: { type: "idle" } } };
      const program = `const { CairnCapture } = await import(process.argv[1]);
        await (await CairnCapture()).event({ event: ${JSON.stringify(event)} });`;
      await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program, pathToFileURL(file).href], {
        env: environmentOf(deployment),
      });
    },
  },
];

interface Command {
  readonly command: string;
}

describe.each(ASSISTANTS)("a session of $harness", ({ harness, session, events, source, write, rest }) => {
  it(`arrives by itself once its hook is installed: ${events} events, and what was cut comes back from its ${source}`, async () => {
    const { deployment } = await setUp("embedded");
    const node = await runningNode(deployment);
    const { file } = await cairn<{ file: string }>(deployment, "capture", "install", harness);
    await write(deployment);
    await rest(deployment, file);
    await until(async () => (await total(node)) >= events);
    const rows = await rowsOf(node, `${harness}:${session}`);
    expect(rows).toHaveLength(events);
    const cut = rows.at(-1);
    expect(cut).toMatchObject({
      content: LONG.slice(0, 16_000),
      metadata: { truncated: true, full_content_length: LONG.length },
    });
    const full = await node.call("/api/memory/tool/memory_get_full", { id: cut?.id });
    expect(full).toMatchObject({ recovered: true, source, content: LONG });
    expect(await cairn(deployment, "capture", "status")).toMatchObject({ spool: { waiting: 0, dead: 0 } });
  });
});
