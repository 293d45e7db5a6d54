/**
 * Hours in minutes: every way into the memory at once, while the node is killed and PostgreSQL crashes, again and again; at
 * the end what is stored is compared row for row with what was acknowledged. CAIRN_BENCH_MINUTES says how long (10).
 */

import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { startFakeEncoder } from "../test/fakes/embeddings/index.ts";
import { type PostgresServer, startPostgres } from "../test/lanes/postgres.ts";
import { createDeployment, type Deployment, type NodeProcess, startNode, TOKEN } from "../test/support/node-process.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { startModel } from "./support/model.ts";
import { endNode } from "./support/node.ts";
import { createLedger, type Ledger } from "./support/soak/ledger.ts";
import { appendMessages, captureSessions, takeTurns, type WriterDeps } from "./support/soak/writers.ts";

const MINUTES = Number(process.env.CAIRN_BENCH_MINUTES ?? 10);
const QUIET_MS = 20_000;
const AWAY_MS = 2_000;
const SEARCH_EVERY_MS = 100;
const EMBEDDED_WITHIN_MS = 600_000;

export const bench: Bench = {
  about: `${MINUTES} minutes of capture, append, turns and searches; kill -9 of the node and crashes of PostgreSQL; row for row`,
  async run(context) {
    const server = await startPostgres();
    context.defer(() => server.stop());
    const deployment = await deploy(context, server);
    const held = await hold(deployment, context);
    const ledger = createLedger();
    const counts = { retries: 0, kills: 0, crashes: 0, searches: 0, failedSearches: 0 };
    const stop = new AbortController();
    const deps: WriterDeps = {
      url: () => held.node.url,
      ledger,
      until: stop.signal,
      signal: context.signal,
      onRetry() {
        counts.retries += 1;
      },
    };
    context.begin();
    const began = performance.now();
    const writers = [
      captureSessions(0, deps),
      captureSessions(1, deps),
      appendMessages(0, deps),
      appendMessages(1, deps),
      takeTurns(0, deps),
      takeTurns(1, deps),
      searchOn(deps, counts),
    ];
    const faults = causeFaults(held, deployment, server, counts, stop.signal, context.signal);
    await Promise.race([sleep(MINUTES * 60_000, undefined, { signal: context.signal }), ...writers, faults]);
    stop.abort();
    await Promise.all([...writers, faults]);
    const seconds = (performance.now() - began) / 1_000;
    await report(context, server, ledger, counts, seconds);
    await endNode(held.node);
  },
};

interface Counts {
  retries: number;
  kills: number;
  crashes: number;
  searches: number;
  failedSearches: number;
}

interface Held {
  node: NodeProcess;
}

async function deploy(context: BenchContext, server: PostgresServer): Promise<Deployment> {
  const encoder = await startFakeEncoder({ dimensions: 64 });
  context.defer(() => encoder.close());
  const deployment = await createDeployment({
    config: {
      providers: {
        model: { kind: "openai-compatible", base_url: await startModel(context), model: "fake", api_key: "none" },
      },
      agents: { main: { provider: "model" } },
      memory: {
        postgres: { connection_string: server.url },
        embedding: {
          provider: "openai-compatible",
          base_url: `${encoder.url}/v1`,
          model: "fake",
          batch: 256,
          interval: "1s",
        },
      },
    },
    env: { SERVICE_MCP_ENABLE_MEMORY_WRITE: "1" },
  });
  context.defer(() => deployment.remove());
  return deployment;
}

async function hold(deployment: Deployment, context: BenchContext): Promise<Held> {
  const held: Held = { node: await startNode(deployment) };
  context.defer(() => held.node.signal("SIGKILL"));
  return held;
}

/** One fault after the other, with quiet between them, until told to stop; the node is up when it ends. */
async function causeFaults(
  held: Held,
  deployment: Deployment,
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
      held.node = await startNode(deployment);
      counts.kills += 1;
    } else {
      await server.crash();
      await sleep(AWAY_MS, undefined, { signal });
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
  ledger: Ledger,
  counts: Counts,
  seconds: number,
): Promise<void> {
  const none = { of: "value", atMost: 0 } as const;
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    const result = await ledger.compare(client);
    for (const list of ["missing", "doubled", "changed", "unknown"] as const) {
      if (result[list].length > 0) process.stderr.write(`${list}: ${result[list].slice(0, 20).join(" ")}\n`);
    }
    const unembedded = await embeddedAll(client, context.signal);
    const { rows } = await client.query<{ readonly turns: string; readonly open: string }>(
      "select count(*) as turns, count(*) filter (where state in ('queued', 'running')) as open from turns",
    );
    context.together(() => {
      const value = (name: string, unit: string, figure: number, goal?: typeof none) =>
        context.value({ name: `soak: ${name}`, unit, ...(goal ? { goal } : {}) }, figure);
      value("lasted", "s", seconds);
      value("rows acknowledged", "rows", result.sent);
      value("rows acknowledged a second", "1/s", result.sent / seconds);
      value("rows missing", "rows", result.missing.length, none);
      value("rows doubled", "rows", result.doubled.length, none);
      value("rows changed", "rows", result.changed.length, none);
      value("rows that nobody sent", "rows", result.unknown.length, none);
      value("rows without a vector", "rows", unembedded, none);
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

/** Rows with words and without a vector, once nothing has changed about it for long enough, or none is left. */
async function embeddedAll(client: pg.Client, signal: AbortSignal): Promise<number> {
  const model = await client.query<{ readonly id: number }>("select id from embedding_models where current");
  const id = model.rows[0]?.id;
  if (id === undefined) throw new Error("no model has embedded anything");
  const deadline = performance.now() + EMBEDDED_WITHIN_MS;
  for (;;) {
    const { rows } = await client.query<{ readonly left: string }>(
      `select count(*) as left from messages m where m.content <> ''
       and not exists (select 1 from embeddings_${id} e where e.kind = 'message' and e.id = m.id)`,
    );
    const left = Number(rows[0]?.left);
    if (left === 0 || performance.now() > deadline) return left;
    await sleep(1_000, undefined, { signal });
  }
}
