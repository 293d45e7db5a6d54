/** Attacks on a real node through its port, and the traces that they leave. */

import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { verifyAudit } from "../../control/audit/verify-audit.ts";
import { createDeployment, type Deployment, type NodeProcess, startNode, TOKEN } from "../support/node-process.ts";

const OFFLINE = { providers: { offline: {} }, agents: { main: { provider: "offline" } } };
const defer: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of defer.splice(0).reverse()) await end();
});

async function deploy(env: Readonly<Record<string, string>> = {}): Promise<Deployment> {
  const deployment = await createDeployment({ config: OFFLINE, env });
  defer.push(deployment.remove);
  return deployment;
}

async function run(deployment: Deployment): Promise<NodeProcess> {
  const node = await startNode(deployment);
  defer.push(() => stop(node));
  return node;
}

async function stop(node: NodeProcess): Promise<void> {
  node.signal("SIGTERM");
  await node.exited;
}

const auditOf = ({ home }: Deployment) => join(home, "logs", "audit");

async function linesOf(deployment: Deployment): Promise<Record<string, unknown>[]> {
  const names = await readdir(auditOf(deployment)).catch(() => []);
  const texts = await Promise.all(names.sort().map((name) => readFile(join(auditOf(deployment), name), "utf8")));
  return texts.flatMap((text) =>
    text
      .split("\n")
      .filter((line) => line !== "")
      .map((line): Record<string, unknown> => JSON.parse(line)),
  );
}

test("six batches of 17 MB of one capture token: most are to come again, and memory stays bounded", async () => {
  const deployment = await deploy();
  const node = await run(deployment);
  const { token } = await node.call<{ token: string }>("/api/admin/tokens", { name: "hook", scopes: ["capture"] });
  const content = "x".repeat(16_900);
  const events = Array.from({ length: 1_000 }, (_, n) => ({ event_id: `${n}`, role: "user", content }));
  const body = JSON.stringify({ session_key: "s", agent: "claude", channel: "claude", events });
  const peak = async () =>
    Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${node.pid}/status`, "utf8"))?.[1]) / 1024;
  const before = await peak();
  const answers = await Promise.all(
    Array.from({ length: 6 }, () =>
      node.request("/api/capture", {
        method: "POST",
        body,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      }),
    ),
  );
  const statuses = answers.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(1);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(4);
  expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
  // Without the budget it was a gigabyte more.
  expect((await peak()) - before).toBeLessThan(500);
});

test("the audit log tells who did what, and never a token", async () => {
  const deployment = await deploy();
  const node = await run(deployment);
  const made = await node.call<{ id: string; token: string }>("/api/admin/tokens", { name: "ci", scopes: ["memory"] });
  const asCi = { headers: { authorization: `Bearer ${made.token}` } };
  expect((await node.request("/api/admin/memory/export", asCi)).status).toBe(403);
  for (const path of ["export", "backup"]) await (await node.request(`/api/admin/memory/${path}`)).arrayBuffer();
  await node.call(`/api/admin/tokens/${made.id}`, undefined, { method: "DELETE" });
  for (let n = 0; n < 30; n++) await node.request("/health", { headers: { authorization: `Bearer guess-${n}` } });
  // The owner's token has been used from here before.
  expect((await node.request("/health")).status).toBe(200);
  await stop(node);
  const verified = await verifyAudit(auditOf(deployment), { signal: AbortSignal.timeout(60_000) });
  expect(verified).toMatchObject({ problems: [], without_hash: 0 });
  const lines = await linesOf(deployment);
  expect(verified.verified).toBe(lines.length);
  const kinds = lines.map(({ event, outcome, by }) => [event, outcome, by].join(" ").trim());
  for (const kind of [
    "token.created begun owner",
    "token.created done owner",
    "access.refused refused ci",
    "memory.export done owner",
    "memory.backup done owner",
    "token.revoked done owner",
    "token.wrong refused",
    "token.lockout done",
    "token.locked_out refused",
  ]) {
    expect(kinds).toContain(kind);
  }
  expect(lines.find(({ event, outcome }) => event === "token.created" && outcome === "done")).toMatchObject({
    address: "127.0.0.1",
    request_id: expect.any(String),
    details: { id: made.id, name: "ci", scopes: ["memory"] },
  });
  // Thirty guesses: a line for the first of each kind, and one for the rest.
  expect(kinds.filter((kind) => kind === "token.wrong refused")).toHaveLength(2);
  expect(kinds.filter((kind) => kind === "token.locked_out refused")).toHaveLength(2);
  const text = JSON.stringify(lines);
  for (const secret of [TOKEN, made.token, "guess-"]) expect(text).not.toContain(secret);
});

test("a start with another cairn.yaml leaves the names of the keys that differ, and no value", async () => {
  const deployment = await deploy();
  await stop(await run(deployment));
  expect(await linesOf(deployment)).toEqual([]);
  await stop(await run(deployment));
  const file = join(deployment.dir, "cairn.yaml");
  const config: Record<string, unknown> = parse(await readFile(file, "utf8"));
  await writeFile(file, stringify({ ...config, tools: { shell: { network: false, env: ["WORD_OF_THE_TEST"] } } }));
  await stop(await run(deployment));
  const lines = await linesOf(deployment);
  expect(lines).toMatchObject([
    {
      event: "configuration.changed",
      outcome: "done",
      details: { count: 2, keys: ["tools.shell.env", "tools.shell.network"] },
    },
  ]);
  const state = await readFile(join(deployment.home, "run", "configuration.json"), "utf8");
  for (const text of [JSON.stringify(lines), state]) expect(text).not.toContain("WORD_OF_THE_TEST");
});

test("a full disk under the audit log is seen in /health and the metrics, and stops nothing", async () => {
  const deployment = await deploy();
  const node = await run(deployment);
  const day = join(auditOf(deployment), `${new Date().toISOString().slice(0, 10)}.jsonl`);
  await mkdir(auditOf(deployment), { recursive: true });
  await symlink("/dev/full", day);
  await node.call("/api/admin/tokens", { name: "ci", scopes: ["memory"] });
  await expect
    .poll(async () => (await node.call<{ audit: object }>("/health")).audit, { timeout: 10_000 })
    .toEqual({ failing: "ENOSPC", lost: 2 });
  expect(await node.call("/health")).toMatchObject({ status: "degraded" });
  expect(await (await node.request("/metrics")).text()).toContain("cairn_audit_log_up 0");
  expect((await node.request("/health/ready")).status).toBe(200);
  await rm(day);
  await (await node.request("/api/admin/memory/export")).arrayBuffer();
  expect(await node.call("/health")).toMatchObject({ status: "healthy" });
});

test("a token that could be guessed is refused on loopback, too, and the error says how to make one", async () => {
  const deployment = await deploy({ SERVICE_API_TOKEN: "abc" });
  const failed = await startNode(deployment).catch((error: unknown) => error);
  expect(failed).toMatchObject({
    error: { code: "RUNTIME_UNSAFE_LISTEN", hint: expect.stringContaining("`cairn start` then makes one") },
  });
});
