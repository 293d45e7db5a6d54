/** A node whose PostgreSQL is restarted in every way, and that is killed itself, while it is written to and all its workers work. */

import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { readBacklog, readSummaries } from "../../bench/support/soak/backlog.ts";
import { createLedger, mark, SENTENCE } from "../../bench/support/soak/ledger.ts";
import { appendMessages, captureSessions, type WriterDeps } from "../../bench/support/soak/writers.ts";
import { sessionKey } from "../../runtime/domain/session-key.ts";
import { answerFrom } from "../fakes/chat-completions/answer.ts";
import { startTextFake } from "../fakes/chat-completions/index.ts";
import { startFakeEncoder } from "../fakes/embeddings/index.ts";
import { startOpenAiFake } from "../fakes/openai/index.ts";
import { type PostgresServer, startPostgres } from "../lanes/postgres.ts";
import { type Deployment, TOKEN } from "../support/node-process.ts";
import { deploymentOf, killed, runningNode } from "../support/running-node.ts";

/** Rows that are acknowledged between two faults. */
const ROWS = 400;
/** So many of them before the fault: the others are under way when it strikes. */
const ROWS_BEFORE = 200;
/** Ways of writing, searching and working meet four faults; a busy machine takes its time for each. */
const TIMEOUT_MS = 420_000;
const EVENTUALLY = { timeout: 120_000, interval: 200 };
const SUMMARY_CHARACTERS = 8_000;
const FAULTS = ["SIGINT", "kill the node", "SIGQUIT", "SIGKILL"] as const;

async function deploy(server: PostgresServer): Promise<Deployment> {
  const chat = await startOpenAiFake({ script: () => ({ text: "Understood." }) });
  const encoder = await startFakeEncoder();
  const summarizer = await startTextFake({ answer: (request) => answerFrom(request).slice(0, SUMMARY_CHARACTERS) });
  const teller = await startTextFake({ answer: () => SENTENCE });
  for (const fake of [chat, encoder, summarizer, teller]) onTestFinished(() => fake.close());
  return deploymentOf({
    config: {
      providers: { model: { kind: "openai-compatible", base_url: chat.baseUrl, model: "fake", api_key: "none" } },
      agents: { main: { provider: "model" } },
      memory: {
        postgres: { connection_string: server.url },
        embedding: { provider: "openai-compatible", base_url: `${encoder.url}/v1`, model: "words", batch: 64 },
        summarizer: { base_url: summarizer.baseUrl, model: "writer", interval: "1s" },
      },
    },
    env: {
      SERVICE_MCP_ENABLE_MEMORY_WRITE: "1",
      TOOL_SYNTH_ENDPOINT: `${teller.baseUrl}/chat/completions`,
      TOOL_SYNTH_MODEL: "teller",
    },
  });
}

it("keeps every acknowledged message once through a fast stop, an immediate one and kill -9 of PostgreSQL and kill -9 of the node, and does all work", {
  timeout: TIMEOUT_MS,
}, async () => {
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  const deployment = await deploy(server);
  let node = await runningNode(deployment);
  const ledger = createLedger();
  const until = new AbortController();
  const end = new AbortController();
  onTestFinished(() => end.abort());
  /** Messages of turns that ended with an error: nobody was told whether they are kept. */
  const failed = new Set<string>();
  let allowed = 0;
  const deps = {
    url: () => node.url,
    ledger,
    async burst() {
      while (ledger.size >= allowed && !until.signal.aborted) await sleep(20, undefined, { signal: end.signal });
    },
    until: until.signal,
    signal: end.signal,
    onRetry: () => undefined,
  };
  const writing = Promise.all([
    captureSessions(0, deps),
    appendMessages(0, deps),
    appendMessages(1, deps),
    takeTurns(0, deps, failed),
    takeTurns(1, deps, failed),
    searchOn(deps),
  ]);
  // What goes wrong there is told when it is waited for.
  writing.catch(() => undefined);

  for (const fault of FAULTS) {
    allowed = ledger.size + ROWS;
    const due = ledger.size + ROWS_BEFORE;
    await expect.poll(() => ledger.size, { ...EVENTUALLY, interval: 5 }).toBeGreaterThanOrEqual(due);
    if (fault === "kill the node") {
      await killed(node);
      node = await runningNode(deployment);
    } else {
      await server.crash(fault);
      await server.restart();
    }
  }
  allowed = ledger.size + ROWS;
  await expect.poll(() => ledger.size, EVENTUALLY).toBeGreaterThanOrEqual(allowed);
  until.abort();
  await writing;

  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  onTestFinished(() => client.end());
  const nothing = { withoutVector: 0, withoutSentence: 0, unsummarized: 0, uncounted: 0 };
  await expect.poll(() => readBacklog(client), EVENTUALLY).toEqual(nothing);
  const compared = await ledger.compare(client);
  expect(compared).toMatchObject({ missing: [], doubled: [], changed: [] });
  expect(compared.unknown.filter((one) => !failed.has(one))).toEqual([]);
  expect(compared.sent).toBeGreaterThan(FAULTS.length * ROWS_BEFORE);
  expect(await readSummaries(client)).toMatchObject({ twice: 0, summaries: expect.any(Number) });
  const { rows } = await client.query("select count(*)::int as n from turns where state in ('queued', 'running')");
  expect(rows).toEqual([{ n: 0 }]);
});

/** Chats: each message is repeated under its key until its turn has ended. */
async function takeTurns(writer: number, deps: WriterDeps, failed: Set<string>): Promise<void> {
  const conversation = `turns-${writer}`;
  const key = sessionKey({ agent: "main", channel: "agent", conversation, user: "soak" });
  for (let n = 0; !deps.until.aborted; n += 1) {
    await deps.burst();
    const id = mark("turn", writer, n);
    const content = `[${id}] How are you, for the ${n}th time?`;
    const body = JSON.stringify({ session: conversation, user: "soak", text: content });
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", "idempotency-key": id };
    for (;;) {
      const url = new URL("/api/agents/main/messages", deps.url());
      const signal = AbortSignal.any([deps.signal, AbortSignal.timeout(30_000)]);
      const answer = await fetch(url, { method: "POST", body, headers, signal })
        .then((response) => response.json() as Promise<{ ok: boolean; error?: { turn_id?: string } }>)
        .catch(() => null);
      deps.signal.throwIfAborted();
      if (answer?.ok) deps.ledger.acknowledged({ mark: id, sessionKey: key, role: "user", content, ...NO_TOOL });
      else if (answer?.error?.turn_id !== undefined) failed.add(id);
      else {
        await sleep(200, undefined, { signal: deps.signal });
        continue;
      }
      break;
    }
  }
}

const NO_TOOL = { toolName: null, toolResult: null };

async function searchOn(deps: { url(): string; until: AbortSignal; signal: AbortSignal }): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  while (!deps.until.aborted) {
    const url = new URL("/api/memory/tool/memory_search", deps.url());
    const body = JSON.stringify({ query: "the boiler near the harbour" });
    const answer = await fetch(url, { method: "POST", body, headers, signal: deps.signal }).catch(() => null);
    await answer?.text().catch(() => undefined);
    await sleep(100, undefined, { signal: deps.signal });
  }
}
