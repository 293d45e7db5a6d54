/** `cairn memory ...` as an operator has it: the real command line, against a running node and against the store when none runs. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import { startTextFake, type TextFake } from "../fakes/chat-completions/index.ts";
import { describeCommand } from "../runtime/app/synthesis/support.ts";
import { printed } from "../support/commands.ts";
import { createPostgresCopy } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { createDeployment, type Deployment, type NodeProcess, startNode } from "../support/node-process.ts";

// Each test runs several processes, which take their time on a busy machine.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const TASK = "synthesize-tool-call";

const configOf = (memory: object) => ({
  providers: { offline: {} },
  agents: { main: { provider: "offline" } },
  memory,
});

let model: TextFake;
let url: string;
let store: Client;
let deployment: Deployment;
let node: NodeProcess;
const ends: (() => Promise<unknown>)[] = [];

/** What `cairn memory` prints; rejects when it fails. */
const cairn = (...args: string[]) => printed(deployment, "memory", ...args);

async function json(...args: string[]): Promise<Record<string, unknown>> {
  return JSON.parse(await cairn(...args, "--json"));
}

async function queue(): Promise<object | undefined> {
  const { queues } = (await json("queue-status")) as { queues: { queue: string }[] };
  return queues.find((one) => one.queue === TASK);
}

async function stop(): Promise<void> {
  node.signal("SIGTERM");
  await node.exited;
}

