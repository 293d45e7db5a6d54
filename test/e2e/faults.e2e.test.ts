/** What goes wrong around a node, seen from outside: each fault ends in a clear error with a code, and the node lives on. */

import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type FakeServer, startAnthropicFake } from "../fakes/anthropic/index.ts";
import { startOpenAiFake } from "../fakes/openai/index.ts";
import type { FakeReply } from "../fakes/shared/script.ts";
import { createPostgresCopy } from "../support/databases.ts";
import { type DatabaseProxy, startDatabaseProxy } from "../support/faults/database-proxy.ts";
import {
  createDeployment,
  type Deployment,
  type NodeProcess,
  type StartFailed,
  startNode,
} from "../support/node-process.ts";
import { freePort } from "../support/ports.ts";
import { killed } from "../support/running-node.ts";

const defer: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of defer.splice(0).reverse()) await end();
});

async function deploy(config: object): Promise<Deployment> {
  const deployment = await createDeployment({ config });
  defer.push(deployment.remove);
  return deployment;
}

async function run(deployment: Deployment, options?: Parameters<typeof startNode>[1]): Promise<NodeProcess> {
  const node = await startNode(deployment, options);
  defer.push(() => killed(node));
  return node;
}

async function proxied(): Promise<DatabaseProxy> {
  const copy = await createPostgresCopy(process.env.CAIRN_TEST_PG_URL ?? "");
  defer.push(copy.remove);
  const proxy = await startDatabaseProxy(copy.url);
  defer.push(proxy.close);
  return proxy;
}

const OFFLINE = { providers: { offline: {} }, agents: { main: { provider: "offline" } } };
const ask = (node: NodeProcess, text: string, init?: RequestInit, session = "s", agent = "main") =>
  node.call<{ text: string; interrupted: boolean; notice?: string; turn_id: string }>(
    `/api/agents/${agent}/messages`,
    { session, text },
    init,
  );

describe("bad requests", () => {
  let deployment: Deployment;
  let node: NodeProcess;
  beforeAll(async () => {
    deployment = await createDeployment({ config: OFFLINE });
    node = await startNode(deployment);
  });
  afterAll(async () => {
    node.signal("SIGTERM");
    expect(await node.exited).toBe(0);
    await deployment.remove();
  });

  const cases: readonly [name: string, path: string, init: RequestInit, status: number, code: string][] = [
    [
      "a wrong token",
      "/api/agents/main/messages",
      { method: "POST", headers: { authorization: "Bearer nope" } },
      401,
      "RUNTIME_UNAUTHORIZED",
    ],
    [
      "a body that is not JSON",
      "/api/agents/main/messages",
      { method: "POST", body: "{", headers: { "content-type": "application/json" } },
      400,
      "RUNTIME_INVALID_REQUEST",
    ],
    [
      "an unknown agent",
      "/api/agents/nobody/messages",
      { method: "POST", body: '{"session":"s","text":"hi"}', headers: { "content-type": "application/json" } },
      404,
      "RUNTIME_AGENT_UNKNOWN",
    ],
    [
      "an unknown memory tool",
      "/api/memory/tool/memory_forget",
      { method: "POST", body: "{}", headers: { "content-type": "application/json" } },
      404,
      "MEMORY_TOOL_UNKNOWN",
    ],
    [
      "a body of 33 MiB",
      "/api/agents/main/messages",
      {
        method: "POST",
        body: JSON.stringify({ session: "s", text: "x".repeat(33 * 1024 ** 2) }),
        headers: { "content-type": "application/json" },
      },
      413,
      "RUNTIME_BODY_TOO_LARGE",
    ],
    ["an unknown route", "/api/nothing", {}, 404, "RUNTIME_NOT_FOUND"],
  ];
  it.each(cases)("answers %s with its code and goes on", async (_name, path, init, status, code) => {
    const response = await node.request(path, init);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ ok: false, error: { code } });
    expect((await ask(node, "still there?")).text).not.toBe("");
  });

  it("refuses a second process on the same home, and on the same store from another home, naming the first", async () => {
    await expect(startNode(deployment)).rejects.toSatisfy(
      (error: StartFailed) =>
        error.error.code === "RUNTIME_ALREADY_RUNNING" && error.message.includes(String(node.pid)),
    );
    const other = await deploy({ ...OFFLINE, memory: { embedded: { path: join(deployment.home, "store") } } });
    await expect(startNode(other)).rejects.toSatisfy(
      (error: StartFailed) => error.error.code === "MEMORY_STORE_LOCKED" && error.message.includes(String(node.pid)),
    );
    expect((await ask(node, "still there?")).text).not.toBe("");
  });

  it("refuses a search that would run away with the embedded store, and answers others meanwhile", async () => {
    await ask(node, `${"a".repeat(20_001)}!`, undefined, "long");
    for (const query of ["^(a+)(a+)\\1\\2!$", "a(?=a*b)", "(?#[)^(a+)\\1!$", "((a{1,100}){1,100})b"]) {
      const search = node.request("/api/memory/tool/memory_search", { json: { query, mode: "regex" } });
      expect((await node.request("/health/live")).status).toBe(200);
      expect((await search).status, query).toBe(400);
    }
    expect((await ask(node, "still there?")).text).not.toBe("");
  });
});

