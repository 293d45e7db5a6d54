/** What a node occupies while nobody asks it anything, before its first turn and after some. */

import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { Bench } from "./support/bench.ts";
import { startModel } from "./support/model.ts";
import { BACKENDS, deploy, messageText, TurnClient, withNode } from "./support/node.ts";

const REST_MS = 10_000;
const TURNS = 50;
const GOAL_MB = { postgres: 200, embedded: 400 } as const;

export const bench: Bench = {
  about: "resident memory of the node's process after ten quiet seconds; PostgreSQL's own processes are not in it",
  async run(context) {
    const model = await startModel(context);
    for (const backend of BACKENDS) {
      const deployment = await deploy(context, backend, model);
      const goal = { of: "value", atMost: GOAL_MB[backend] } as const;
      // The first start makes the tables, which later ones need not.
      await withNode(deployment, async () => undefined);
      await withNode(deployment, async (node) => {
        await sleep(REST_MS, undefined, { signal: context.signal });
        context.value({ name: `resident when idle, ${backend}`, unit: "MB", goal }, await residentMb(node.pid));
        const client = new TurnClient(node, context.signal);
        for (let n = 0; n < TURNS; n += 1) await client.firstText(`session-${n % 5}`, messageText(n));
        client.close();
        await sleep(REST_MS, undefined, { signal: context.signal });
        context.value({ name: `resident after ${TURNS} turns, ${backend}`, unit: "MB" }, await residentMb(node.pid));
      });
    }
  },
};

/** Megabytes of 1,048,576 bytes. */
async function residentMb(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)]);
  return Number(stdout) / 1_024;
}
