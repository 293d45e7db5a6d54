/** Plays a node whose version is that of the build it was started from: `main.js --dir DIR --home HOME`. */

import { existsSync, mkdirSync, openSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { tryLock } from "fs-native-extensions";

const { values } = parseArgs({ options: { dir: { type: "string" }, home: { type: "string" } } });
const home = values.home ?? "";
const program = dirname(dirname(dirname(realpathSync(process.argv[1] ?? ""))));
const { version, fault } = JSON.parse(readFileSync(join(program, "package.json"), "utf8"));
if (fault === "start") throw new Error("this release cannot start");

mkdirSync(join(home, "run"), { recursive: true });
if (!tryLock(openSync(join(home, "run", "node.lock"), "a+", 0o600))) throw new Error("the home directory is held");
const reported = fault === "version" ? "0.0.1" : version;
const health = {
  status: "healthy",
  version: reported,
  node: { id: "n", name: "small" },
  uptime_s: 1,
  started_at: new Date().toISOString(),
  draining: false,
  agents: { main: { provider: "offline", model: "", active_turns: 0, queued: 0 } },
  providers: { offline: { available: true, model: "" } },
  channels: {},
  memory: { backend: "embedded", reachable: fault !== "unready" },
  queues: [],
  mesh: { enabled: false },
  schema_version: 4,
};
const stats = {
  messages: { total: 0, embedded: 0, coverage: 0 },
  embedding_queue_depth: 0,
  unsummarized: { total: 0, conversations_over_threshold: 0 },
  summaries: { leaf: 0, branch: 0, root: 0, max_depth: 0 },
  compaction: { last_run_at: null, last_error: null },
  queues: [],
  database: { backend: "embedded", schema_version: 4, size_bytes: 1 },
};
// Nodes that share its database, where the test has written some down.
const fleet = join(home, "fleet.json");
const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "/", "http://node");
  response.setHeader("content-type", "application/json");
  const ready = fault !== "unready";
  const answers = {
    "/health": health,
    "/health/ready": { ready },
    "/api/memory/tool/memory_stats": stats,
    "/api/admin/test-turn": { turn_id: "t", text: "yes" },
    ...(existsSync(fleet) ? { "/api/mesh": { nodes: JSON.parse(readFileSync(fleet, "utf8")) } } : {}),
  };
  const result = answers[pathname];
  if (result === undefined || (pathname === "/health/ready" && !ready)) {
    response.statusCode = result === undefined ? 404 : 503;
    const error = { code: "RUNTIME_NOT_READY", message: "not now", severity: "transient", retryable: true };
    response.end(JSON.stringify({ ok: false, error }));
  } else response.end(JSON.stringify({ ok: true, result }));
});
server.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const node = { pid: process.pid, boot: "b", listen: url, url, started_at: new Date().toISOString() };
  writeFileSync(
    join(home, "run", "node.json"),
    JSON.stringify({ ...node, dir: values.dir, version: reported, maintenance: false, program }),
  );
  process.send?.({ type: "ready", url });
});
process.on("SIGTERM", () => {
  rmSync(join(home, "run", "node.json"), { force: true });
  process.exit(0);
});