describe.each(["openai", "anthropic"] as const)("a provider that misbehaves (%s)", (wire) => {
  let fake: FakeServer;
  let deployment: Deployment;
  let node: NodeProcess;
  beforeAll(async () => {
    fake = await (wire === "openai" ? startOpenAiFake() : startAnthropicFake());
    deployment = await createDeployment({
      config: {
        providers: {
          model: {
            kind: wire === "openai" ? "openai-compatible" : "anthropic",
            base_url: fake.baseUrl,
            model: "fake",
            api_key: "none-of-yours",
            max_retries: 0,
            timeout: "5s",
          },
        },
        agents: {
          main: { provider: "model" },
          second: { provider: "model", model: "model-2" },
          third: { provider: "model", model: "model-3" },
        },
        runtime: { default_agent: "main" },
      },
    });
    node = await startNode(deployment);
  });
  afterAll(async () => {
    node.signal("SIGTERM");
    await node.exited;
    await fake.close();
    await deployment.remove();
  });

  const faults: readonly [name: string, reply: FakeReply, code: string][] = [
    ["401", { fault: { kind: "status", status: 401 } }, "PROVIDER_UNAUTHORIZED"],
    ["429", { fault: { kind: "status", status: 429 } }, "PROVIDER_RATE_LIMITED"],
    ["500", { fault: { kind: "status", status: 500 } }, "PROVIDER_SERVER_ERROR"],
    ["garbage", { fault: { kind: "garbage" } }, "PROVIDER_BAD_RESPONSE"],
    [
      "half a stream",
      { text: ["one ", "two ", "three"], fault: { kind: "cut", after: 3, how: "end" } },
      "PROVIDER_STREAM_TRUNCATED",
    ],
    ["nothing at all", { fault: { kind: "hang" } }, "PROVIDER_TIMEOUT"],
  ];
  it.each(faults)(
    "%s: the turn ends with its code, the message is kept, the next one is answered",
    async (name, reply, code) => {
      fake.enqueue(reply);
      const session = `fault ${name}`;
      // A model of its own for half of them: five failures of one within a minute would suspend its calls.
      const agent = faults.findIndex(([one]) => one === name) % 2 === 0 ? "main" : "second";
      await expect(ask(node, "please", undefined, session, agent)).rejects.toMatchObject({
        code,
        // The same idempotency key answers with this stored end.
        retryable: false,
        turn_id: expect.any(String),
      });
      fake.enqueue({ text: "better now" });
      expect((await ask(node, "again", undefined, session, agent)).text).toBe("better now");
      const texts = fake.requests.at(-1)?.texts.join("\n");
      expect(texts).toContain("please");
      expect(node.output()).not.toContain("none-of-yours");
    },
  );

  it("500 five times: further calls of that model fail at once, and /health says so", async () => {
    for (let n = 0; n < 5; n++) {
      fake.enqueue({ fault: { kind: "status", status: 500 } });
      await expect(ask(node, "please", undefined, `broken ${n}`, "third")).rejects.toMatchObject({
        code: "PROVIDER_SERVER_ERROR",
      });
    }
    const before = fake.requests.length;
    await expect(ask(node, "please", undefined, "broken", "third")).rejects.toMatchObject({
      code: "PROVIDER_CIRCUIT_OPEN",
    });
    expect(fake.requests).toHaveLength(before);
    const { result } = JSON.parse(await (await node.request("/health")).text());
    expect(result.status).toBe("degraded");
    const circuits = Object.values(result.providers).flatMap((provider) => Object(provider).circuits);
    expect(circuits).toContainEqual(
      expect.objectContaining({ model: "model-3", state: "open", last_error: "PROVIDER_SERVER_ERROR" }),
    );
  });
});

