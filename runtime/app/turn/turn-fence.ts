/** The turn's row at its epoch, read in every transaction of its runner: after its lease has ended a runner writes nothing. */

import type { Queryable } from "../../contracts/database.ts";
import { RuntimeError } from "../../contracts/errors.ts";
import type { Fence } from "./turn-rows.ts";

/** Between nodes: `queued` wakes the host of an agent, `abort:<turn>` its runner, `released` those who may host one now. */
export const TURN_CHANNEL = "cairn_turns";

export function leaseLost(fence: Fence): RuntimeError {
  return new RuntimeError("RUNTIME_LEASE_LOST", "Another runner has taken this turn over.", { turnId: fence.turnId });
}

export async function assertFence(tx: Queryable, fence: Fence): Promise<void> {
  const { count } = await tx.query(
    "/* turn:fence */ select 1 from turns where id = $1 and epoch = $2 and state = 'running' for share",
    [fence.turnId, fence.epoch],
  );
  if (count === 0) throw leaseLost(fence);
}

/**
 * SQL over a running turn's row: /stop was asked for elsewhere, or /interrupt has put a turn ahead of one that was being claimed just
 * then. The condition on all three states is that of the index turns_open.
 */
export function isToStop(turn: string): string {
  return `(${turn}.abort_requested or exists (
    select 1 from turns ahead where ahead.session_key = ${turn}.session_key and ahead.priority > ${turn}.priority
      and ahead.state in ('queued', 'running', 'waiting') and ahead.state = 'queued'))`;
}
