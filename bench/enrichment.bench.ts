/** Whether what follows a capture keeps up with it: words are counted while 5,000 events/s arrive, steadily, through the route. */

import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { createDeployment, type NodeProcess } from "../test/support/node-process.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { batchOf, EVENTS, post } from "./support/capture-client.ts";
import { withNode } from "./support/node.ts";

const CLIENTS = 4;
const PER_SECOND = 5_000;
const SECONDS = 30;
const POLL_MS = 500;
/** The counter wakes two seconds after a write, and takes 5,000 rows at a time. */
const COUNTED_WITHIN_S = 10;
const GIVE_UP_MS = 120_000;

export const bench: Bench = {
  about: `${PER_SECOND} captured events/s for ${SECONDS} s through HTTP on PostgreSQL, and how many wait for their words to be counted`,
  async run(context) {
    const url = await context.postgres();
    const memory = { postgres: { connection_string: url } };
    const config = { providers: { offline: {} }, agents: { main: { provider: "offline" } }, memory };
    const deployment = await createDeployment({ config });
    context.defer(() => deployment.remove());
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    context.defer(() => client.end());
    await withNode(deployment, (node) => steadily(context, node, client));
  },
};

async function steadily(context: BenchContext, node: NodeProcess, client: pg.Client): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const waiting: number[] = [];
  let capturing = true;
  try {
    context.begin();
    const began = performance.now();
    const watching = (async () => {
      while (capturing) {
        waiting.push(await uncounted(client));
        await sleep(POLL_MS, undefined, { signal: context.signal });
      }
    })();
    await Promise.all([...Array(CLIENTS).keys()].map((one) => captureAtRate(one, node, agent, began, context.signal)));
    const seconds = (performance.now() - began) / 1_000;
    capturing = false;
    await watching;
    const ended = performance.now();
    while ((await uncounted(client)) > 0) {
      if (performance.now() - ended > GIVE_UP_MS) throw new Error("the words are not counted");
      await sleep(100, undefined, { signal: context.signal });
    }
    const after = (performance.now() - ended) / 1_000;
    context.together(() => {
      const rate = { of: "value", atLeast: 0.95 * PER_SECOND } as const;
      context.value({ name: "captured events", unit: "1/s", goal: rate }, (PER_SECOND * SECONDS) / seconds);
      context.samples({ name: "events whose words are not counted, meanwhile", unit: "rows" }, waiting);
      const goal = { of: "value", atMost: COUNTED_WITHIN_S } as const;
      context.value({ name: "words counted after the last event", unit: "s", goal }, after);
    });
  } finally {
    capturing = false;
    agent.destroy();
  }
}

/** One client's share: each batch when its time has come, or at once when that is past. */
async function captureAtRate(
  client: number,
  node: NodeProcess,
  agent: Agent,
  began: number,
  signal: AbortSignal,
): Promise<void> {
  const everyMs = (EVENTS * CLIENTS * 1_000) / PER_SECOND;
  const batches = (PER_SECOND * SECONDS) / (EVENTS * CLIENTS);
  for (let n = 0; n < batches; n += 1) {
    const due = began + (n + client / CLIENTS) * everyMs;
    await sleep(Math.max(0, due - performance.now()), undefined, { signal });
    await post(node, agent, JSON.stringify(batchOf(client, n)), signal);
  }
}

async function uncounted(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ readonly waiting: number }>(
    `select (coalesce((select seq from messages order by seq desc limit 1), 0)
       - coalesce((select counted_to from search_totals where kind = 'message'), 0))::float8 as waiting`,
  );
  return Math.max(0, rows[0]?.waiting ?? 0);
}