describe("a database that comes and goes", () => {
  it("waits for one that is down at start, says so, and is ready once it is back", async () => {
    const proxy = await proxied();
    proxy.disconnect();
    const deployment = await deploy({ ...OFFLINE, memory: { postgres: { connection_string: proxy.url } } });
    const node = await run(deployment, { until: "listening" });
    expect((await node.request("/health/live")).status).toBe(200);
    expect((await node.request("/health/ready")).status).toBe(503);
    const refused = await node.request("/api/agents/main/messages", { json: { session: "s", text: "hi" } });
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { retryable: true } });
    proxy.back();
    await expect.poll(async () => (await node.request("/health/ready")).status).toBe(200);
    expect((await ask(node, "hi")).text).not.toBe("");
  });

  it("finishes a turn whose database went away in the middle and came back", async () => {
    const proxy = await proxied();
    const fake = await startOpenAiFake();
    defer.push(fake.close);
    const deployment = await deploy({
      providers: { model: { kind: "openai-compatible", base_url: fake.baseUrl, model: "fake", api_key: "none" } },
      agents: { main: { provider: "model" } },
      memory: { postgres: { connection_string: proxy.url } },
    });
    const node = await run(deployment);
    fake.enqueue({ text: "held", hold: { gate: "g" } });
    const answer = ask(node, "question", { headers: { "idempotency-key": "k" } });
    await fake.waitForRequests(1);
    proxy.disconnect();
    fake.release("g");
    await sleep(1_500);
    expect((await node.request("/health/live")).status).toBe(200);
    proxy.back();
    expect(await answer).toMatchObject({ text: "held", interrupted: false });
    expect(fake.counters().requests).toBe(1);
  });
});

describe("a runner that is stopped past its lease", () => {
  it("writes nothing when it goes on: the other node has answered, once", async () => {
    const copy = await createPostgresCopy(process.env.CAIRN_TEST_PG_URL ?? "");
    defer.push(copy.remove);
    const fake = await startOpenAiFake({
      script: ({ lastUser, step }) =>
        lastUser !== "work"
          ? { text: "hello" }
          : step === 0
            ? { toolCalls: [{ id: "c1", name: "shell", arguments: { command: "echo c1 >> effects.txt" } }] }
            : { text: "Done." },
    });
    defer.push(fake.close);
    const config = (lease: string) => ({
      // The one that lives keeps its lease however slow it is; that of the other has to end.
      runtime: { lease },
      providers: { model: { kind: "openai-compatible", base_url: fake.baseUrl, model: "fake", api_key: "none" } },
      agents: { main: { provider: "model" } },
      tools: { shell: { sandbox: "none" } },
      memory: { postgres: { connection_string: copy.url } },
    });
    const [one, two] = [await deploy(config("5s")), await deploy(config("20s"))];
    const first = await run(one);
    fake.enqueue({
      toolCalls: [{ id: "c1", name: "shell", arguments: { command: "echo c1 >> effects.txt; sleep 60" } }],
    });
    const body = { session: "s", text: "work" };
    const key = { headers: { "idempotency-key": "k" } };
    void first.call("/api/agents/main/messages", body, key).catch(() => undefined);
    const effects = (deployment: Deployment) =>
      readFile(join(deployment.workspace, "effects.txt"), "utf8").catch(() => "");
    await expect.poll(() => effects(one)).toBe("c1\n");
    first.signal("SIGSTOP");

    const second = await run(two);
    const result = await second.call<{ text: string; interrupted: boolean }>("/api/agents/main/messages", body, key);
    expect(result).toMatchObject({ text: "Done.", interrupted: true });
    const rows = () => second.call<{ messages: object[] }>("/api/memory/tool/memory_browse", { order: "asc" });
    const before = await rows();
    const requests = fake.counters().requests;
    first.signal("SIGCONT");
    await sleep(4_000);
    expect(await rows()).toEqual(before);
    expect(before.messages).toHaveLength(3);
    expect(fake.counters().requests).toBe(requests);
    expect([await effects(one), await effects(two)]).toEqual(["c1\n", ""]);
    expect(await first.call("/api/agents/main/messages", body, key)).toMatchObject({ text: "Done." });
  });
});

