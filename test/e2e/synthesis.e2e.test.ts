/** What models write in a real node: sentences of tool calls, which make these findable, and pages of the wiki; and what an operator sees when not. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { startTextFake, type TextFake } from "../fakes/chat-completions/index.ts";
import { describeCommand } from "../runtime/app/synthesis/support.ts";
import { cairn } from "../support/commands.ts";
import { type Deployment, type NodeProcess, startNode } from "../support/node-process.ts";
import { databaseUrl, deploymentOf, runningNode } from "../support/running-node.ts";

const OFFLINE = { providers: { offline: {} }, agents: { main: { provider: "offline" } } };

async function fake(): Promise<TextFake> {
  const server = await startTextFake({ answer: ({ lastUser }) => describeCommand(lastUser) });
  onTestFinished(() => server.close());
  return server;
}

async function deploy(server: TextFake | null, memory: object = {}): Promise<Deployment> {
  const endpoint =
    server === null ? {} : { TOOL_SYNTH_ENDPOINT: `${server.baseUrl}/chat/completions`, TOOL_SYNTH_MODEL: "tiny" };
  const env = { SERVICE_MCP_ENABLE_MEMORY_WRITE: "1", ...endpoint };
  return deploymentOf({ config: { ...OFFLINE, memory }, env });
}

function append(node: NodeProcess, command: string): Promise<{ readonly id: string }> {
  return node.call("/api/memory/tool/memory_append", {
    session_key: "s",
    role: "assistant",
    tool_name: "shell",
    tool_args: { command },
    tool_result: "ok",
  });
}

async function found(node: NodeProcess, query: string): Promise<readonly string[]> {
  const { results } = await node.call<{ results: { content: string }[] }>("/api/memory/tool/memory_search", {
    query,
    mode: "fts",
  });
  return results.map(({ content }) => content);
}

async function queue(deployment: Deployment): Promise<object | undefined> {
  const { queues } = await cairn<{ queues: { queue: string }[] }>(deployment, "memory", "queue-status");
  return queues.find((one) => one.queue === "synthesize-tool-call");
}

describe("a tool call that is appended", () => {
  it("is described in the background and found by its sentence; a refused one dies, is shown, and is done when retried", async () => {
    const server = await fake();
    const url = await databaseUrl();
    const deployment = await deploy(server, { postgres: { connection_string: url } });
    const node = await runningNode(deployment);
    await append(node, "terraform apply");
    await expect.poll(() => found(node, "terraform")).toEqual(["Ran the command `terraform apply` in a shell."]);
    expect(server.requests.map(({ model, path }) => [model, path])).toEqual([["tiny", "/v1/chat/completions"]]);

    server.setFault(() => ({ kind: "status", status: 400, message: "model tiny is not loaded" }));
    await append(node, "kubectl drain");
    await server.waitForRequests(2);
    const store = new Client({ connectionString: url });
    await store.connect();
    // Its attempts would take minutes: the next one is its last, and it is due.
    const hurry = "update pgboss.job set retry_count = retry_limit, start_after = now() where state = 'retry'";
    await expect.poll(async () => (await store.query(hurry)).rowCount).toBe(1);
    await store.end();
    await expect.poll(() => queue(deployment)).toMatchObject({ failed: 1, waiting: 0 });
    expect(await queue(deployment)).toMatchObject({ last_error: expect.stringContaining("model tiny is not loaded") });
    expect(await cairn(deployment, "memory", "backfill-tool-synth")).toMatchObject({
      candidates: 1,
      enqueued: 0,
      failed: 1,
    });
    const health = await node.call<{ memory: object }>("/health");
    expect(health.memory).toMatchObject({ workers: { synthesis: { state: "unavailable", model: "tiny" } } });

    server.setFault(undefined);
    const retry = await cairn(
      deployment,
      "memory",
      "retry-failed",
      "--task",
      "synthesize-tool-call",
      "--error",
      "not loaded",
    );
    expect(retry).toMatchObject({ matched: 1, retried: 1 });
    await expect.poll(() => found(node, "kubectl")).toEqual(["Ran the command `kubectl drain` in a shell."]);
    expect(await queue(deployment)).toMatchObject({ failed: 0, last_error: null });
  });

  it("waits while no model is configured, and is described once there is one", async () => {
    const bare = await deploy(null);
    const first = await startNode(bare);
    await append(first, "make world");
    await expect.poll(() => queue(bare)).toMatchObject({ waiting: 1, failed: 0 });
    const health = await first.call<{ memory: object }>("/health");
    expect(health.memory).toMatchObject({
      workers: { synthesis: { state: "off", reason: expect.stringContaining("TOOL_SYNTH_ENDPOINT") } },
    });
    first.signal("SIGTERM");
    await first.exited;
    const server = await fake();
    const node = await runningNode(bare, { env: { TOOL_SYNTH_ENDPOINT: server.url, TOOL_SYNTH_MODEL: "tiny" } });
    await expect.poll(() => found(node, "world")).toEqual(["Ran the command `make world` in a shell."]);
  });

  it("is described once although the node is killed while the model answers, and a silent endpoint holds up no stop", async () => {
    const server = await fake();
    server.setFault(() => ({ kind: "hang" }));
    const deployment = await deploy(server);
    const killed = await startNode(deployment);
    await append(killed, "rsync backup");
    await server.waitForRequests(1);
    killed.signal("SIGKILL");
    await killed.exited;
    const stopped = await startNode(deployment);
    await server.waitForRequests(2);
    stopped.signal("SIGTERM");
    expect(await stopped.exited).toBe(0);
    expect(server.counters().open).toBe(0);
    server.setFault(undefined);
    const node = await runningNode(deployment);
    await expect.poll(() => found(node, "rsync")).toEqual(["Ran the command `rsync backup` in a shell."]);
    expect(await queue(deployment)).toMatchObject({ failed: 0, waiting: 0, active: 0 });
    expect(server.requests).toHaveLength(3);
  });
});

describe("a summary", () => {
  it("is sorted into pages of the agent's workspace where the wiki is enabled", async () => {
    const server = await startTextFake({ answer: () => "# Backup\n- It runs at noon. [S1]\n- It is encrypted." });
    onTestFinished(() => server.close());
    const url = await databaseUrl();
    const deployment = await deploy(null, {
      postgres: { connection_string: url },
      summarizer: { base_url: server.baseUrl, model: "tiny" },
      wiki: { enabled: true, interval: "1s" },
    });
    const node = await runningNode(deployment);
    const store = new Client({ connectionString: url });
    await store.connect();
    const { rows } = await store.query<{ id: string }>(
      `with opened as (insert into conversations (id, session_key, agent, channel, opened_by, by_owner)
         values (gen_random_uuid(), 's', 'main', 'agent', 'turn', true) returning id)
       insert into summaries (id, conversation_id, content)
         select gen_random_uuid(), id, 'The backup: it runs at noon.' from opened returning id`,
    );
    await store.end();
    const page = join(deployment.workspace, "wiki", "backup.md");
    await expect
      .poll(() => readFile(page, "utf8").catch(() => ""))
      .toContain(`- It runs at noon. [summary:${rows[0]?.id}]`);
    expect(await readFile(page, "utf8")).not.toContain("encrypted");
    const metrics = await (await node.request("/metrics")).text();
    expect(metrics).toContain('cairn_memory_worker_up{worker="wiki"} 1');
    expect(metrics).toContain('cairn_memory_worker_up{worker="synthesis"} 1');
  });
});
