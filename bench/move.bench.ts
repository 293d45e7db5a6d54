/**
 * `cairn memory move` of a store with vectors from the embedded store to PostgreSQL and back, as an operator runs it: rows of
 * all sections a second, from the start of the command to its end. CAIRN_BENCH_MESSAGES is how many messages it has (30000).
 */

import { join } from "node:path";
import type { MoveResult } from "../control/memory/move/move.ts";
import { withStore } from "../test/support/closed-store.ts";
import { cairn } from "../test/support/commands.ts";
import { createDeployment } from "../test/support/node-process.ts";
import type { Bench } from "./support/bench.ts";
import { fillStore } from "./support/filled-store.ts";

const MESSAGES = 30_000;
const DIMENSIONS = 384;
const GOAL = { of: "value", atLeast: 5_000 } as const;

export const bench: Bench = {
  about: "rows a second that `memory move` takes to PostgreSQL and back, vectors of 384 dimensions among them",
  async run(context) {
    const messages = Number(process.env.CAIRN_BENCH_MESSAGES ?? MESSAGES);
    const deployment = await createDeployment({
      config: { providers: { offline: {} }, agents: { main: { provider: "offline" } }, memory: { embedded: {} } },
      env: { SERVICE_PG_URL: await context.postgres() },
    });
    context.defer(() => deployment.remove());
    await withStore(join(deployment.home, "store"), async (database) => {
      await fillStore(database, { messages, dimensions: DIMENSIONS, summaries: true });
      await database.script("drop table bench_directions");
    });
    context.value({ name: "messages", unit: "" }, messages);
    for (const [to, goal] of [
      ["postgres", GOAL],
      ["embedded", undefined],
    ] as const) {
      context.begin();
      const started = performance.now();
      const { counts } = await cairn<MoveResult>(deployment, "memory", "move", to);
      const seconds = (performance.now() - started) / 1_000;
      const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
      context.value(
        { name: `memory move ${to}`, unit: "rows/s", ...(goal === undefined ? {} : { goal }) },
        rows / seconds,
      );
    }
  },
};
