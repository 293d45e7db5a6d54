/** A steady load of turns on a fleet: each message is sent to one node after the other, under its key, until its turn has ended. */

import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { until } from "./eventually.ts";
import type { NodeProcess } from "./node-process.ts";

/** A node of the fleet, which may be another process later. */
export interface FleetNode {
  node: NodeProcess;
}

export interface Sent {
  /** Messages whose turn has ended with an answer, each by its key. */
  readonly answered: readonly string[];
  /** Those whose turn has ended otherwise, with the reason. */
  readonly failed: readonly string[];
}

export interface TurnLoad {
  /** Resolves after so many more answers. */
  answered(more: number): Promise<void>;
  /** Resolves when what was begun has ended. */
  stop(): Promise<Sent>;
}

const AGENTS = ["one", "two", "three"] as const;
const PAUSE_MS = 100;
const REQUEST_MS = 60_000;

type Answer =
  | { readonly ok: true; readonly result: { readonly text: string; readonly interrupted: boolean } }
  | { readonly ok: false; readonly error: { readonly message: string; readonly turn_id?: string } };

/** Two conversations with each of three agents. */
export function loadOfTurns(places: readonly FleetNode[]): TurnLoad {
  const end = new AbortController();
  const answered: string[] = [];
  const failed: string[] = [];
  onTestFinished(() => end.abort());

  async function converse(writer: number): Promise<void> {
    const agent = AGENTS[writer % AGENTS.length];
    for (let n = 0; !end.signal.aborted; n += 1) {
      const key = `load-${writer}-${n}`;
      for (let turn = writer + n; ; turn += 1) {
        const node = places[turn % places.length]?.node;
        const answer = await node
          ?.request(`/api/agents/${agent}/messages`, {
            json: { session: `load-${writer}`, text: `[${key}] How are you?` },
            headers: { "idempotency-key": key },
            signal: AbortSignal.timeout(REQUEST_MS),
          })
          // 202: the node stops, and the turn goes on elsewhere.
          .then(async (response) => (response.status === 202 ? undefined : ((await response.json()) as Answer)))
          // A node that has gone: another one may have the message.
          .catch(() => undefined);
        if (answer?.ok) {
          const { text, interrupted } = answer.result;
          if (interrupted || !text.includes(`[${key}]`)) failed.push(`${key}: ${text}`);
          else answered.push(key);
          break;
        }
        if (answer?.error.turn_id !== undefined) {
          failed.push(`${key}: ${answer.error.message}`);
          break;
        }
        await sleep(PAUSE_MS);
      }
      await sleep(PAUSE_MS);
    }
  }

  const running = Promise.all([0, 1, 2, 3, 4, 5].map(converse));
  running.catch(() => undefined);
  return {
    async answered(more) {
      const wanted = answered.length + more;
      await until(() => answered.length >= wanted);
    },
    async stop() {
      end.abort();
      await running;
      return { answered, failed };
    },
  };
}
