/** `infra refresh`: compares what is recorded with what is there, and records it unless it is only to be shown. */

import type { RefreshResult } from "../schemas.ts";
import { reconcileInterrupted } from "./pending.ts";
import type { OperationInput } from "./services.ts";
import { openSession, type Session, withOperatorLock } from "./session.ts";

export interface RefreshOptions {
  /** Show alone. */
  readonly preview: boolean;
}

export async function refresh(run: OperationInput, { preview }: RefreshOptions): Promise<RefreshResult> {
  const session = await openSession(run);
  if (preview) return compare(session, false);
  return withOperatorLock(session, "refresh", async () => {
    await reconcileInterrupted(session);
    return compare(session, true);
  });
}

async function compare(session: Session, apply: boolean): Promise<RefreshResult> {
  const { engine, driver, run, project } = session;
  const drift = [...(await driver.drift(run.signal))];
  if ((await session.state()) === null) {
    const summary = { create: 0, update: 0, replace: 0, delete: 0, import: 0, same: 0 };
    const { stack, target } = project.plan;
    return { schema: 1, stack, target, summary, changes: [], applied: apply, drift };
  }
  session.phase("refresh", "Asking the target");
  const diff = await engine.refresh({ ...session.engineRun(), apply });
  return { ...diff, applied: apply, drift };
}
