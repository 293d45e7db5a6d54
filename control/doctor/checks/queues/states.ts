/** The queues as a node tells them. */

import type { Scene } from "../../scene/scene.ts";

export interface QueueState {
  readonly queue: string;
  readonly waiting: number;
  readonly failed: number;
  readonly lastError: string | null;
  /** Null where none waits, or where the node does not tell. */
  readonly oldestWaitingMs: number | null;
}

/** Unavailable without a node that answers. A node of another version may tell more, or less. */
export async function queueStates(scene: Scene): Promise<readonly QueueState[]> {
  const { queues } = await scene.health();
  return queues.flatMap(({ queue, waiting, failed, lastError, oldestWaitingMs }) =>
    typeof queue === "string"
      ? [
          {
            queue,
            waiting: count(waiting),
            failed: count(failed),
            lastError: typeof lastError === "string" ? lastError : null,
            oldestWaitingMs: typeof oldestWaitingMs === "number" ? oldestWaitingMs : null,
          },
        ]
      : [],
  );
}

function count(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
