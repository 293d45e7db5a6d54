/** The memory over the Model Context Protocol, with the SDK's own client: against a real node, and through `cairn mcp`. */

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { CAIRN, environmentOf } from "../support/commands.ts";
import { createEmbeddedCopy, createPostgresCopy } from "../support/databases.ts";
import { createDeployment, type Deployment, type NodeProcess, startNode, TOKEN } from "../support/node-process.ts";

const READ = ["memory_search", "memory_browse", "memory_stats", "memory_get_full"];
const WRITE = ["memory_append", "memory_ingest_session"];
const config = { agents: { main: {} }, providers: { offline: {} } };

/** The tool's result; an error's body where it said no. */
async function call<T>(client: Client, name: string, args: object): Promise<T> {
  const result = await client.callTool({ name, arguments: { ...args } });
  const [content] = result.content as [{ text: string }];
  // The result is the tool's own: its shape is what the tests look at.
  return JSON.parse(content.text) as T;
}

interface Ingested {
  readonly ingested: number;
  readonly skipped: number;
}

interface Page {
  readonly messages: readonly { readonly content: string }[];
}

async function connect(transport: StdioClientTransport | StreamableHTTPClientTransport): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  // The class leaves optional members undefined where the interface would have them absent.
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  return client;
}

const overHttp = (node: NodeProcess) =>
  connect(
    new StreamableHTTPClientTransport(new URL("/mcp", node.url), {
      requestInit: { headers: { authorization: `Bearer ${TOKEN}` } },
    }),
  );

function overStdio(deployment: Deployment): {
  readonly client: Promise<Client>;
  readonly transport: StdioClientTransport;
} {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [CAIRN, "mcp", "--dir", deployment.dir],
    env: environmentOf(deployment),
    stderr: "pipe",
  });
  return { client: connect(transport), transport };
}

/** A migrated, empty store, as the configuration names it. */
async function storeOf(backend: "embedded" | "postgres"): Promise<{ config: object; remove(): Promise<void> }> {
  if (backend === "embedded") {
    const { path, remove } = await createEmbeddedCopy();
    return { config: { embedded: { path } }, remove };
  }
  const { url, remove } = await createPostgresCopy(process.env.CAIRN_TEST_PG_URL ?? "");
  return { config: { postgres: { connection_string: url } }, remove };
}

const written = {
  SERVICE_MCP_ENABLE_MEMORY_WRITE: "1",
  SERVICE_MEMORY_SOURCE: "bot-bridge",
  SERVICE_MEMORY_AGENT: "Support Bot",
};

