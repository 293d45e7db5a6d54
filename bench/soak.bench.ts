/**
 * Hours in minutes: every way into the memory at once, in bursts with pauses between them, with every worker of the node,
 * while the node is killed and PostgreSQL crashes, again and again; at the end what is stored is compared row for row with
 * what was acknowledged. CAIRN_BENCH_MINUTES says how long (10).
 */

import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { answerFrom } from "../test/fakes/chat-completions/answer.ts";
import { startTextFake } from "../test/fakes/chat-completions/index.ts";
import { vectorOf } from "../test/fakes/embeddings/vectors.ts";
import { type PostgresServer, startPostgres } from "../test/lanes/postgres.ts";
import { createDeployment, type Deployment, type NodeProcess, startNode, TOKEN } from "../test/support/node-process.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { startEncoderServer } from "./support/encoder-server.ts";
import { startModel } from "./support/model.ts";
import { endNode } from "./support/node.ts";
import { type Backlog, readBacklog, readSummaries, workedOff } from "./support/soak/backlog.ts";
import { createLedger, type Ledger, SENTENCE } from "./support/soak/ledger.ts";
import { createPhases } from "./support/soak/phases.ts";
import { appendMessages, captureSessions, takeTurns, type WriterDeps } from "./support/soak/writers.ts";

const MINUTES = Number(process.env.CAIRN_BENCH_MINUTES ?? 10);
const BURST_MS = 15_000;
const PAUSE_MS = 30_000;
/** Between two faults; no multiple of a burst and a pause, so that they meet both. */
const QUIET_MS = 20_000;
const UNAVAILABLE_MS = 2_000;
const SEARCH_EVERY_MS = 100;
/** Far more than workers need on a busy machine to take up what killed ones had, which they do within half a minute. */
const STUCK_MS = 420_000;
const DIMENSIONS = 64;
const SUMMARY_CHARACTERS = 8_000;
/** A start can take longer than a test allows where the machine is busy. */
const START_ATTEMPTS = 5;

export const bench: Bench = {
  about: `${MINUTES} minutes of capture, append, turns and searches; kill -9 of the node and crashes of PostgreSQL; row for row`,
  async run(context) {
    const server = await startPostgres();
    context.defer(() => server.stop());
    const held = await hold(await deploy(context, server), context);
    // Whatever fails ends everything else: nothing may go on behind a bench that has failed.
    const failed = new AbortController();
    const signal = AbortSignal.any([context.signal, failed.signal]);
    const stop = new AbortController();
    const soak = createSoak(server, held, stop.signal, signal);
    context.begin();
    const began = performance.now();
    const work = soak.start();
    try {
      await Promise.race([sleep(MINUTES * 60_000, undefined, { signal }), ...work]);
      stop.abort();
      await Promise.all(work);
      const seconds = (performance.now() - began) / 1_000;
      await report(context, server, soak, seconds, signal);
      await endNode(held.node);
    } finally {
      stop.abort();
      failed.abort();
      await Promise.allSettled(work);
    }
  },
};

interface Counts {
  retries: number;
  kills: number;
  crashes: number;
  searches: number;
  failedSearches: number;
}

interface Soak {
  readonly ledger: Ledger;
  readonly counts: Counts;
  /** What was left to do when a pause ended. */
  readonly pauses: readonly Backlog[];
  /** What ends once it is stopped, or rejects. */
  start(): readonly Promise<void>[];
}

