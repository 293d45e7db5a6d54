/** One turn, from the message to its final event. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../runtime/client/index.ts";
import { CairnError } from "../../runtime/contracts/errors.ts";
import type { StreamEvent } from "../../runtime/contracts/stream.ts";

export type ChatNode = Pick<Client, "stream" | "follow" | "command">;

export interface Conversation {
  readonly agent: string;
  readonly session: string;
}

/** A message to send, or a turn that is under way already. The same key is the same message, however often it is sent. */
export type TurnStart = { readonly text: string; readonly key: string } | { readonly turnId: string };

/** Milliseconds before each further try to hand the message over. */
const PAUSES_MS = [250, 1_000, 3_000];

/**
 * Ends after `turn.finished` or `turn.failed`; the client takes up a connection that breaks in between. A message that was
 * not accepted because the node is restarting, or of which that is not known because the connection broke before the node
 * answered, is sent again under its key.
 */
export async function* streamTurn(
  node: ChatNode,
  { agent, session }: Conversation,
  start: TurnStart,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  if ("turnId" in start) {
    yield* node.follow(agent, start.turnId, { signal });
    return;
  }
  for (let attempt = 0; ; attempt++) {
    let heard = false;
    try {
      for await (const event of node.stream(
        agent,
        { session, text: start.text },
        { idempotencyKey: start.key, signal },
      )) {
        heard = true;
        yield event;
      }
      return;
    } catch (error) {
      const pause = PAUSES_MS[attempt];
      if (heard || pause === undefined || !mayBeSentAgain(error)) throw error;
      await sleep(pause, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

/** With a turn's id the message was accepted: then the client has tried long enough. */
function mayBeSentAgain(error: unknown): boolean {
  if (!(error instanceof CairnError) || error.details.turnId !== undefined) return false;
  return (
    error.code === "CHANNEL_CONNECTION_LOST" || error.code === "RUNTIME_DRAINING" || error.code === "RUNTIME_NOT_READY"
  );
}
