/**
 * Plays the node for tests of the command line: its lock, `run/node.json`, its messages to a parent and the routes that
 * commands use, without a store. Started like the real one: `node stand-in-node.ts --dir DIR --home HOME [--maintenance]`.
 *
 * STAND_IN holds what it does otherwise, separated by commas: `fail` reports an error, `crash` ends with a stack trace,
 * `fail-start` does so only where it is to start, `hang` never becomes ready, `ignore-term` does not end on SIGTERM, `slow-stop` takes 1.5 s for it, `hostile` answers with
 * what a terminal would obey, `whole-backups` has no backup that is damaged, `clock-ahead` has a clock an hour ahead, `own-token` takes no token of `.env`,
 * `no-vectors` has no embedding model.
 */

import { mkdirSync, openSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { json } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { tryLock } from "fs-native-extensions";
import { readSecretsFile } from "../../runtime/config/secrets-file.ts";
import { ProviderError, toCairnError } from "../../runtime/contracts/errors.ts";
import type { StreamEvent, TurnResult } from "../../runtime/contracts/stream.ts";
import { createFakeReading } from "./fake-reading.ts";

const { values } = parseArgs({
  options: {
    dir: { type: "string" },
    home: { type: "string" },
    maintenance: { type: "boolean", default: false },
    rehearse: { type: "string" },
    "with-parent": { type: "boolean", default: false },
  },
});
if (values["with-parent"]) process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
const faults = new Set((process.env.STAND_IN ?? "").split(","));
const home = values.home ?? "";
const run = join(home, "run");
/** Sets the title, clears the screen, hides what follows. */
const hostile = faults.has("hostile") ? "\u001b]0;title\u0007\u001b[2J\u001b[8m\r\u009b1A" : "";
/** As the real one: of the environment, else of `.env`. */
const token = faults.has("own-token") ? "its own" : process.env.SERVICE_API_TOKEN || (await fromFile());
const clockMs = faults.has("clock-ahead") ? 3_600_000 : 0;
const turns = new Map<string, { readonly session: string; readonly text: string }>();
const tokens: Record<string, unknown>[] = [];
const CALL = {
  id: "01a2f3c4-0000-7000-8000-00005f3a91c2",
  agent: "main",
  tool: "shell",
  call: "command: make deploy",
  reason: 'rule "deploys" asks',
  digest: "d".repeat(64),
};
const PENDING = {
  ...CALL,
  turn_id: "t",
  channel: "agent",
  conversation: "s",
  asked_at: "2026-01-01T00:00:00.000Z",
  expires_at: "2026-01-02T00:00:00.000Z",
};
const STANDING = { ...CALL, approved_by: "owner", approved_at: "2026-01-01T00:00:00.000Z" };
const DECIDED = { id: CALL.id, agent: "main", tool: "shell", turn_id: "t", decision: "approved", always: true };

const PAIRING = {
  channel: "telegram",
  user: "7",
  name: "Eve",
  requested_at: "2026-01-01T00:00:00.000Z",
  expires_at: null,
  approved_at: "2026-01-01T00:10:00.000Z",
};
const ASKED = { user: "8", expires_at: "2026-01-01T01:00:00.000Z", approved_at: null };
const reading = createFakeReading();
const fleet = [
  { name: "attic", status: "offline", hosts: [], address: null, self: false },
  { name: "box\u001b[31m", status: "online", hosts: ["main", "other"], address: "https://box:7433", self: true },
].map((node) => ({
  id: (node.self ? "0" : "1").repeat(32),
  version: "0.1.0",
  schema: 22,
  certificate_sha256: null,
  next_certificate_sha256: null,
  heard_at: new Date(Date.now() - (node.self ? 0 : 125_000)).toISOString(),
  agents: [],
  shares_database: true,
  ...node,
}));
const schedules = [
  {
    agent: "main",
    name: "morning",
    cron: "0 8 * * 1-5",
    timezone: "Europe/Berlin",
    channel: null,
    conversation: null,
    state: "active",
    next_at: "2030-02-01T07:00:00.000Z",
    last: { turn_id: "turn-1", at: "2030-01-31T07:00:02.000Z", state: "failed", error: "no model" },
    problem: `its last run failed: no model${hostile}`,
  },
  ...["main", "second"].map((agent) => ({
    agent,
    name: "evening",
    cron: "0 18 * * *",
    timezone: "UTC",
    channel: "telegram",
    conversation: "7",
    state: "paused",
    next_at: null,
    last: null,
    problem: null,
  })),
];
const queues = [
  {
    queue: "synthesize-tool-call",
    waiting: 3,
    active: 1,
    failed: 2,
    completed: 9,
    last_error: "the model\u001b[31m is unavailable",
  },
  { queue: "embed", waiting: 1, active: 0, failed: 0, completed: 0, last_error: "the store is full" },
];

if (faults.has("crash")) throw new Error("the stand-in crashed before it was ready");
if (faults.has("fail") || (faults.has("fail-start") && values.rehearse === undefined)) {
  const error = { code: "MEMORY_STORE_LOCKED", message: "The store is in use.", severity: "fatal", retryable: false };
  process.send?.({ type: "failed", error: { ...error, hint: "Stop the other process." } }, () => process.exit(1));
} else if (values.rehearse !== undefined) {
  process.send?.({ type: "ready", url: "" }, () => process.exit(0));
} else {
  start();
}

function start(): void {
  mkdirSync(run, { recursive: true });
  if (!tryLock(openSync(join(run, "node.lock"), "a+", 0o600))) throw new Error("the home directory is held");
  const server = createServer((request, response) => void answer(request, response));
  process.on("SIGTERM", () => {
    if (faults.has("ignore-term")) return;
    setTimeout(end, faults.has("slow-stop") ? 1_500 : 0);
  });
  process.on("SIGINT", end);
  if (values.maintenance) process.once("disconnect", end);
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const node = {
      pid: process.pid,
      boot: "b",
      listen: `127.0.0.1:${port}`,
      url,
      started_at: new Date().toISOString(),
    };
    writeFileSync(
      join(run, "node.json"),
      JSON.stringify({ ...node, dir: values.dir, version: "0.0.0-stand-in", maintenance: values.maintenance }),
    );
    if (faults.has("hang")) complain();
    else process.send?.({ type: "ready", url });
  });
}

