/** Summaries in a real node: from a captured session to a tree that searches open, through kill -9 and a store that goes away. */

import { Client } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { startTextFake, type TextFake, type TextFakeOptions } from "../fakes/chat-completions/index.ts";
import { startOpenAiFake } from "../fakes/openai/index.ts";
import { cairn } from "../support/commands.ts";
import { createEmbeddedCopy } from "../support/databases.ts";
import { startDatabaseProxy } from "../support/faults/database-proxy.ts";
import type { Deployment, NodeProcess } from "../support/node-process.ts";
import { databaseUrl, deploymentOf, runningNode } from "../support/running-node.ts";

interface Stats {
  readonly messages: { readonly total: number };
  readonly unsummarized: { readonly total: number; readonly conversations_over_threshold: number };
  readonly summaries: {
    readonly leaf: number;
    readonly branch: number;
    readonly root: number;
    readonly max_depth: number;
  };
  readonly compaction: { readonly last_run_at: string | null; readonly last_error: string | null };
}

interface Hit {
  readonly id: string;
  readonly content: string;
  readonly depth?: number;
  readonly sources?: readonly { readonly content: string }[];
}

async function fake(options: TextFakeOptions = {}): Promise<TextFake> {
  const server = await startTextFake(options);
  onTestFinished(() => server.close());
  return server;
}

async function deploy(server: TextFake, store: object): Promise<Deployment> {
  const summarizer = { base_url: server.url, model: "writer", interval: "1s" };
  const config = { agents: { main: {} }, providers: { offline: {} }, memory: { ...store, summarizer } };
  return deploymentOf({ config });
}

async function embedded(): Promise<object> {
  const { path, remove } = await createEmbeddedCopy();
  onTestFinished(remove);
  return { embedded: { path } };
}

function capture(node: NodeProcess, session: string, messages: number, finalize = true): Promise<unknown> {
  const events = Array.from({ length: messages }, (_, n) => ({
    event_id: `${session}/${n}`,
    role: n % 2 === 0 ? "user" : "assistant",
    content: `${session} line ${n + 1}`,
  }));
  return node.call("/api/capture", { session_key: session, agent: "main", channel: "cli", events, finalize });
}

const stats = (node: NodeProcess) => node.call<Stats>("/api/memory/tool/memory_stats", {});

async function search(node: NodeProcess, query: string): Promise<readonly Hit[]> {
  const { results } = await node.call<{ results: Hit[] }>("/api/memory/tool/memory_search", {
    query,
    scope: "summaries",
    mode: "fts",
  });
  return results;
}