function createSoak(server: PostgresServer, held: Held, until: AbortSignal, signal: AbortSignal): Soak {
  const ledger = createLedger();
  const counts: Counts = { retries: 0, kills: 0, crashes: 0, searches: 0, failedSearches: 0 };
  const pauses: Backlog[] = [];
  const phases = createPhases(BURST_MS, PAUSE_MS);
  const deps: WriterDeps = {
    url: () => held.node.url,
    ledger,
    burst: () => phases.burst(),
    until,
    signal,
    onRetry() {
      counts.retries += 1;
    },
  };
  const onPauseEnd = async () => {
    const remaining = await backlogOf(server);
    if (remaining === null) return;
    pauses.push(remaining);
    process.stderr.write(
      `  ${ledger.size} rows acknowledged, ${JSON.stringify(counts)}; left ${JSON.stringify(remaining)}\n`,
    );
  };
  return {
    ledger,
    counts,
    pauses,
    start: () => [
      phases.run(until, onPauseEnd),
      captureSessions(0, deps),
      captureSessions(1, deps),
      appendMessages(0, deps),
      appendMessages(1, deps),
      takeTurns(0, deps),
      takeTurns(1, deps),
      searchOn(deps, counts),
      causeFaults(held, server, counts, until, signal),
    ],
  };
}

/** Null while the server is away. */
async function backlogOf(server: PostgresServer): Promise<Backlog | null> {
  const client = new pg.Client({ connectionString: server.url });
  // A connection that breaks meanwhile must not end the process.
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await readBacklog(client);
  } catch {
    return null;
  } finally {
    await client.end().catch(() => undefined);
  }
}

interface Held {
  node: NodeProcess;
  readonly start: () => Promise<NodeProcess>;
}

async function deploy(context: BenchContext, server: PostgresServer): Promise<Deployment> {
  const embed = async (texts: readonly string[]) => texts.map((text) => vectorOf(text, DIMENSIONS));
  const encoder = await startEncoderServer(context, { model: "fake", embed });
  // Hundreds of entries, a line of each, are more than a leaf may have.
  const summarizer = await startTextFake({ answer: (request) => answerFrom(request).slice(0, SUMMARY_CHARACTERS) });
  context.defer(() => summarizer.close());
  const deployment = await createDeployment({
    config: {
      providers: {
        model: { kind: "openai-compatible", base_url: await startModel(context), model: "fake", api_key: "none" },
      },
      agents: { main: { provider: "model" } },
      memory: {
        postgres: { connection_string: server.url },
        embedding: { provider: "openai-compatible", base_url: encoder, model: "fake", batch: 256, interval: "1s" },
        summarizer: { base_url: summarizer.baseUrl, model: "writer", interval: "1s" },
      },
    },
    env: {
      SERVICE_MCP_ENABLE_MEMORY_WRITE: "1",
      TOOL_SYNTH_ENDPOINT: await startModel(context, SENTENCE),
      TOOL_SYNTH_MODEL: "teller",
    },
  });
  context.defer(() => deployment.remove());
  return deployment;
}

async function hold(deployment: Deployment, context: BenchContext): Promise<Held> {
  const start = async (): Promise<NodeProcess> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await startNode(deployment);
      } catch (error) {
        context.signal.throwIfAborted();
        if (attempt === START_ATTEMPTS) throw error;
        process.stderr.write(`  the node did not start: ${String(error).slice(0, 300)}\n`);
      }
    }
  };
  const held: Held = { node: await start(), start };
  context.defer(async () => {
    held.node.signal("SIGKILL");
    await held.node.exited;
  });
  return held;
}

/** One fault after the other, with quiet between them, until told to stop; the node is up when it ends. */
async function causeFaults(
  held: Held,
  server: PostgresServer,
  counts: Counts,
  until: AbortSignal,
  signal: AbortSignal,
): Promise<void> {
  for (let n = 0; !until.aborted; n += 1) {
    await sleep(QUIET_MS, undefined, { signal: AbortSignal.any([until, signal]) }).catch(() => undefined);
    signal.throwIfAborted();
    if (until.aborted) return;
    if (n % 2 === 0) {
      held.node.signal("SIGKILL");
      await held.node.exited;
      held.node = await held.start();
      counts.kills += 1;
    } else {
      await server.crash();
      await sleep(UNAVAILABLE_MS, undefined, { signal });
      await server.restart();
      counts.crashes += 1;
    }
  }
}