function restoredTokens({ url = "" }: IncomingMessage): object {
  if (!url.endsWith("?tokens=true")) return { left_out: 2, restored: [] };
  const restored = [
    { name: "hook\u001b[2J", scopes: ["capture"], revoked: false },
    { name: "old", scopes: ["admin"], revoked: true },
  ];
  return { left_out: 0, restored };
}

async function fromFile(): Promise<string | undefined> {
  const read = await readSecretsFile(values.dir ?? "").catch(() => null);
  return read?.values["SERVICE_API_TOKEN"];
}

function complain(): void {
  mkdirSync(join(home, "logs"), { recursive: true });
  const entry = {
    level: "warn",
    time: new Date().toISOString(),
    msg: "waiting for the database",
    reason: "nobody there",
  };
  writeFileSync(join(home, "logs", "cairn.1.log"), `${JSON.stringify(entry)}\n`);
}

function end(): void {
  rmSync(join(run, "node.json"), { force: true });
  process.exit(0);
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://node");
  const route = `${request.method} ${pathname}`;
  if (pathname !== "/health/ready" && request.headers.authorization !== `Bearer ${token}`) {
    refuse(response, 401, "RUNTIME_UNAUTHORIZED", "The token is wrong.");
  } else if (route === "GET /health") ok(response, health());
  else if (route === "GET /health/ready") ok(response, { ready: true });
  else if (/^POST \/api\/agents\/[^/]+\/messages$/.test(route)) await message(request, response);
  else if (/^POST \/api\/agents\/[^/]+\/commands$/.test(route)) await command(request, response);
  else if (/^GET \/api\/agents\/[^/]+\/turns\//.test(route))
    follow(pathname.split("/").at(-1) ?? "", request, response);
  else if (route === "GET /api/admin/memory/backup") backup(response);
  else if (route === "GET /api/admin/memory/backups")
    ok(response, { node: "stand-in", backups: scheduledBackups(request) });
  else if (route === "GET /api/admin/memory/backups/cairn-20300131T020304Z.backup") backup(response);
  else if (route === "GET /api/admin/memory/export") response.end('{"role":"user"}\n{"role":"assistant"}\n');
  else if (route === "POST /api/admin/memory/restore")
    ok(response, { counts: { bytes: await size(request) }, tokens: restoredTokens(request) });
  else if (route === "POST /api/admin/memory/import") ok(response, { imported: await size(request), skipped: 1 });
  else if (route === "POST /api/admin/memory/forget/preview") ok(response, await toForget(request));
  else if (route === "POST /api/admin/memory/forget") ok(response, await forgotten(request));
  else if (route === "GET /api/admin/pairings") ok(response, { pairings: [PAIRING, { ...PAIRING, ...ASKED }] });
  else if (route === "GET /api/admin/mcp-servers/files/changes") ok(response, CHANGED_TOOLS);
  else if (route === "POST /api/admin/mcp-servers/files/approve") await approveTools(request, response);
  else if (route === "POST /api/admin/pairings") ok(response, PAIRING);
  else if (route === "GET /api/approvals") ok(response, { approvals: [PENDING], next: null });
  else if (route === "GET /api/approvals/standing") ok(response, { approvals: [STANDING], next: STANDING.id });
  else if (/^POST \/api\/approvals\/[^/]+$/.test(route)) ok(response, DECIDED);
  else if (route === `DELETE /api/approvals/standing/${STANDING.id}`) ok(response, STANDING);
  else if (route === "DELETE /api/admin/pairings/telegram/7") ok(response, PAIRING);
  else if (route === "GET /api/admin/tokens") ok(response, { tokens });
  else if (route === "POST /api/admin/tokens") await createToken(request, response);
  else if (/^POST \/api\/admin\/tokens\/[^/]+\/rotate$/.test(route)) await rotateToken(pathname, request, response);
  else if (route === "POST /api/memory/tool/memory_search") await search(request, response);
  else if (route === "POST /api/memory/tool/memory_browse") ok(response, await browse(request));
  else if (route === "POST /api/memory/tool/memory_stats") ok(response, stats());
  else if (route === "POST /mcp") await mcp(request, response);
  else if (hostile !== "" && route === "GET /api/admin/jobs") refuse(response, 503, "RUNTIME_INTERNAL", hostile);
  else if (route === "GET /api/admin/jobs") ok(response, { queues });
  else if (route === "GET /api/mesh") ok(response, { nodes: fleet });
  else if (route === "GET /api/mesh/peers") peers(new URL(request.url ?? "/", "http://node"), response);
  else if (route === "POST /api/admin/mesh/tokens")
    ok(response, { token: "cairn-join-x", url: "https://box:7433", expires_at: "2030-01-01T00:00:00.000Z" });
  else if (route === "POST /api/admin/mesh/leave")
    ok(response, { id: "0".repeat(32), name: "box", notified: 2, admitted: [] });
  else if (route === "POST /api/admin/mesh/revoke")
    ok(response, { id: "1".repeat(32), name: "attic", notified: 1, admitted: ["nova", "shed"] });
  else if (route === "POST /api/admin/mesh/join") ok(response, { node_id: "0".repeat(32), members: ["nova"] });
  else if (route === "GET /api/admin/schedules") ok(response, { schedules });
  else if (/^POST \/api\/admin\/schedules\/[^/]+\/[^/]+\/(run|pause|resume)$/.test(route))
    ok(response, scheduled(pathname));
  else if (route === "GET /api/usage") ok(response, usage(new URL(request.url ?? "/", "http://node").searchParams));
  else if (route === "POST /api/admin/memory/backfill-tool-synth") await backfill(request, response);
  else if (/^GET \/api\/admin\/memory\/(sessions|rows|wiki)/.test(route))
    await read(new URL(request.url ?? "/", "http://node"), response);
  else if (/^POST \/api\/admin\/jobs\/[^/]+\/retry-failed$/.test(route))
    await retryFailed(pathname.split("/").at(-2) ?? "", request, response);
  else if (request.method === "DELETE") ok(response, { id: "id-1", name: pathname.split("/").at(-1), revoked: true });
  else refuse(response, 404, "RUNTIME_NOT_FOUND", `There is no route ${route}.`);
}

/** The attic does not answer. */
function peers({ searchParams }: URL, response: ServerResponse): void {
  const node = searchParams.get("node") ?? "attic";
  if (node !== "attic") {
    refuse(response, 404, "RUNTIME_NOT_FOUND", `There is no other node ${node} in the fleet.`);
    return;
  }
  const message = "No node answers at https://attic:7433 (ECONNREFUSED).";
  const error = { code: "RUNTIME_NOT_RUNNING", message, severity: "error", retryable: false };
  ok(response, { pings: [{ id: "1".repeat(32), name: "attic", ms: null, clock_ahead_s: null, error }] });
}

/** Sessions, rows and wiki pages of a memory that holds hardly anything. */
async function read({ pathname, searchParams }: URL, response: ServerResponse): Promise<void> {
  const [what, first = "", second = ""] = pathname.split("/").slice(4).map(decodeURIComponent);
  const around = Number(searchParams.get("around") ?? 2);
  const of = searchParams.get("of") === "conversation" ? "conversation" : "session";
  const agent = searchParams.get("agent") ?? undefined;
  try {
    if (what === "sessions") ok(response, { sessions: await reading.sessions({ of, agent, limit: 50 }) });
    else if (what === "rows") ok(response, await reading.show({ id: first, around }));
    else ok(response, second === "" ? await reading.wiki(first) : await reading.wikiPage(first, second));
  } catch (error) {
    const { code, message } = toCairnError(error);
    refuse(response, 404, code, message);
  }
}

/** A page of two messages, the newest first; what it was asked for is in the second. */
async function browse(request: IncomingMessage): Promise<object> {
  const asked = await json(request);
  const row = (n: number, content: string) => ({
    id: `m${n}`,
    conversation_id: "c1",
    agent: "main",
    channel: "agent",
    role: "user",
    content,
    tool_name: null,
    tool_args: null,
    tool_result: null,
    metadata: {},
    created_at: `2030-01-31T12:0${n}:00.000Z`,
  });
  return { messages: [row(2, JSON.stringify(asked)), row(1, "the first")], next_cursor: "further" };
}

/** Two messages; none of a user without any. */
async function toForget(request: IncomingMessage): Promise<object> {
  const { selection } = (await json(request)) as { selection: { user?: string } };
  const none = selection.user === "nobody";
  const message = { role: "user", agent: "main", created_at: "2030-01-31T02:03:04.000Z" };
  const first = ["my password\u001b[31m", "is hunter2"].map((text, n) => ({ ...message, id: `m${n}`, text }));
  return {
    messages: none ? 0 : 2,
    conversations: none ? 0 : 1,
    summaries: none ? 0 : 1,
    first: none ? [] : first,
    unfinished: null,
  };
}

async function forgotten(request: IncomingMessage): Promise<object> {
  const { expected } = (await json(request)) as { expected: number };
  return { id: expected === 0 ? null : "erasure-1", messages: expected, summaries: 1, turns: 1, attachments: 0 };
}

/** Of the one turn that it has: what it was asked for comes back in it. */
/** Of any schedule that the list has. */
function scheduled(path: string): object {
  const [agent = "", name = "", action] = path.split("/").slice(-3);
  if (action === "run") return { agent, name, turn_id: "turn-2", started: name === "morning" };
  const [one] = schedules.filter((schedule) => schedule.agent === agent && schedule.name === name);
  return action === "pause"
    ? { ...one, state: "paused", next_at: null }
    : { ...one, state: "active", next_at: "2030-02-01T07:00:00.000Z" };
}

function usage(query: URLSearchParams): object {
  const counts = {
    calls: 2,
    input_tokens: 1_200,
    cached_input_tokens: 1_000,
    cache_write_input_tokens: 0,
    output_tokens: 34,
    cost_usd: 0.0042,
    unpriced_calls: 1,
  };
  const [from, by] = [query.get("from"), query.get("by")];
  return { from, to: "2099-12-31", by, rows: [{ key: `scripted:one\u001b[31m`, ...counts }], total: counts };
}

function openCircuit(): object {
  const state = { state: "open", failures: 0, retry_after_s: 12, last_error: "PROVIDER_TIMEOUT" };
  return { model: `m${hostile}`, ...state };
}

function reachedBudget(): object {
  const end = "2030-02-01T00:00:00.000Z";
  const limits = [
    { limit: "daily_tokens", used: 10, max: 100, share: 0.1, resets_at: end },
    { limit: "monthly_usd", used: 5.05, max: 5, share: 1.01, resets_at: end },
  ];
  return { on_limit: "stop", state: "reached", limits };
}

function health(): object {
  return {
    status: "healthy",
    version: `0.0.0-stand-in${hostile}`,
    node: { id: "n", name: "stand-in" },
    uptime_s: 65,
    started_at: new Date().toISOString(),
    draining: false,
    agents: {
      main: {
        provider: `offline${hostile}`,
        model: hostile,
        active_turns: 0,
        waiting: 0,
        queued: 0,
        budget: faults.has("budget-reached") ? reachedBudget() : null,
      },
    },
    providers: {
      offline: { available: true, model: "", circuits: faults.has("circuit-open") ? [openCircuit()] : [] },
    },
    channels: { agent: { platform: "agent", state: "up" } },
    memory: { backend: "embedded", reachable: true },
    queues: [],
    mesh: { enabled: false },
    backup: {
      state: faults.has("backup-fails") ? "failing" : "good",
      every_s: 86_400,
      keep: 7,
      now: new Date(Date.now() + clockMs).toISOString(),
      next_at: new Date(Date.now() + clockMs + 79_200_500).toISOString(),
      last: {
        name: "cairn-a.backup",
        created_at: new Date(Date.now() + clockMs - 7_200_500).toISOString(),
        bytes: 1_500,
        node: "n1",
      },
      failure: faults.has("backup-fails")
        ? {
            since: "2030-01-31T02:03:04.000Z",
            attempts: 2,
            message: `The disk${hostile} is full.`,
            hint: null,
            node: "n1",
          }
        : null,
    },
    audit: { failing: faults.has("audit-fails") ? "ENOSPC" : null, lost: faults.has("audit-lost") ? 3 : 0 },
    schema_version: 4,
  };
}

async function message(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { text, session } = (await json(request)) as { text: string; session: string };
  const id = `t${turns.size + 1}`;
  turns.set(id, { text, session });
  response.setHeader("x-turn-id", id);
  response.setHeader("content-type", "text/event-stream");
  if (text === "fail") {
    const error = new ProviderError("PROVIDER_OVERLOADED", "The provider is busy.").toBody();
    event(response, 1, { type: "turn.failed", turn_id: id, session, error });
    response.end();
    return;
  }
  event(response, 1, { type: "turn.started", turn_id: id, session, agent: "main", attempt: 1 });
  if (text === "cut") {
    event(response, 2, { type: "text.delta", turn_id: id, text: "first half, " });
    setTimeout(() => response.destroy(), 50);
    return;
  }
  // A silent one says nothing until then.
  if (text === "silent") {
    stopLong = () => finish(response, 2, id, session, { text: "", interrupted: true, notice: "Stopped by you." });
    return;
  }
  // A long turn says its first words and goes on until it is stopped.
  if (text === "long") {
    event(response, 2, { type: "text.delta", turn_id: id, text: "working" });
    stopLong = () =>
      finish(response, 3, id, session, { text: "working", interrupted: true, notice: "Stopped by you." });
    return;
  }
  event(response, 2, {
    type: "tool.started",
    turn_id: id,
    tool_call_id: "c",
    name: "shell",
    arguments: { command: "ls" },
  });
  event(response, 3, { type: "tool.finished", turn_id: id, tool_call_id: "c", name: "shell", ok: true, result: "a b" });
  event(response, 4, { type: "text.delta", turn_id: id, text: `you said: ${text}` });
  finish(response, 5, id, session, { text: `you said: ${text}`, interrupted: false });
}

const status = {
  model: "scripted:one",
  last: { role: "user", text: `what was\nsaid${hostile}`, created_at: "2030-01-31T12:00:00.000Z" },
};

let stopLong: (() => void) | undefined;

/** The rest of a turn whose connection was cut. */
function follow(id: string, request: IncomingMessage, response: ServerResponse): void {
  const turn = turns.get(id);
  if (!turn) {
    refuse(response, 404, "RUNTIME_TURN_UNKNOWN", "There is no such turn.");
    return;
  }
  response.setHeader("content-type", "text/event-stream");
  if (request.headers["last-event-id"] !== "2") event(response, 2, { type: "text.delta", turn_id: id, text: "AGAIN" });
  event(response, 3, { type: "text.delta", turn_id: id, text: "second half" });
  finish(response, 4, id, turn.session, { text: "first half, second half", interrupted: false });
}

async function command(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { command: line } = (await json(request)) as { command: string };
  if (line === "/stop") {
    stopLong?.();
    const stopped = stopLong !== undefined;
    ok(response, { text: stopped ? "Stopped." : "No turn is running.", data: { stopped } });
    stopLong = undefined;
  } else if (line === "/status") ok(response, { text: "Idle.", data: { turn_id: null, ...status } });
  else refuse(response, 400, "RUNTIME_COMMAND_UNKNOWN", `There is no command "${line}".`);
}

/** `cut-backup` sends half of it. */
/** The second one turns out to be cut off when it is read again. */
function scheduledBackups({ url = "" }: IncomingMessage): object[] {
  const first = { name: "cairn-20300131T020304Z.backup", created_at: "2030-01-31T02:03:04.000Z", bytes: 11 };
  const second = { name: "cairn-20300130T020304Z.backup", created_at: "2030-01-30T02:03:04.000Z", bytes: 1_500 };
  return [
    { ...first, verified: true },
    { ...second, verified: faults.has("whole-backups") || !url.endsWith("?verify=true") },
  ];
}

function backup(response: ServerResponse): void {
  response.write("archive");
  if (faults.has("cut-backup")) setTimeout(() => response.destroy(), 20);
  else response.end("-end");
}

async function createToken(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const given = (await json(request)) as { name: string; scopes: string[]; expires_at?: string };
  const { name, scopes, expires_at = null } = given;
  const created_at = "2030-01-31T00:00:00Z";
  tokens.push({ id: "id-1", name, scopes, created_at, revoked_at: null, expires_at, last_used_at: null });
  ok(response, { id: "id-1", token: "cairn_secret" });
}

async function rotateToken(pathname: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const called = decodeURIComponent(pathname.split("/").at(-2) ?? "");
  const found = tokens.find(({ id, name }) => id === called || name === called);
  if (found === undefined) {
    refuse(response, 404, "RUNTIME_NOT_FOUND", "There is no token with this id or name.");
    return;
  }
  Object.assign(found, await json(request));
  const { id, name, scopes, expires_at } = found;
  ok(response, { id, name, scopes, expires_at, token: "cairn_rotated" });
}

/** One hit, which tells the arguments; an answer where one is asked for, but not of `no model`. */
async function search(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const content = JSON.stringify(await json(request));
  const hit = {
    kind: "message",
    id: "m1",
    agent: "main",
    role: "user",
    content,
    score: 0.5,
    created_at: "2030-01-31T12:00:00.000Z",
  };
  const answered = content.includes("no model")
    ? { answer_missing: "the model is unavailable" }
    : { answer: { text: "It was asked [1].", citations: ["m1"] } };
  ok(response, {
    query: "",
    mode: "hybrid",
    results: content.includes("nothing") ? [] : [hit],
    ...(content.includes('"synthesize":true') ? answered : {}),
    ...(content.includes("alone") ? { notice: "Searched by words alone." } : {}),
    took_ms: 1,
  });
}

function stats(): object {
  return {
    messages: { total: 7, embedded: 0, coverage: 0.25 },
    embedding_queue_depth: 3,
    embedding_model: faults.has("no-vectors") ? null : "words",
    unsummarized: { total: 7, conversations_over_threshold: 0 },
    summaries: { leaf: 2, branch: 1, root: 0, max_depth: 1 },
    compaction: { last_run_at: null, last_error: hostile || null },
    queues: [{ queue: "embed", waiting: 2, active: 0, failed: 1, completed: 4 }],
    database: { backend: "embedded", schema_version: 4, size_bytes: 9_756_795 },
  };
}

/** Answers with the message it was sent; `hang` only once the caller has gone. */
const CHANGED_TOOLS = {
  server: "files",
  digest: "d1",
  tools: [
    { name: "echo", description: "Says it.\n\u001b[2JAnd more.", parameters: { type: "object", properties: {} } },
  ],
};

async function approveTools(request: IncomingMessage, response: ServerResponse): Promise<void> {
  // The client under test sent it.
  const { digest } = (await json(request)) as { digest: string };
  if (digest === CHANGED_TOOLS.digest) return ok(response, { server: "files", approved: 1 });
  const error = {
    code: "RUNTIME_CONFLICT",
    message: "They are not those that were seen.",
    severity: "error",
    retryable: false,
  };
  response.writeHead(409, { "content-type": "application/json" }).end(JSON.stringify({ ok: false, error }));
}

async function mcp(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const message = (await json(request)) as { id?: number; method: string; params?: object };
  response.setHeader("content-type", "application/json");
  if (message.id === undefined) {
    response.statusCode = 202;
    response.end();
  } else if (message.method === "hang") {
    response.once("close", () => writeFileSync(join(home, "hang-ended"), ""));
    writeFileSync(join(home, "hang-begun"), "");
  } else if (message.method === "refuse") {
    response.statusCode = 503;
    const error = { code: -32_603, message: "This node is shutting down." };
    response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
  } else if (message.method === "drop") response.destroy();
  else response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: { method: message.method } }));
}

