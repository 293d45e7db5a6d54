/** What the capture route takes: batches of 500 events from four clients, each on disk when it is answered. */

import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { createDeployment, type NodeProcess } from "../test/support/node-process.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { batchOf, EVENTS, post } from "./support/capture-client.ts";
import { BACKENDS, type Backend, withNode } from "./support/node.ts";

const CLIENTS = 4;
/** Of each client. */
const BATCHES: { readonly [Name in Backend]: number } = { postgres: 40, embedded: 8 };
const WARM_UP = 4;
const GOAL = 10_000;

export const bench: Bench = {
  about:
    "captured events through HTTP into the store: 4 clients, each a session of its own, batches of 500, enrichment aside",
  async run(context) {
    for (const backend of BACKENDS) await capture(context, backend);
  },
};

async function capture(context: BenchContext, backend: Backend): Promise<void> {
  const memory = backend === "postgres" ? { postgres: { connection_string: await context.postgres() } } : {};
  const config = { providers: { offline: {} }, agents: { main: { provider: "offline" } }, memory };
  const deployment = await createDeployment({ config });
  context.defer(() => deployment.remove());
  await withNode(deployment, async (node) => {
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
    try {
      await Promise.all(clients(node, agent, { from: 0, batches: WARM_UP }, context.signal));
      const before = processorSeconds(node.pid);
      context.begin();
      const started = performance.now();
      const span = { from: WARM_UP, batches: BATCHES[backend] };
      const times = (await Promise.all(clients(node, agent, span, context.signal))).flat();
      const seconds = (performance.now() - started) / 1_000;
      context.together(() => {
        const goal = backend === "postgres" ? { goal: { of: "value", atLeast: GOAL } as const } : {};
        const events = CLIENTS * span.batches * EVENTS;
        context.value({ name: `captured events, ${backend}`, unit: "1/s", ...goal }, events / seconds);
        const used = processorSeconds(node.pid) - before;
        // Says something also where others use the machine.
        if (used > 0) {
          const name = `processor time of the node for 1,000 events, ${backend}`;
          context.value({ name, unit: "ms" }, (used / events) * 1_000_000);
        }
        context.samples({ name: `a batch of ${EVENTS}, ${backend}`, unit: "ms" }, times);
      });
    } finally {
      agent.destroy();
    }
  });
}

/** Of a process so far; 0 where the system does not tell it this way. */
function processorSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

/** One promise a client: the milliseconds of its batches. */
function clients(
  node: NodeProcess,
  agent: Agent,
  span: { readonly from: number; readonly batches: number },
  signal: AbortSignal,
): Promise<number[]>[] {
  return Array.from({ length: CLIENTS }, async (_, client) => {
    const times: number[] = [];
    for (let n = span.from; n < span.from + span.batches; n += 1) {
      const body = JSON.stringify(batchOf(client, n));
      const started = performance.now();
      await post(node, agent, body, signal);
      times.push(performance.now() - started);
    }
    return times;
  });
}