describe("SIGTERM", () => {
  it("finishes the active turn, refuses new messages, and exits 0", async () => {
    const fake = await startOpenAiFake();
    defer.push(fake.close);
    const deployment = await deploy({
      providers: { model: { kind: "openai-compatible", base_url: fake.baseUrl, model: "fake", api_key: "none" } },
      agents: { main: { provider: "model" } },
    });
    const node = await run(deployment);
    fake.enqueue({ text: "held to the end", hold: { gate: "g" } });
    const answer = ask(node, "question");
    await fake.waitForRequests(1);
    node.signal("SIGTERM");
    await expect.poll(async () => (await node.request("/health/ready")).status).toBe(503);
    await expect(ask(node, "late", undefined, "other")).rejects.toMatchObject({
      code: "RUNTIME_DRAINING",
      retryable: true,
    });
    fake.release("g");
    expect((await answer).text).toBe("held to the end");
    expect(await node.exited).toBe(0);
  });

  it("finishes the active turn also when a drain had been asked for before", async () => {
    const fake = await startOpenAiFake();
    defer.push(fake.close);
    const deployment = await deploy({
      providers: { model: { kind: "openai-compatible", base_url: fake.baseUrl, model: "fake", api_key: "none" } },
      agents: { main: { provider: "model" } },
    });
    const node = await run(deployment);
    fake.enqueue({ text: "held to the end", hold: { gate: "g" } });
    const answer = ask(node, "question");
    await fake.waitForRequests(1);
    await node.call("/api/admin/drain", {});
    node.signal("SIGTERM");
    await expect.poll(() => node.output()).toContain("stopping");
    await sleep(500);
    fake.release("g");
    expect(await answer).toMatchObject({ text: "held to the end", interrupted: false });
    expect(await node.exited).toBe(0);
  });

  it("leaves a turn that is longer than the deadline to the next start, which finishes it", async () => {
    const fake = await startOpenAiFake();
    defer.push(fake.close);
    const deployment = await deploy({
      runtime: { drain_deadline: "500ms" },
      providers: { model: { kind: "openai-compatible", base_url: fake.baseUrl, model: "fake", api_key: "none" } },
      agents: { main: { provider: "model" } },
    });
    const node = await run(deployment);
    fake.enqueue({ text: "never", hold: { gate: "g" } });
    const answer = ask(node, "question", { headers: { "idempotency-key": "k" } });
    answer.catch(() => undefined);
    await fake.waitForRequests(1);
    node.signal("SIGTERM");
    await expect(answer).rejects.toMatchObject({ code: "RUNTIME_TURN_INTERRUPTED", retryable: true });
    expect(await node.exited).toBe(0);
    fake.enqueue({ text: "after the restart" });
    const next = await run(deployment);
    const result = await ask(next, "question", { headers: { "idempotency-key": "k" } });
    expect(result).toMatchObject({ text: "after the restart", interrupted: true });
  });
});

describe("SIGHUP", () => {
  it("takes a changed configuration over, and keeps the running one when the change is invalid", async () => {
    const deployment = await deploy(OFFLINE);
    const node = await run(deployment, { env: { SERVICE_LISTEN: `127.0.0.1:${await freePort()}` } });
    const file = join(deployment.dir, "cairn.yaml");
    const agents = async () => Object.keys((await node.call<{ agents: object }>("/health")).agents);
    await writeFile(file, "version: 1\nagents: [broken\n");
    node.signal("SIGHUP");
    await expect.poll(() => node.output()).toContain("the running one stays");
    expect(await agents()).toEqual(["main"]);
    await writeFile(file, "version: 1\nproviders: { offline: {} }\nagents: { main: {}, second: {} }\n");
    node.signal("SIGHUP");
    await expect.poll(() => agents().catch(() => [])).toEqual(["main", "second"]);
    await expect.poll(async () => (await node.request("/health/ready")).status).toBe(200);
    expect((await ask(node, "still there?")).text).not.toBe("");
  });
});

describe("secrets", () => {
  it("appear neither in the process list nor in the log", async () => {
    const fake = await startOpenAiFake();
    defer.push(fake.close);
    const deployment = await deploy({
      providers: {
        model: { kind: "openai-compatible", base_url: fake.baseUrl, model: "fake", api_key: "very-secret-key-123" },
      },
      agents: { main: { provider: "model" } },
    });
    const node = await run(deployment, { env: { SERVICE_LOG_LEVEL: "debug" } });
    fake.enqueue({
      fault: { kind: "status", status: 401, message: "Incorrect API key provided: very-secret-key-123" },
    });
    await expect(ask(node, "hi")).rejects.toMatchObject({ code: "PROVIDER_UNAUTHORIZED" });
    const { stdout } = await promisify(execFile)("ps", ["-o", "args=", "-p", String(node.pid)]);
    for (const text of [node.output(), stdout]) {
      expect(text).not.toContain("very-secret-key-123");
      expect(text).not.toContain("cairn_test_0123456789");
    }
  });
});