async function backfill(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { dry_run } = (await json(request)) as { dry_run: boolean };
  ok(response, { dry_run, candidates: 9, enqueued: 5, queued: 3, failed: 1 });
}

async function retryFailed(task: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { dry_run, error } = (await json(request)) as { dry_run: boolean; error?: string };
  if (error === "(") refuse(response, 400, "MEMORY_INVALID_ARGUMENT", "The pattern is not a regular expression.");
  else
    ok(response, {
      task,
      dry_run,
      matched: error === "nothing" ? 0 : 3,
      retried: error === "nothing" ? 0 : 2,
      skipped: error === "nothing" ? 0 : 1,
    });
}

async function size(request: IncomingMessage): Promise<number> {
  let total = 0;
  for await (const chunk of request) total += (chunk as Buffer).byteLength;
  return total;
}

type Rest = Pick<TurnResult, "text" | "interrupted" | "notice">;

function finish(response: ServerResponse, id: number, turnId: string, session: string, rest: Rest): void {
  const usage = { inputTokens: 1, outputTokens: 2 };
  event(response, id, { type: "turn.finished", turn_id: turnId, session, usage, ...rest });
  response.end();
}

function event(response: ServerResponse, id: number, data: StreamEvent): void {
  response.write(`id: ${id}\nevent: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
}

function ok(response: ServerResponse, result: unknown): void {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ ok: true, result }));
}

function refuse(response: ServerResponse, status: number, code: string, text: string): void {
  response.statusCode = status;
  response.end(JSON.stringify({ ok: false, error: { code, message: text, severity: "error", retryable: false } }));
}
