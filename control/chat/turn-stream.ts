/** One turn, from the message to its final event. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Client, FollowOptions } from "../../runtime/client/index.ts";
import { CairnError } from "../../runtime/contracts/errors.ts";
import type { StreamEvent } from "../../runtime/contracts/stream.ts";

export type ChatNode = Pick<Client, "stream" | "follow" | "command">;

export interface Conversation {
  readonly agent: string;
  readonly session: string;
}

/** A message to send, or a turn that is under way already. The same key is the same message, however often it is sent. */
export type TurnStart = { readonly text: string; readonly key: string } | { readonly turnId: string };

/** Told how the way to the node is while a turn is followed. */
export interface TurnWatch {
  readonly onConnection?: FollowOptions["onConnection"];
  /**
   * Told before each pause in which a message waits that could not be handed over. A message whose wait is watched is tried
   * for three minutes, also where nothing listens: longer than a node takes to finish its turns and to start again.
   */
  readonly onWaiting?: (error: CairnError) => void;
}

/** Milliseconds before each further try to hand the message over. */
const PAUSES_MS = [250, 1_000, 3_000];
const PATIENT_PAUSES_MS = [250, 1_000, ...Array<number>(90).fill(2_000)];

/**
 * Ends after `turn.finished` or `turn.failed`; the client takes up a connection that breaks in between. A message that was
 * not accepted because the node is restarting, or of which that is not known because the connection broke before the node
 * answered, is sent again under its key. Rejects with what the last try met.
 */
export async function* streamTurn(
  node: ChatNode,
  { agent, session }: Conversation,
  start: TurnStart,
  signal: AbortSignal,
  { onConnection, onWaiting }: TurnWatch = {},
): AsyncGenerator<StreamEvent> {
  const following = { signal, ...(onConnection && { onConnection }) };
  if ("turnId" in start) {
    yield* node.follow(agent, start.turnId, following);
    return;
  }
  const pauses = onWaiting ? PATIENT_PAUSES_MS : PAUSES_MS;
  for (let attempt = 0; ; attempt++) {
    let heard = false;
    try {
      for await (const event of node.stream(
        agent,
        { session, text: start.text },
        { idempotencyKey: start.key, ...following },
      )) {
        heard = true;
        yield event;
      }
      return;
    } catch (error) {
      const pause = pauses[attempt];
      if (heard || pause === undefined || !mayBeSentAgain(error, onWaiting !== undefined)) throw error;
      onWaiting?.(error);
      await sleep(pause, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

const UNREACHABLE: ReadonlySet<string> = new Set([
  "CHANNEL_CONNECTION_LOST",
  "RUNTIME_DRAINING",
  "RUNTIME_NOT_READY",
  "RUNTIME_NOT_RUNNING",
]);

/** With a turn's id the message was accepted: then the client has tried long enough. */
function mayBeSentAgain(error: unknown, patient: boolean): error is CairnError {
  if (!isUnreachableError(error) || error.details.turnId !== undefined) return false;
  return patient || error.code !== "RUNTIME_NOT_RUNNING";
}

/** Whether the node could not be reached, or takes nothing now: it may be back in a moment. */
export function isUnreachableError(error: unknown): error is CairnError {
  return error instanceof CairnError && UNREACHABLE.has(error.code);
}
