/** The last of a node whose data are gone as well: the numbers of rollouts that its host has kept. */

import type { TargetDriver } from "../driver.ts";
import type { Session } from "./session.ts";

/** A host that does not answer keeps a few bytes, which is no failure. */
export async function forgetFence(
  { run, warn }: Session,
  driver: Pick<TargetDriver, "forgetFence">,
  node: string,
): Promise<void> {
  await driver.forgetFence?.(node, run.signal).catch((error: unknown) => {
    run.signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    warn(`The numbers of rollouts of ${node} stay on its host (~/.local/state/cairn/fences): ${why}`);
  });
}