/** Five tool calls without content, of whose jobs three have failed, one waits and one is lost; and one message. */
beforeAll(async () => {
  model = await startTextFake({
    answer: ({ lastUser }) =>
      lastUser.startsWith("<hits>") ? "The harbour port is 7433 [1]." : describeCommand(lastUser),
  });
  ends.push(() => model.close());
  const copy = await createPostgresCopy(process.env.CAIRN_TEST_PG_URL ?? "");
  url = copy.url;
  ends.push(copy.remove);
  deployment = await createDeployment({
    config: configOf({ postgres: { connection_string: url } }),
    env: { SERVICE_MCP_ENABLE_MEMORY_WRITE: "1" },
  });
  ends.push(deployment.remove);
  node = await startNode(deployment);
  ends.push(stop);
  const append = (message: object) =>
    node.call("/api/memory/tool/memory_append", { session_key: "s", agent: "captain", ...message });
  await append({ role: "user", content: "The harbour port is 7433." });
  for (const n of [1, 2, 3, 4, 5])
    await append({ role: "assistant", tool_name: "shell", tool_args: { command: `moor ${n}` }, tool_result: "ok" });
  store = new Client({ connectionString: url });
  await store.connect();
  ends.push(() => store.end());
  const jobs = async () =>
    (await store.query<{ id: string }>("select id from pgboss.job where name = $1 order by created_on, id", [TASK]))
      .rows;
  await eventually(async () => expect(await jobs()).toHaveLength(5));
  const ids = (await jobs()).map(({ id }) => id);
  const failed = "update pgboss.job set state = 'failed', completed_on = now(), output = $2::jsonb where id = any($1)";
  await store.query(failed, [ids.slice(0, 2), { message: "model tiny is unavailable" }]);
  await store.query(failed, [ids.slice(2, 3), { message: "too many requests" }]);
  await store.query("delete from pgboss.job where id = $1", [ids[3]]);
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

describe.each(["a running node", "the store, where none runs"])("against %s", (where) => {
  beforeAll(async () => {
    if (where !== "a running node") await stop();
  });

  it("queue-status shows 1 job that waits and 3 that have failed, with an error", async () => {
    expect(await queue()).toMatchObject({ waiting: 1, active: 0, failed: 3, last_error: expect.any(String) });
  });

  it("queue-status is a table, with the newest error below", async () => {
    const text = await cairn("queue-status");
    expect(text).toMatch(/synthesize-tool-call +1 +0 +3 +0/);
    expect(text).toMatch(/synthesize-tool-call failed: (model tiny is unavailable|too many requests)/);
  });

  it("backfill-tool-synth --dry-run counts 5 calls, of which 1 has no job, and queues none", async () => {
    const counted = { dry_run: true, candidates: 5, enqueued: 1, queued: 1, failed: 3 };
    expect(await json("backfill-tool-synth", "--dry-run")).toEqual(counted);
    expect(await json("backfill-tool-synth", "--dry-run")).toEqual(counted);
  });

  it("retry-failed --error --dry-run counts the 2 that match, in any case, and revives none", async () => {
    const asked = ["retry-failed", "--task", TASK, "--dry-run"];
    const none = { task: TASK, dry_run: true, skipped: 0 };
    expect(await json(...asked, "--error", "TINY (is|was)")).toEqual({ ...none, matched: 2, retried: 2 });
    expect(await json(...asked)).toEqual({ ...none, matched: 3, retried: 3 });
    expect(await cairn(...asked, "--error", "no such error")).toBe(`No failed job of ${TASK} matches.\n`);
  });

  it("retry-failed fails for a pattern that is none", async () => {
    await expect(cairn("retry-failed", "--task", TASK, "--error", "(")).rejects.toMatchObject({ code: 1 });
  });

  it("search finds the 1 message, as JSON with the parts of its score and as text", async () => {
    expect(await json("search", "harbour port", "--agent", "captain", "--mode", "fts")).toMatchObject({
      results: [{ content: "The harbour port is 7433.", agent: "captain", scores: { fts: expect.any(Number) } }],
    });
    expect(await cairn("search", "harbour port")).toMatch(/^captain\/user [^\n]*\n {2}The harbour port is 7433\.\n$/);
  });

  it("search --synthesize lists the hits all the same where no model is, and says why there is no answer", async () => {
    expect(await cairn("search", "harbour port", "--synthesize")).toMatch(
      /^No answer: No language model is configured: memory\.summarizer\.base_url[^\n]*\n\n\[1\] captain\/user/,
    );
  });

  it("stats counts 6 messages, of an agent or of all, and names the backend", async () => {
    const counted = { messages: { total: 6 }, database: { backend: "postgres" } };
    expect(await json("stats")).toMatchObject(counted);
    expect(await json("stats", "--agent", "nobody")).toMatchObject({ messages: { total: 0 } });
    expect(await cairn("stats")).toMatch(/messages +6, 6 not summarized/);
  });
});

describe("what is queued while no node runs", () => {
  it("waits: backfill-tool-synth adds the 1 that had no job, retry-failed revives 2 and then 1", async () => {
    expect(await json("backfill-tool-synth")).toMatchObject({ dry_run: false, enqueued: 1, queued: 1, failed: 3 });
    const retry = ["retry-failed", "--task", TASK];
    expect(await json(...retry, "--error", "tiny")).toMatchObject({ dry_run: false, matched: 2, retried: 2 });
    expect(await cairn(...retry)).toBe(`1 of 1 failed jobs of ${TASK} wait again.\n`);
    expect(await queue()).toMatchObject({ waiting: 5, failed: 0, last_error: null });
  });

  it("is done by the next node that has a model: 5 sentences, and an answer with a citation of the hit", async () => {
    const summarizer = { base_url: model.baseUrl, model: "tiny" };
    const config = configOf({ postgres: { connection_string: url }, summarizer });
    await writeFile(join(deployment.dir, "cairn.yaml"), stringify({ version: 1, ...config }));
    node = await startNode(deployment);
    await expect.poll(queue).toMatchObject({ waiting: 0, active: 0, failed: 0 });
    const { results } = (await json("search", "moor", "--mode", "fts")) as { results: { content: string }[] };
    expect(results.map(({ content }) => content).sort()).toEqual(
      [1, 2, 3, 4, 5].map((n) => `Ran the command \`moor ${n}\` in a shell.`),
    );
    const found = (await json("search", "harbour port", "--synthesize")) as {
      results: { id: string }[];
      answer: object;
    };
    expect(found.answer).toEqual({ text: "The harbour port is 7433 [1].", citations: [found.results[0]?.id] });
    expect(await cairn("search", "harbour port", "--synthesize")).toMatch(
      /^The harbour port is 7433 \[1\]\.\n\n\[1\] captain\/user/,
    );
  });
});
