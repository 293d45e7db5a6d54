/** What a turn costs beside the model: the whole way in and out, with the message and the turn's rows on disk. */

import { setTimeout as sleep } from "node:timers/promises";
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
const MESSAGES_EACH = 15;
/** Between a reply and the session's next message: from half of it to one and a half. */
const PAUSE_MS = 1_000;

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
          await conversing(context, backend, client);
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

/** All sessions are in the middle of a conversation, each at its own pace: some twenty messages a second. */
async function conversing(context: BenchContext, backend: Backend, client: TurnClient): Promise<void> {
  const times: number[] = [];
  const converse = async (session: number): Promise<void> => {
    for (let n = 0; n < MESSAGES_EACH; n += 1) {
      const share = ((session * 31 + n * 17) % 100) / 100;
      await sleep(PAUSE_MS * (0.5 + share), undefined, { signal: context.signal });
      times.push(await client.firstText(`session-${session}`, messageText(session + n)));
    }
  };
  context.begin();
  await Promise.all(Array.from({ length: SESSIONS }, (_, session) => converse(session)));
  context.samples({ name: `first text, ${SESSIONS} sessions, a message a second each, ${backend}`, unit: "ms" }, times);
}
