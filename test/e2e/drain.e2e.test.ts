/**
 * Two nodes over one store, one of which is drained or stopped: its agents go over to the other one with the messages that wait, and
 * nothing that the outside sees of it closes before that could look away. A lease lasts longer than the test: what goes over was given.
 */

import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { type FakeServer, startOpenAiFake } from "../fakes/openai/index.ts";
import type { NodeProcess } from "../support/node-process.ts";
import { databaseUrl, deploymentOf, runningNode } from "../support/running-node.ts";

interface Peer {
  readonly node: NodeProcess;
  /** Its own model, which says in every answer whose it is. */
  readonly model: FakeServer;
  readonly id: string;
}

async function peerOf(name: string, url: string): Promise<Peer> {
  const model = await startOpenAiFake({ script: () => ({ text: `from ${name}` }) });
  onTestFinished(() => model.close());
  const deployment = await deploymentOf({
    config: {
      runtime: { lease: "1h" },
      providers: { model: { kind: "openai-compatible", base_url: model.baseUrl, model: "fake", api_key: "none" } },
      agents: { main: { provider: "model" }, idle: { provider: "model" } },
      memory: { postgres: { connection_string: url } },
    },
  });
  const node = await runningNode(deployment);
  const { node: self } = await node.call<{ node: { id: string } }>("/health");
  return { node, model, id: self.id };
}

/** The first one has the agents. */
async function twoNodes() {
  const url = await databaseUrl();
  const one = await peerOf("one", url);
  const two = await peerOf("two", url);
  const store = new pg.Client({ connectionString: url });
  await store.connect();
  onTestFinished(() => store.end());
  /** Who has the lease now; null: nobody. */
  const holder = async (lease: string): Promise<string | null> => {
    const { rows } = await store.query<{ holder: string }>(
      "select holder from leases where name = $1 and expires_at > now()",
      [lease],
    );
    return rows[0]?.holder ?? null;
  };
  const rowsOf = async (sql: string) => (await store.query(sql)).rows as object[];
  return { one, two, holder, rowsOf };
}

const ask = ({ node }: Peer, text: string, init?: RequestInit, session = "s") =>
  node.call<{ text: string; interrupted: boolean }>("/api/agents/main/messages", { session, text }, init);
const readiness = async ({ node }: Peer) => (await node.request("/health/ready")).status;

it("hands its agents over while it is drained, each after its last turn, and takes them again when it is resumed", async () => {
  const { one, two, holder, rowsOf } = await twoNodes();
  one.model.enqueue({ text: "from one, late", hold: { gate: "g" } });
  const first = ask(one, "first");
  await one.model.waitForRequests(1);
  const second = ask(one, "second");
  // Where this fails before they are waited for, their nodes are killed first.
  for (const waited of [first, second]) waited.catch(() => undefined);
  await expect.poll(() => rowsOf("select 1 from turns where state = 'queued'")).toHaveLength(1);

  await one.node.call("/api/admin/drain", {});
  expect(await readiness(one)).toBe(503);
  const refused = await one.node.request("/api/agents/main/messages", { json: { session: "s", text: "refused" } });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  await expect.poll(() => holder("agent:idle")).toBe(two.id);
  expect(await holder("agent:main")).toBe(one.id);

  one.model.release("g");
  expect((await first).text).toBe("from one, late");
  expect((await second).text).toBe("from two");
  expect((await ask(two, "third")).text).toBe("from two");
  expect(await holder("agent:main")).toBe(two.id);
  expect(await holder(`node:${one.id}`)).not.toBeNull();

  // Those that another node has are left to it.
  await one.node.call("/api/admin/resume", {}, { method: "POST" });
  expect(await readiness(one)).toBe(200);
  expect((await ask(one, "fourth")).text).toBe("from two");
  await two.node.call("/api/admin/drain", { wait: true });
  expect((await ask(one, "fifth")).text).toBe("from one");
  expect(await holder("agent:main")).toBe(one.id);

  expect([one.model.requests.length, two.model.requests.length]).toEqual([2, 3]);
  expect(await rowsOf("select role, count(*)::int as n from messages group by role order by role")).toEqual([
    { role: "assistant", n: 5 },
    { role: "user", n: 5 },
  ]);
});

it("finds its agents again after a drain that nobody else has used", async () => {
  const one = await peerOf("one", await databaseUrl());
  await one.node.call("/api/admin/drain", { wait: true });
  await one.node.call("/api/admin/resume", {}, { method: "POST" });
  expect((await ask(one, "hello")).text).toBe("from one");
});

it("leaves a turn that is longer than the deadline to the other node, which finishes it", async () => {
  const { one, two } = await twoNodes();
  one.model.enqueue({ text: "never", hold: { gate: "g" } });
  const key = { headers: { "idempotency-key": "k" } };
  const cut = ask(one, "question", key);
  cut.catch(() => undefined);
  await one.model.waitForRequests(1);
  await one.node.call("/api/admin/drain", { deadline_s: 0, wait: true });
  await expect(cut).rejects.toMatchObject({ code: "RUNTIME_TURN_INTERRUPTED", retryable: true });
  expect(await ask(two, "question", key)).toMatchObject({ text: "from two", interrupted: true });
  expect([one.model.requests.length, two.model.requests.length]).toEqual([1, 1]);
});

it("at SIGTERM is not ready, and still answers and streams before it closes", async () => {
  const { one, two, holder } = await twoNodes();
  // Its agents are the other's by then: nothing of its own keeps it from closing.
  await one.node.call("/api/admin/drain", { wait: true });
  await expect.poll(() => holder("agent:main")).toBe(two.id);
  await one.node.call("/api/admin/resume", {}, { method: "POST" });
  two.model.enqueue({ text: "to the end", hold: { gate: "g" } });
  const stream = one.node.request("/api/agents/main/messages", {
    json: { session: "s", text: "hello" },
    headers: { accept: "text/event-stream", "content-type": "application/json" },
  });
  await two.model.waitForRequests(1);

  one.node.signal("SIGTERM");
  await expect.poll(() => readiness(one)).toBe(503);
  expect((await one.node.request("/health/live")).status).toBe(200);
  expect(await one.node.call("/health")).toMatchObject({ draining: true });
  expect((await ask(one, "late").catch((error: unknown) => error)) as object).toMatchObject({
    code: "RUNTIME_DRAINING",
  });
  two.model.release("g");
  const events = await (await stream).text();
  expect(events).toContain("event: turn.finished");
  expect(events).toContain("to the end");
  expect(await one.node.exited).toBe(0);
  expect([await holder(`node:${one.id}`), await holder("agent:main")]).toEqual([null, two.id]);
});
