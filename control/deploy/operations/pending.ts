/** Reconciles the unfinished operations of an interrupted run with what exists on the target: no duplicates, no orphans. */

import { CairnError } from "../../../runtime/contracts/errors.ts";
import { pendingOf, resolvePending } from "../engine/checkpoint.ts";
import type { PendingOutcome } from "../schemas.ts";
import type { Session } from "./session.ts";
import { removeUnanswered } from "./unanswered.ts";

/**
 * Resources whose creation was cut off are searched on the target: those that exist are recorded, the others dropped.
 * Where the target does not answer everything is left as it is, for the next run.
 */
export async function reconcileInterrupted(session: Session): Promise<readonly PendingOutcome[]> {
  const { engine, driver, run } = session;
  const state = await session.state();
  const pending = pendingOf(state);
  try {
    await removeUnanswered(session, state);
  } catch (error) {
    if (!(error instanceof CairnError)) throw error;
    session.warn(`What an earlier run was not answered is left as it is: ${error.message}`);
  }
  if (state === null || pending.length === 0) return [];
  session.phase(
    "recover",
    `Settling ${pending.length} interrupted ${pending.length === 1 ? "operation" : "operations"}`,
  );
  const found = new Map<string, string>();
  try {
    for (const { urn, type, name, operation } of pending) {
      if (operation !== "creating") continue;
      const id = await driver.findInterrupted(type, name, run.signal);
      if (id !== null) found.set(urn, id);
    }
  } catch (error) {
    if (!(error instanceof CairnError)) throw error;
    session.warn(`The target does not answer, so interrupted operations are left as they are: ${error.message}`);
    return pending.map((one) => ({ ...one, outcome: "left" }));
  }
  await engine.replaceState(resolvePending(state, found));
  // The provider reads the resource's actual properties; its inputs may differ.
  if (found.size > 0) await engine.refresh({ ...session.engineRun(), targets: [...found.keys()] });
  return pending.map((one) => ({ ...one, outcome: found.has(one.urn) ? "taken-over" : "cleared" }));
}
