/** `infra unlock`: removes the locks of a run that was killed, and reconciles what it left unfinished. */

import { UsageError } from "../../output/failure.ts";
import { resourcesOf } from "../engine/checkpoint.ts";
import type { Holder, PendingOutcome, UnlockResult } from "../schemas.ts";
import { readCopy } from "../state/copies.ts";
import { inspectLock, lockedBy, publicHolder, takeLock } from "../state/operator-lock.ts";
import { clearEngineLocks } from "./engine-locks.ts";
import { refuseWithoutRoom } from "./full-disk.ts";
import { reconcileInterrupted } from "./pending.ts";
import type { OperationInput } from "./services.ts";
import { openSession } from "./session.ts";

export interface UnlockOptions {
  /** The stack's name: a holder on another host is taken for dead. */
  readonly force: string | undefined;
  /** Put a copy of the state back. */
  readonly restoreState: boolean;
  /** Which one; the newest that can be read when absent. */
  readonly copy: string | undefined;
}

/** INFRA_LOCKED names a holder that is alive, or that is on another host. */
export async function unlock(run: OperationInput, options: UnlockOptions): Promise<UnlockResult> {
  if (options.copy !== undefined && !options.restoreState) throw new UsageError("--copy belongs to --restore-state.");
  const session = await openSession(run);
  const { files, engine, project } = session;
  const { stack } = project.plan;
  const { services } = run;
  if (options.force !== undefined && options.force !== stack) {
    throw new UsageError(`${options.force} is not the stack's name.`, `To force it, name the stack: --force ${stack}.`);
  }
  const identity = await services.identity();
  const force = options.force !== undefined;
  const before = await inspectLock(files.lock, identity);
  if (before.state === "held") throw lockedBy(before.holder, identity);
  if (before.state === "elsewhere" && !force) throw lockedBy(before.holder, identity);
  const cleared: Holder[] = before.state === "free" ? [] : [publicHolder(before.holder)];
  cleared.push(...(await clearEngineLocks(session, identity, { force })));

  await engine.removeBrokenLocks();
  const lock = await takeLock(files.lock, "unlock", identity, services.now(), { takeOver: force });
  let done = false;
  try {
    let restored: string | null = null;
    if (options.restoreState) {
      const { copy, state } = await readCopy(files, options.copy ?? null);
      await refuseWithoutRoom(files, state);
      await engine.restoreState(state);
      restored = copy.name;
      await session.driver.removeUnrecorded?.(resourcesOf(state), session.report, run.signal);
    }
    const pending: readonly PendingOutcome[] = await reconcileInterrupted(session);
    done = true;
    return { schema: 1, stack, cleared, pending: [...pending], restored };
  } finally {
    if (!done && lock.interrupted !== null) await lock.restore(lock.interrupted);
    if (done || lock.interrupted === null) await lock.release();
    else await lock.abandon();
  }
}
