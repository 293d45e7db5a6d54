/** `infra unlock`: removes the locks of a run that was killed, and reconciles what it left unfinished. */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import { UsageError } from "../../output/failure.ts";
import { isAlive } from "../../service/processes.ts";
import { resourcesOf } from "../engine/checkpoint.ts";
import type { EngineLock } from "../engine/engine.ts";
import type { Holder, PendingOutcome, UnlockResult } from "../schemas.ts";
import { readCopy } from "../state/copies.ts";
import { type Identity, inspectLock, lockedBy, publicHolder, takeLock } from "../state/operator-lock.ts";
import { refuseWithoutRoom } from "./full-disk.ts";
import { reconcileInterrupted } from "./pending.ts";
import type { OperationInput } from "./services.ts";
import { openSession, type Session } from "./session.ts";

/** Milliseconds that an engine whose operator was killed gets to end its current step, and the poll interval. */
const ENGINE_ENDS_MS = 60_000;
const POLL_MS = 250;

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
  cleared.push(...(await clearEngineLocks(session, identity, force)));

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

async function clearEngineLocks(session: Session, identity: Identity, force: boolean): Promise<Holder[]> {
  const { engine } = session;
  const found = await engine.locks();
  if (found.length === 0) return [];
  for (const lock of found) {
    if (lock.host === identity.host) await untilGone(session, lock);
    else if (!force) {
      throw new InfraError("INFRA_LOCKED", `The stack is locked by ${named(lock)}, on another host.`, {
        hint: `If that host will never finish it, run \`cairn infra unlock --force ${session.project.plan.stack}\`.`,
      });
    }
  }
  // Engines that ended by themselves have given theirs back.
  if ((await engine.locks()).length > 0) await engine.cancel();
  return found.map(({ user, host, pid, started_at }) => ({ user, host, pid, started_at, command: "pulumi" }));
}

/** An engine outlives the command that started it until its current step is done; then it gives the lock back itself. */
async function untilGone({ run, report }: Session, lock: EngineLock): Promise<void> {
  const { services, signal } = run;
  const deadline = services.now().getTime() + ENGINE_ENDS_MS;
  let said = false;
  while (isAlive(lock.pid)) {
    if (services.now().getTime() >= deadline) {
      throw new InfraError("INFRA_LOCKED", `The engine is still at work: ${named(lock)}.`, {
        hint: `Wait until it is done. To end it in the middle of its step: kill ${lock.pid}.`,
      });
    }
    if (!said) report(`Waiting for the engine to end its step: ${named(lock)}`);
    said = true;
    await services.sleep(POLL_MS, signal);
  }
}

function named({ user, host, pid, started_at }: EngineLock): string {
  return `${user}@${host} (process ${pid}, since ${started_at})`;
}
