/** A run that changes the stack: under the operator's lock, after what a killed one has left is settled, with copies of the state. */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import { pendingOf } from "../engine/checkpoint.ts";
import { copyState } from "../state/copies.ts";
import { describeHolder, type Identity, type OperatorLock, takeLock } from "../state/operator-lock.ts";
import { ensurePassphrase } from "../state/passphrase.ts";
import { clearEngineLocks } from "./engine-locks.ts";
import { refuseWithoutRoom } from "./full-disk.ts";
import { withNextCommand } from "./next-command.ts";
import { reconcileInterrupted } from "./pending.ts";
import { withFleetLease } from "./roll/fleet-lease.ts";
import type { Session } from "./session.ts";
import { keepUnanswered } from "./unanswered.ts";

/** Poll interval for a lock that the engine is about to release, in milliseconds. */
const LOCK_PAUSE_MS = 100;

/**
 * Runs `work` while no other command may change the stack. INFRA_LOCKED names the holder of the lock, or an engine of a killed
 * command that is still at work. The state is copied aside before and after. `leased`: whether the fleet's lease is held, too; a
 * rollout through the database takes it itself.
 */
export async function withOperatorLock<T>(
  session: Session,
  command: string,
  work: (session: Session) => Promise<T>,
  { leased = true }: { readonly leased?: boolean } = {},
): Promise<T> {
  try {
    return await withLock(session, command, () => (leased ? withFleetLease(session, work) : work(session)));
  } catch (error) {
    throw await withNextCommand(session, command, error);
  }
}

async function withLock<T>(session: Session, command: string, work: () => Promise<T>): Promise<T> {
  const { run, files, project, engine } = session;
  const { services } = run;
  await refuseWithoutRoom(files, await engine.state().catch(() => null));
  await ensurePassphrase(files, project.plan.stack);
  const identity = await services.identity();
  const lock = await takeLock(files.lock, command, identity, services.now());
  if (lock.interrupted !== null) await takeOver(session, lock, identity);
  await engine.removeBrokenLocks();
  const [other] = await engine.locks();
  if (other) {
    await lock.release();
    throw new InfraError(
      "INFRA_LOCKED",
      `The stack is locked by ${other.user}@${other.host} (process ${other.pid}, since ${other.started_at}).`,
      { hint: "Wait until it is done. If that process is gone, run `cairn infra unlock`." },
    );
  }
  try {
    await copyState(files, await session.state(), `before-${command}`, services.now());
    return await work();
  } finally {
    await finish(session, lock, command);
  }
}

/** The system has freed the lock of a process of this machine that has ended: what its engine left is settled as by `unlock`. */
async function takeOver(session: Session, lock: OperatorLock, identity: Identity): Promise<void> {
  const { interrupted } = lock;
  if (interrupted === null) return;
  try {
    session.warn(
      `An earlier run was killed before it was done: ${describeHolder(interrupted)}. What it left is reconciled first.`,
    );
    await clearEngineLocks(session, identity, { force: false });
    await session.engine.removeBrokenLocks();
    await reconcileInterrupted(session);
  } catch (error) {
    // The file's content again, for the next command.
    await lock.restore(interrupted);
    await lock.abandon();
    throw error;
  }
}

/** A run that was cut off in the middle keeps its record: what it began is for `unlock` to settle. */
async function finish({ run, files, engine, unanswered }: Session, lock: OperatorLock, command: string): Promise<void> {
  const { services } = run;
  const waiting = new AbortController();
  // The engine releases its lock a moment after its last event.
  for (let tries = 0; tries < 20 && (await engine.locks()).length > 0; tries++) {
    await services.sleep(LOCK_PAUSE_MS, waiting.signal);
  }
  const state = await engine.state().catch(() => null);
  const open = (await engine.locks()).length > 0 || pendingOf(state).length > 0;
  await copyState(files, state, `after-${command}`, services.now()).catch(() => null);
  // What failed is worth more: the disk may be full.
  await keepUnanswered(files, state, unanswered.all()).catch(() => undefined);
  if (open) await lock.abandon();
  else await lock.release();
}
