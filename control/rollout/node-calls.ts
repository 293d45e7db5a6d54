/** What drivers ask of a node's HTTP interface, whatever leads to it. */

import type { Client, Health } from "../../runtime/client/index.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import type { FencingToken } from "./contracts.ts";
import type { FleetDoor } from "./fleet-database.ts";

/** Milliseconds that a node gets to say how it is, and how often it is asked: one that is busy may be slow. */
const ANSWER_MS = 5_000;
const TRIES = 3;
const PAUSE_MS = 1_000;
/** Milliseconds beyond the time that a node gives its turns. */
const MARGIN_MS = 60_000;

export type Call = FleetDoor["call"];

/** Rejects with the last error. */
export async function healthOf(
  call: Call,
  sleep: (ms: number, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<Health & { readonly ready: boolean }> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(signal, async (client) => {
        const options = { signal, timeoutMs: ANSWER_MS };
        return { ...(await client.health(options)), ready: await client.ready(options) };
      });
    } catch (error) {
      signal.throwIfAborted();
      if (attempt === TRIES) throw error;
      await sleep(PAUSE_MS, signal);
    }
  }
}

export interface Drain {
  readonly token: FencingToken;
  /** Milliseconds after which the node serves again by itself. */
  readonly holdMs: number;
  /** Seconds that the node gives its turns. */
  readonly stopTimeoutS: number;
  /** Hears of a node that answers and cannot be drained: it takes nothing then, and its stop lets the turns end as well. */
  readonly warn: (message: string) => void;
}

/** INFRA_LOCKED, INFRA_HOST_UNREACHABLE. */
export async function drainNode(
  { name, call }: FleetDoor,
  { token, holdMs, stopTimeoutS, warn }: Drain,
  signal: AbortSignal,
): Promise<void> {
  const drain = (client: Client): Promise<void> =>
    client.drain({
      lease: token.lease,
      wait: true,
      resumeAfterS: holdMs / 1_000,
      signal,
      timeoutMs: stopTimeoutS * 1_000 + MARGIN_MS,
    });
  await call(signal, drain).catch((error: unknown) => {
    signal.throwIfAborted();
    if (codeOf(error) === "INFRA_LOCKED" || codeOf(error) === "INFRA_HOST_UNREACHABLE") throw error;
    warn(`${name} could not be drained: ${error instanceof Error ? error.message : String(error)}`);
  });
}