async function searchOn(deps: WriterDeps, counts: Counts): Promise<void> {
  for (let n = 0; !deps.until.aborted; n += 1) {
    const body = JSON.stringify({ query: `the boiler near the harbour number ${n}`, limit: 10 });
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    try {
      const url = new URL("/api/memory/tool/memory_search", deps.url());
      const response = await fetch(url, { method: "POST", body, headers, signal: deps.signal });
      await response.text();
      counts.searches += 1;
      if (!response.ok) counts.failedSearches += 1;
    } catch {
      deps.signal.throwIfAborted();
      counts.failedSearches += 1;
    }
    await sleep(SEARCH_EVERY_MS, undefined, { signal: deps.signal });
  }
}

async function report(
  context: BenchContext,
  server: PostgresServer,
  { ledger, counts, pauses }: Soak,
  seconds: number,
  signal: AbortSignal,
): Promise<void> {
  const none = { of: "value", atMost: 0 } as const;
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    process.stderr.write("  comparing rows\n");
    const result = await ledger.compare(client);
    for (const list of ["missing", "doubled", "changed", "unknown"] as const) {
      if (result[list].length > 0) process.stderr.write(`${list}: ${result[list].slice(0, 20).join(" ")}\n`);
    }
    const ended = performance.now();
    const remaining = await workedOff(client, STUCK_MS, signal);
    const caughtUp = (performance.now() - ended) / 1_000;
    // What the workers did since must have changed nothing else.
    const after = await ledger.compare(client);
    const summarized = await readSummaries(client);
    const { rows } = await client.query<{ readonly turns: string; readonly open: string }>(
      "select count(*) as turns, count(*) filter (where state in ('queued', 'running')) as open from turns",
    );
    const most = (of: keyof Backlog) => Math.max(0, ...pauses.map((one) => one[of]));
    context.together(() => {
      const value = (name: string, unit: string, figure: number, goal?: typeof none) =>
        context.value({ name: `soak: ${name}`, unit, ...(goal ? { goal } : {}) }, figure);
      value("lasted", "s", seconds);
      value("rows acknowledged", "rows", result.sent);
      value("rows acknowledged a second", "1/s", result.sent / seconds);
      value("rows missing", "rows", result.missing.length, none);
      value("messages whose turn ended with an error", "rows", result.uncertain.sent);
      value("of these stored", "rows", result.uncertain.stored);
      value("rows doubled", "rows", result.doubled.length, none);
      value("rows changed", "rows", result.changed.length, none);
      value("rows that nobody sent", "rows", result.unknown.length, none);
      const wrong = after.missing.length + after.doubled.length + after.changed.length + after.unknown.length;
      value("rows that differ once the workers were done", "rows", wrong, none);
      value("workers done after", "s", caughtUp);
      value("rows without a vector", "rows", remaining.withoutVector, none);
      value("tool calls without a sentence", "rows", remaining.withoutSentence, none);
      value("conversations left to summarize", "", remaining.unsummarized, none);
      value("rows whose words are not counted", "rows", remaining.uncounted, none);
      value("summaries", "", summarized.summaries);
      value("messages in a summary", "rows", summarized.messages);
      value("messages summarized twice", "rows", summarized.twice, none);
      value("rows without a vector at the end of a pause, at most", "rows", most("withoutVector"));
      value("tool calls without a sentence at the end of a pause, at most", "rows", most("withoutSentence"));
      value("conversations to summarize at the end of a pause, at most", "", most("unsummarized"));
      value("rows not counted at the end of a pause, at most", "rows", most("uncounted"));
      value("turns", "turns", Number(rows[0]?.turns));
      value("turns left open", "turns", Number(rows[0]?.open), none);
      value("kill -9 of the node", "times", counts.kills);
      value("crashes of PostgreSQL", "times", counts.crashes);
      value("writes repeated", "times", counts.retries);
      value("searches", "times", counts.searches);
      value("searches refused during a fault", "times", counts.failedSearches);
    });
  } finally {
    await client.end();
  }
}
