/**
 * The fleet's lease for runs that have no fences and no journal there, such as `up --roll`: no rollout of another machine is at work
 * beside them. They may stop the database in their middle, so that a lease which expired meanwhile is taken again.
 */

import { v5 as uuidv5 } from "uuid";
import { codeOf } from "../../../../runtime/contracts/system-errors.ts";
import type { FleetLease } from "../../../rollout/contracts.ts";
import type { FleetDatabase } from "../../../rollout/fleet-database.ts";
import { holderOf } from "../../../rollout/open-fleet.ts";
import { type Identity, UNKNOWN_BOOT } from "../../state/operator-lock.ts";
import type { Session } from "../session.ts";
import { fleetDatabase } from "./fleet-doors.ts";
import { membersOf } from "./members.ts";

/** Namespace of ids (RFC 9562), made up once. */
const IDS = "5a0e2f0c-6f0d-4f0e-9a59-3c8a1f6f7f52";
/** Milliseconds between renewals. */
const RENEW_MS = 10_000;

/**
 * INFRA_LOCKED, naming who has it; once it is lost the signal of the session that `work` is given aborts with that. Where no node runs,
 * or none answers, there is no lease to be had: then this machine's lock alone counts.
 */
export async function withFleetLease<T>(session: Session, work: (session: Session) => Promise<T>): Promise<T> {
  const { run, project, driver } = session;
  const { services } = run;
  const names = project.plan.nodes.map(({ name }) => name);
  if (membersOf(driver, names).length < 2 || (await session.state()) === null) return work(session);
  const seen = await driver.observe(run.signal).catch(() => []);
  run.signal.throwIfAborted();
  const running = seen.filter(({ state }) => state === "running").map(({ name }) => name);
  if (running.length === 0) return work(session);
  const identity = await services.identity();
  const database = fleetDatabase(session, running, idOf(identity, run.dir));
  const holder = holderOf(identity);
  const grant = await database.lease.acquire(holder, run.signal).catch((error: unknown) => {
    run.signal.throwIfAborted();
    if (codeOf(error) === "INFRA_LOCKED") throw error;
    const why = error instanceof Error ? error.message : String(error);
    session.report(`Whether another machine changes the fleet is not known: ${why}`);
    return null;
  });
  if (grant === null) return work(session);
  await warnOfInterrupted(session, database);
  const stopped = new AbortController();
  const lost = new AbortController();
  const kept = keep(database.lease, {
    holder,
    number: grant.number,
    sleep: services.sleep,
    stopped: stopped.signal,
    lost,
  });
  try {
    return await work(within(session, AbortSignal.any([run.signal, lost.signal])));
  } finally {
    stopped.abort();
    const number = await kept;
    if (!lost.signal.aborted) await database.lease.release(number).catch(() => undefined);
  }
}

/**
 * One for all commands of a directory on this boot of this machine, of which the operator's lock lets one run at a time: what a command
 * that was killed, or that lost the host, could not give back is the next one's at once. Undefined where the boot is not known: by the
 * names alone two machines could be taken for one.
 */
function idOf({ host, boot, user }: Identity, dir: string): string | undefined {
  if (boot === UNKNOWN_BOOT) return undefined;
  return uuidv5([host, boot, user, dir].join("\0"), IDS);
}

/** It would find nodes with neither of its images, and end at once. */
async function warnOfInterrupted({ run, warn }: Session, { journal }: FleetDatabase): Promise<void> {
  const last = await journal.read(run.signal).catch(() => null);
  run.signal.throwIfAborted();
  if (last === null || last.end !== null) return;
  warn(`The rollout of ${last.startedAt} was interrupted: \`cairn update --mesh --resume\` would go on with it.`);
}

interface Keeping {
  readonly holder: string;
  readonly number: number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly stopped: AbortSignal;
  readonly lost: AbortController;
}

/** Until it is stopped, or lost. Resolves with the number of the lease by then. Never rejects. */
async function keep(lease: FleetLease, { holder, number, sleep, stopped, lost }: Keeping): Promise<number> {
  let held = number;
  while (!stopped.aborted && !lost.signal.aborted) {
    await sleep(RENEW_MS, stopped).catch(() => undefined);
    if (stopped.aborted) break;
    try {
      await lease.renew(held, stopped);
    } catch (error) {
      // Without an answer it is asked again; the database may be starting anew.
      if (codeOf(error) !== "INFRA_LOCKED") continue;
      held = await lease.acquire(holder, stopped).then(
        (grant) => grant.number,
        (refused: unknown) => {
          if (codeOf(refused) === "INFRA_LOCKED") lost.abort(refused);
          return held;
        },
      );
    }
  }
  return held;
}

function within(session: Session, signal: AbortSignal): Session {
  return { ...session, run: { ...session.run, signal }, engineRun: (own) => session.engineRun(own ?? signal) };
}
