/** The queues as a node reports them. */

import { withoutDatabase } from "../../context/node.ts";
import type { ProbeContext } from "../../context/probe-context.ts";

export interface QueueState {
  readonly queue: string;
  readonly waiting: number;
  readonly failed: number;
  readonly last_error: string | null;
  /** Null where none waits, or where the node does not report it. */
  readonly oldest_waiting_ms: number | null;
}

/** Unavailable without a node that answers. A node of another version may report more, or less. */
export async function queueStates(context: ProbeContext): Promise<readonly QueueState[]> {
  const { queues, memory } = await context.health();
  // Without its database the node knows of no queue, which is not the same as empty ones.
  if (memory["reachable"] === false) throw withoutDatabase();
  return queues.flatMap(({ queue, waiting, failed, last_error, oldest_waiting_ms }) =>
    typeof queue === "string"
      ? [
          {
            queue,
            waiting: count(waiting),
            failed: count(failed),
            last_error: typeof last_error === "string" ? last_error : null,
            oldest_waiting_ms: typeof oldest_waiting_ms === "number" ? oldest_waiting_ms : null,
          },
        ]
      : [],
  );
}

function count(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