describe("a captured session", () => {
  it("that is marked ready is summarized: found, opened down to its messages, counted, and told by health and metrics", async () => {
    const server = await fake();
    const node = await runningNode(await deploy(server, await embedded()));
    await capture(node, "lighthouse", 4);
    await expect.poll(async () => (await stats(node)).summaries).toEqual({ leaf: 1, branch: 0, root: 0, max_depth: 0 });
    expect(await stats(node)).toMatchObject({
      messages: { total: 4 },
      unsummarized: { total: 0, conversations_over_threshold: 0 },
    });
    await expect
      .poll(async () => (await stats(node)).compaction)
      .toMatchObject({ last_run_at: expect.any(String), last_error: null });
    const [hit] = await search(node, "lighthouse");
    expect(hit?.sources?.map(({ content }) => content)).toEqual([1, 2, 3, 4].map((n) => `lighthouse line ${n}`));
    expect(server.requests.map(({ path, model }) => [path, model])).toEqual([["/v1/chat/completions", "writer"]]);
    const health = await node.call<{ memory: object }>("/health");
    expect(health.memory).toMatchObject({ workers: { compaction: { state: "on", model: "writer", reason: null } } });
    const metrics = await (await node.request("/metrics")).text();
    expect(metrics).toMatch(/^cairn_compaction_conversations\{state="given_up"\} 0$/m);
  });

  it.each(["embedded", "postgres"] as const)(
    "is summarized once by the next node when the first is killed while its model writes (%s)",
    async (backend) => {
      const server = await fake({
        fault: ({ number }) => (number === 1 ? { kind: "hold", gate: "first" } : undefined),
      });
      const url = backend === "postgres" ? await databaseUrl() : null;
      const deployment = await deploy(
        server,
        url === null ? await embedded() : { postgres: { connection_string: url } },
      );
      const first = await runningNode(deployment);
      await capture(first, "harbour", 12);
      await server.waitForRequests(1);
      first.signal("SIGKILL");
      await first.exited;
      server.release("first");
      if (url !== null) await inStore(url, "update compaction_work set claimed_until = now()");
      const second = await runningNode(deployment);
      await expect.poll(async () => (await stats(second)).unsummarized.total).toBe(0);
      expect((await stats(second)).summaries.leaf).toBe(1);
      expect(server.requests).toHaveLength(2);
      const [hit] = await search(second, "harbour");
      expect(hit?.sources).toHaveLength(12);
    },
  );

  it("is summarized once although the store goes away while the model writes, and after a given-up conversation is retried", async () => {
    const proxy = await startDatabaseProxy(await databaseUrl());
    onTestFinished(() => proxy.close());
    const server = await fake({
      fault: ({ number, lastUser }) =>
        lastUser.includes("poison") ? { kind: "empty" } : number === 1 ? { kind: "hold", gate: "away" } : undefined,
    });
    const deployment = await deploy(server, { postgres: { connection_string: proxy.url } });
    const node = await runningNode(deployment);
    await capture(node, "ferry", 12);
    await server.waitForRequests(1);
    proxy.disconnect();
    server.release("away");
    setTimeout(() => proxy.back(), 1_500);
    await expect
      .poll(() =>
        stats(node).then(
          ({ summaries }) => summaries.leaf,
          () => -1,
        ),
      )
      .toBe(1);
    // The summary that was written meanwhile is the one that was stored.
    expect(server.requests).toHaveLength(1);

    await capture(node, "poison", 12);
    await expect.poll(async () => (await stats(node)).compaction.last_error).toMatch(/no acceptable summary/);
    // Its attempts would take hours: the next one is its last, and it is due.
    await inStore(proxy.url, "update compaction_work set attempts = 4, due_at = now() where attempts > 0");
    const compact = async () => {
      const { queues } = await cairn<{ queues: { queue: string }[] }>(deployment, "memory", "queue-status");
      return queues.find(({ queue }) => queue === "compact");
    };
    await expect.poll(compact).toMatchObject({ failed: 1, last_error: expect.stringContaining("it is empty") });
    server.setFault(undefined);
    expect(await cairn(deployment, "memory", "retry-failed", "--task", "compact")).toMatchObject({
      matched: 1,
      retried: 1,
    });
    await expect.poll(async () => (await stats(node)).unsummarized.total).toBe(0);
    expect(await compact()).toMatchObject({ failed: 0, last_error: null });
    expect((await stats(node)).summaries.leaf).toBe(2);
  });
});

describe("a session of an agent", () => {
  it("is summarized when it ends, and not only at the next interval", async () => {
    const server = await fake();
    // A session ends with /new, and that of a task with the task.
    const model = await startOpenAiFake({
      script: ({ lastUser, step }) =>
        step > 0 || lastUser.includes("ferry")
          ? { text: "Noted." }
          : { toolCalls: [{ id: "s", name: "subagent_spawn", arguments: { task: "The ferry leaves at nine." } }] },
    });
    onTestFinished(() => model.close());
    const deployment = await deploymentOf({
      config: {
        providers: { model: { kind: "openai-compatible", base_url: model.baseUrl, model: "fake", api_key: "none" } },
        agents: { main: { provider: "model" } },
        memory: {
          ...(await embedded()),
          summarizer: { base_url: server.url, model: "writer", interval: "1d" },
        },
      },
    });
    const node = await runningNode(deployment);
    await node.call("/api/agents/main/messages", { session: "s", text: "Have it noted." });
    await expect.poll(async () => (await stats(node)).summaries.leaf).toBe(1);
    const [hit] = await search(node, "ferry");
    expect(hit?.sources?.map(({ content }) => content)).toEqual(["The ferry leaves at nine.", "Noted."]);
    // The session that goes on waits for the interval.
    expect((await stats(node)).unsummarized.total).toBeGreaterThan(0);
  });
});

async function inStore(url: string, sql: string): Promise<void> {
  const store = new Client({ connectionString: url });
  await store.connect();
  await store.query(sql);
  await store.end();
}
