/** Turns on every node of a fleet at a steady pace, each sent until it is answered, and how many nodes serve meanwhile. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "../../runtime/client/index.ts";

export interface LoadReport {
  /** Messages, each sent with one key until it was answered. */
  readonly sent: number;
  readonly answered: number;
  /** Requests that were not answered in their time, and sent again with the same key. */
  readonly late: number;
  /** The fewest nodes that served at once. */
  readonly fewest: number;
  /** Node to the longest time that it did not serve, in milliseconds. */
  readonly longest: Readonly<Record<string, number>>;
  /** Each time that a node did not serve. */
  readonly downtimes: readonly Downtime[];
}

/** Milliseconds on the clock of `performance.now()`. */
export interface Downtime {
  readonly node: string;
  readonly from: number;
  readonly until: number;
}

/** For the log of a run. */
export function summaryOf({ downtimes: _, ...summary }: LoadReport): string {
  return JSON.stringify(summary);
}

export interface Load {
  stop(): Promise<LoadReport>;
}

/** Milliseconds between two messages of a sender, until one is given up, and between two looks at who serves. */
const PAUSE_MS = 200;
const GIVEN_UP_MS = 300_000;
const POLL_MS = 100;
/** Milliseconds for one request: behind a load balancer the way to a pod that has gone may be silent for good. */
const ANSWER_MS = 30_000;

/** `urls`: of each node by its name. Two senders a node, each with a session of its own. */
export function startLoad(urls: Readonly<Record<string, string>>, token: string): Load {
  const stopping = new AbortController();
  const nodes = Object.entries(urls).map(([name, baseUrl]) => ({
    name,
    baseUrl,
    client: createClient({ baseUrl, token }),
  }));
  let sent = 0;
  let answered = 0;
  let late = 0;

  async function answer(first: number, session: string): Promise<void> {
    const idempotencyKey = randomUUID();
    const until = performance.now() + GIVEN_UP_MS;
    sent++;
    for (let at = first; performance.now() < until; at++) {
      const signal = AbortSignal.timeout(ANSWER_MS);
      const text = await nodes[at % nodes.length]?.client
        .send("main", { session, text: `Remember the word ${idempotencyKey}.` }, { idempotencyKey, signal })
        .then(
          (reply) => reply.text,
          () => null,
        );
      if (signal.aborted && text == null) late++;
      if (text != null) {
        answered++;
        return;
      }
      await sleep(PAUSE_MS);
    }
  }

  async function sender(first: number, session: string): Promise<void> {
    while (!stopping.signal.aborted) {
      await answer(first, session);
      await sleep(PAUSE_MS);
    }
  }

  let fewest = nodes.length;
  const downSince = new Map<string, number>();
  const downtimes: Downtime[] = [];
  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      const ready = await Promise.all(nodes.map(({ baseUrl }) => serves(baseUrl)));
      const now = performance.now();
      fewest = Math.min(fewest, ready.filter(Boolean).length);
      for (const [index, { name }] of nodes.entries()) {
        const from = downSince.get(name);
        if (!ready[index]) downSince.set(name, from ?? now);
        else if (downSince.delete(name)) downtimes.push({ node: name, from: from ?? now, until: now });
      }
      await sleep(POLL_MS);
    }
  }

  const work = [
    watch(),
    ...nodes.flatMap(({ name }, index) => [sender(index, `${name} 1`), sender(index, `${name} 2`)]),
  ];
  return {
    async stop() {
      stopping.abort();
      await Promise.all(work);
      const until = performance.now();
      for (const [node, from] of downSince) downtimes.push({ node, from, until });
      const longest: Record<string, number> = Object.fromEntries(nodes.map(({ name }) => [name, 0]));
      for (const { node, from, until } of downtimes) longest[node] = Math.max(longest[node] ?? 0, until - from);
      return { sent, answered, late, fewest, longest, downtimes };
    },
  };
}

/** Asked twice: one answer that is late says nothing. */
async function serves(baseUrl: string): Promise<boolean> {
  const ask = async (): Promise<boolean> => {
    const answer = await fetch(new URL("/health/ready", baseUrl), { signal: AbortSignal.timeout(2_000) });
    await answer.body?.cancel();
    return answer.ok;
  };
  return (await ask().catch(() => false)) || (await ask().catch(() => false));
}
