/** What a turn costs beside the model: the whole way in and out, with the message and the turn's rows on disk. */

import type { Bench, BenchContext } from "./support/bench.ts";
import { startModel } from "./support/model.ts";
import { BACKENDS, type Backend, deploy, messageText, TurnClient, withNode } from "./support/node.ts";

const WARM_UP = 100;
const TURNS = 200;
/** Messages of one conversation. */
const LENGTH = 20;
const SESSIONS = 20;
const ROUNDS = 20;
const WARM_UP_ROUNDS = 4;

export const bench: Bench = {
  about: "from sending a message to the first text over server-sent events, with a model that answers at once",
  async run(context) {
    const model = await startModel(context);
    for (const backend of BACKENDS) {
      const deployment = await deploy(context, backend, model);
      await withNode(deployment, async (node) => {
        const client = new TurnClient(node, context.signal);
        try {
          await oneByOne(context, backend, client);
          await sideBySide(context, backend, client);
        } finally {
          client.close();
        }
      });
    }
  },
};

async function oneByOne(context: BenchContext, backend: Backend, client: TurnClient): Promise<void> {
  const turn = (n: number) => client.firstText(`serial-${Math.floor(n / LENGTH)}`, messageText(n));
  for (let n = 0; n < WARM_UP; n += 1) await turn(n);
  context.begin();
  const times: number[] = [];
  for (let n = WARM_UP; n < WARM_UP + TURNS; n += 1) times.push(await turn(n));
  const goal = { of: "p50", atMost: 15 } as const;
  context.samples(
    { name: `first text, one after the other, ${backend}`, unit: "ms", ...(backend === "postgres" ? { goal } : {}) },
    times,
  );
}

/** All sessions send at the same instant, and again when all of them have their replies. */
async function sideBySide(context: BenchContext, backend: Backend, client: TurnClient): Promise<void> {
  const sessions = Array.from({ length: SESSIONS }, (_, n) => `session-${n}`);
  const round = (n: number) => Promise.all(sessions.map((name, at) => client.firstText(name, messageText(n + at))));
  for (let n = 0; n < WARM_UP_ROUNDS; n += 1) await round(n);
  context.begin();
  const times: number[] = [];
  for (let n = WARM_UP_ROUNDS; n < WARM_UP_ROUNDS + ROUNDS; n += 1) times.push(...(await round(n)));
  const goal = { of: "p95", atMost: 40 } as const;
  const name = `first text, ${SESSIONS} sessions at once, ${backend}`;
  context.samples({ name, unit: "ms", ...(backend === "postgres" ? { goal } : {}) }, times);
}
