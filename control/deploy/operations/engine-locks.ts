/** Locks that the engine of a killed command has left: it is waited for while it lives, and they are removed when it does not. */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import { isAlive } from "../../service/processes.ts";
import type { EngineLock } from "../engine/engine.ts";
import { localFolder } from "../engine/folder-backend.ts";
import type { Holder } from "../schemas.ts";
import type { Identity } from "../state/operator-lock.ts";
import type { Session } from "./session.ts";

/** Milliseconds that an engine whose operator was killed gets to end its current step, and the poll interval. */
const ENGINE_ENDS_MS = 60_000;
const POLL_MS = 250;

type LockedStack = Pick<Session, "engine" | "run" | "report">;

/** Of a command that was killed. `force`: holders on other hosts are taken for dead. INFRA_LOCKED for an engine that is at work. */
export async function clearEngineLocks(
  session: LockedStack,
  identity: Pick<Identity, "host">,
  { force }: { readonly force: boolean },
): Promise<Holder[]> {
  const { engine } = session;
  const found = await engine.locks();
  // Where no folder has them they are not seen; --force says that no other process is at work.
  if (force && localFolder(engine.backend) === null) await engine.cancel();
  if (found.length === 0) return [];
  for (const lock of found) {
    if (lock.host === identity.host) await untilGone(session, lock);
    else if (!force) {
      throw new InfraError("INFRA_LOCKED", `The stack is locked by ${named(lock)}, on another host.`, {
        hint: `If that host will never finish it, run \`cairn infra unlock --force ${engine.stack}\`.`,
      });
    }
  }
  // Engines that ended by themselves have given theirs back.
  if ((await engine.locks()).length > 0) await engine.cancel();
  return found.map(({ user, host, pid, started_at }) => ({ user, host, pid, started_at, command: "pulumi" }));
}

/** An engine outlives the command that started it until its current step is done; then it gives the lock back itself. */
async function untilGone({ run, report }: LockedStack, lock: EngineLock): Promise<void> {
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