describe.each(["embedded", "postgres"] as const)("a node with write tools (%s)", (backend) => {
  let deployment: Deployment;
  let node: NodeProcess;
  let remove: () => Promise<void>;

  beforeAll(async () => {
    const memory = await storeOf(backend);
    remove = memory.remove;
    deployment = await createDeployment({ config: { ...config, memory: memory.config }, env: written });
    node = await startNode(deployment);
  });
  afterAll(async () => {
    node.signal("SIGTERM");
    await node.exited;
    await deployment.remove();
    await remove();
  });

  it("offers six tools over HTTP, stores what two say at once, and finds it again", async () => {
    const client = await overHttp(node);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([...READ, ...WRITE]);
    const said = { session_key: "http", role: "user", content: "The albatross flies at dawn." };
    const results = await Promise.all(
      [1, 2].map(() => call<{ skipped: boolean; agent: string }>(client, "memory_append", said)),
    );
    expect(results.map(({ skipped }) => skipped).sort()).toEqual([false, true]);
    expect(results[0]?.agent).toBe("bot-support-bot");
    const found = await call<{ results: readonly { content: string }[] }>(client, "memory_search", {
      query: "albatross",
    });
    expect(found.results.map(({ content }) => content)).toEqual([said.content]);
    const wrong = { ...said, role: "robot" };
    expect(await call(client, "memory_append", wrong)).toMatchObject({ error: { code: "MEMORY_INVALID_ARGUMENT" } });
    await expect(client.callTool({ name: "memory_erase" })).rejects.toMatchObject({ code: -32_602 });
  });

  it("lets neither tool speak in the 2 sessions of its own agent, over MCP and over HTTP", async () => {
    const client = await overHttp(node);
    const message = { role: "assistant", content: "I may do that." };
    for (const session_key of ["main:agent:c:ada", "main:telegram:7:owner"]) {
      const calls = [
        ["memory_append", { session_key, ...message }],
        ["memory_ingest_session", { session_key, messages: [message] }],
      ] as const;
      for (const [name, args] of calls) {
        const error = { code: "MEMORY_INVALID_ARGUMENT", issues: [{ path: "session_key" }] };
        expect(await call(client, name, args)).toMatchObject({ error });
        const response = await node.request(`/api/memory/tool/${name}`, { json: args });
        expect(response.status).toBe(400);
        expect(await response.json()).toMatchObject({ error });
      }
      expect(await call(client, "memory_browse", { session_key })).toMatchObject({ messages: [] });
    }
  });

  it("answers `cairn mcp` the same, and goes on when that has ended", async () => {
    const { client: connecting, transport } = overStdio(deployment);
    const client = await connecting;
    const unread: Error[] = [];
    client.onerror = (error) => void unread.push(error);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([...READ, ...WRITE]);
    const messages = [
      { role: "user", content: "over stdio" },
      { role: "assistant", content: "zwölf 😀".repeat(2_000) },
    ];
    expect(await call<Ingested>(client, "memory_ingest_session", { session_key: "stdio", messages })).toMatchObject({
      ingested: 2,
    });
    const { messages: stored } = await call<Page>(client, "memory_browse", { session_key: "stdio", order: "asc" });
    expect(stored.map(({ content }) => content)).toEqual(messages.map(({ content }) => content));
    expect(unread).toEqual([]);
    const { pid } = transport;
    await client.close();
    expect(() => process.kill(pid ?? 0, 0)).toThrow();
    expect((await node.request("/health/ready")).status).toBe(200);
  });

  it("has all of a transcript or nothing after kill -9 in the middle, and all of it once after a repeat", async () => {
    const messages = Array.from({ length: 4_000 }, (_, n) => ({
      role: "user",
      content: `line ${n} ${"x".repeat(500)}`,
    }));
    const args = { session_key: "killed", messages };
    for (const wait of [30, 250]) {
      const client = await overHttp(node);
      const broken = call(client, "memory_ingest_session", args).catch(() => "broken");
      await new Promise((resolve) => setTimeout(resolve, wait));
      node.signal("SIGKILL");
      await node.exited;
      await broken;
      node = await startNode(deployment);
      const { messages: page } = await call<Page>(await overHttp(node), "memory_browse", {
        session_key: "killed",
        limit: 200,
      });
      expect([0, 200]).toContain(page.length);
    }
    const client = await overHttp(node);
    const { ingested, skipped } = await call<Ingested>(client, "memory_ingest_session", args);
    expect([0, 4_000]).toContain(ingested);
    expect(ingested + skipped).toBe(4_000);
    expect(await call(client, "memory_ingest_session", args)).toMatchObject({ ingested: 0, skipped: 4_000 });
    const stats = await call<{ messages: { total: number } }>(client, "memory_stats", {});
    expect(stats.messages.total).toBe(4_003);
  });
});

describe("a deployment without write tools", () => {
  let deployment: Deployment;
  let remove: () => Promise<void>;
  beforeAll(async () => {
    const memory = await storeOf("embedded");
    remove = memory.remove;
    deployment = await createDeployment({ config: { ...config, memory: memory.config } });
  });
  afterAll(async () => {
    await deployment.remove();
    await remove();
  });

  it("does without a running node for `cairn mcp`, and leaves none behind", async () => {
    const first = await overStdio(deployment).client;
    expect((await first.listTools()).tools.map(({ name }) => name)).toEqual(READ);
    expect(await call(first, "memory_stats", {})).toMatchObject({ messages: { total: 0 } });
    await expect(first.callTool({ name: "memory_append", arguments: {} })).rejects.toMatchObject({ code: -32_602 });
    await first.close();
    // The store is free again: it has one opener at a time.
    const node = await startNode(deployment);
    const refused = await node.request("/api/memory/tool/memory_append", { json: { role: 7 } });
    expect(refused.status).toBe(404);
    node.signal("SIGTERM");
    expect(await node.exited).toBe(0);
  });
});
