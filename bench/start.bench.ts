/** How long a node takes to come up on a store that is there, as after a restart. */

import { type Deployment, startNode } from "../test/support/node-process.ts";
import type { Bench } from "./support/bench.ts";
import { startModel } from "./support/model.ts";
import { BACKENDS, type Backend, deploy, endNode, messageText, TurnClient, withNode } from "./support/node.ts";

const STARTS = 10;
const TURNS = 20;
const GOAL_MS = { postgres: 1_500, embedded: 3_000 } as const;

export const bench: Bench = {
  about: "from spawning the process to its readiness (messages are accepted), on an existing store",
  async run(context) {
    const model = await startModel(context);
    const deployments: { backend: Backend; deployment: Deployment; times: number[] }[] = [];
    for (const backend of BACKENDS) {
      const deployment = await deploy(context, backend, model);
      await withNode(deployment, async (node) => {
        const client = new TurnClient(node, context.signal);
        for (let n = 0; n < TURNS; n += 1) await client.firstText("before", messageText(n));
        client.close();
      });
      deployments.push({ backend, deployment, times: [] as number[] });
    }
    context.begin();
    // In turns, so that a busy moment of the machine falls on both.
    for (let n = 0; n < STARTS; n += 1) {
      for (const { deployment, times } of deployments) {
        context.signal.throwIfAborted();
        const started = performance.now();
        const node = await startNode(deployment);
        times.push(performance.now() - started);
        await endNode(node);
      }
    }
    context.together(() => {
      for (const { backend, times } of deployments) {
        const goal = { of: "p50", atMost: GOAL_MS[backend] } as const;
        context.samples({ name: `start to ready, ${backend}`, unit: "ms", goal }, times);
      }
    });
  },
};
