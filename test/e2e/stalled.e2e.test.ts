/** A node that stands still for longer than its claims, beside another one: what it was doing is done by that, and once. */

import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { readBacklog, readSummaries } from "../../bench/support/soak/backlog.ts";
import { startTextFake, type TextFake, type TextFakeOptions } from "../fakes/chat-completions/index.ts";
import { startFakeEncoder } from "../fakes/embeddings/index.ts";
import type { NodeProcess } from "../support/node-process.ts";
import { databaseUrl, deploymentOf, runningNode } from "../support/running-node.ts";

const NOTHING = { withoutVector: 0, withoutSentence: 0, unsummarized: 0, uncounted: 0 };

async function model(options: TextFakeOptions): Promise<TextFake> {
  const fake = await startTextFake(options);
  onTestFinished(() => fake.close());
  return fake;
}

/** Twelve messages that are due, and a tool call without a sentence. */
async function capture(node: NodeProcess, name: string): Promise<void> {
  const said = Array.from({ length: 12 }, (_, n) => ({
    event_id: `${name}/${n}`,
    role: n % 2 === 0 ? "user" : "assistant",
    content: `${name} line ${n + 1}`,
  }));
  const call = { event_id: `${name}/call`, role: "assistant", tool_name: "shell", tool_args: { command: "make" } };
  const batch = (session_key: string, events: readonly object[], finalize: boolean) =>
    node.call("/api/capture", { session_key, agent: "main", channel: "cli", events, finalize });
  await batch(`${name} calls`, [call], false);
  await batch(name, said, true);
}

it("has 13 rows embedded, described and summarized once by another node, and changes nothing when it goes on", async () => {
  // Each holds the first answer, which is asked for by the node that stands still.
  const held = ({ number }: { number: number }) =>
    number === 1 ? ({ kind: "hold", gate: "still" } as const) : undefined;
  const summarizer = await model({ fault: held });
  const teller = await model({ fault: held, answer: () => "Ran the command `make` in a shell." });
  let batches = 0;
  const encoder = await startFakeEncoder({
    fault: ({ texts }) => {
      if (texts.length > 1) batches += 1;
      return texts.length > 1 && batches === 1 ? { kind: "hold" } : undefined;
    },
  });
  onTestFinished(() => encoder.close());
  const url = await databaseUrl();
  const deploy = () =>
    deploymentOf({
      config: {
        agents: { main: {} },
        providers: { offline: {} },
        memory: {
          postgres: { connection_string: url },
          embedding: { provider: "openai-compatible", base_url: `${encoder.url}/v1`, model: "words" },
          summarizer: { base_url: summarizer.baseUrl, model: "writer", interval: "1s" },
        },
      },
      env: { TOOL_SYNTH_ENDPOINT: teller.url, TOOL_SYNTH_MODEL: "teller" },
    });
  const store = new pg.Client({ connectionString: url });
  await store.connect();
  onTestFinished(() => store.end());
  const rowsOf = async (sql: string) => (await store.query(sql)).rows as object[];

  const still = await runningNode(await deploy());
  await capture(still, "harbour");
  await summarizer.waitForRequests(1);
  await teller.waitForRequests(1);
  await expect.poll(() => batches).toBe(1);
  still.signal("SIGSTOP");
  // As if it had stood still for an hour.
  await store.query("update compaction_work set claimed_until = now() where claimed_by is not null");
  await store.query("update embedding_work set claimed_until = now() where claimed_by is not null");
  await store.query("update pgboss.job set heartbeat_on = now() - interval '1 hour' where state = 'active'");

  const other = await runningNode(await deploy());
  await expect.poll(() => readBacklog(store)).toEqual(NOTHING);
  await expect.poll(() => rowsOf("select name from pgboss.job where state = 'retry'")).toEqual([]);
  const before = await everything(rowsOf);
  expect(await readSummaries(store)).toEqual({ summaries: 1, messages: 12, twice: 0 });

  // It finds the answers there when it goes on.
  summarizer.release("still");
  teller.release("still");
  encoder.release();
  still.signal("SIGCONT");
  await expect.poll(() => still.output()).toMatch(/a conversation was taken over/);
  expect(await everything(rowsOf)).toEqual(before);

  await capture(still, "lighthouse");
  await expect.poll(() => readBacklog(store)).toEqual(NOTHING);
  expect(await readSummaries(store)).toEqual({ summaries: 2, messages: 24, twice: 0 });
  const after = await everything(rowsOf);
  for (const [n, rows] of before.entries()) expect(after[n]).toEqual(expect.arrayContaining(rows));
  expect([summarizer.requests.length, teller.requests.length]).toEqual([3, 3]);
  expect(await rowsOf("select name, output from pgboss.job where state = 'failed'")).toEqual([]);
  expect((await other.request("/health")).status).toBe(200);
  expect((await still.request("/health")).status).toBe(200);
});

/** What is stored of the memory, and what the workers still have to do. */
async function everything(rowsOf: (sql: string) => Promise<object[]>): Promise<object[][]> {
  return [
    await rowsOf("select id, content from messages order by id"),
    await rowsOf("select id, content, parent_id from summaries order by id"),
    await rowsOf("select * from summary_sources order by summary_id, ordinal"),
    await rowsOf("select kind, id, embedding::text from embeddings_1 order by kind, id"),
    await rowsOf("select id from embedding_work"),
  ];
}
