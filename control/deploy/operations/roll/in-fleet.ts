/**
 * A rollout of a stack whose nodes share a database: its lease and its journal are there, so that two machines do not change the fleet
 * at once, and any of them can resume.
 */

import { randomUUID } from "node:crypto";
import type { DeploymentPlan, ImageIdentity } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { UsageError } from "../../../output/failure.ts";
import type { RolloutEntry } from "../../../rollout/contracts.ts";
import { createElapsedClock } from "../../../rollout/elapsed.ts";
import type { FleetEnd } from "../../../rollout/fleet.ts";
import type { OnFailure } from "../../../rollout/fleet-steps.ts";
import {
  type Fleet,
  type FleetOptions,
  holderOf,
  openJournal,
  patient,
  refuseOptions,
} from "../../../rollout/open-fleet.ts";
import { beginRollout, resumeRollout } from "../../../rollout/rollout.ts";
import { bringBack } from "../drift.ts";
import type { Session } from "../session.ts";
import type { Preparation } from "../up-preparation.ts";
import { doorsOf, fleetDatabase } from "./fleet-doors.ts";
import { fleetNode, type InTurn } from "./fleet-node.ts";
import { membersOf, nodeOfMember } from "./members.ts";
import { imageName, type NodeRun } from "./node-change.ts";

/** INFRA_UP_REFUSED where the nodes share no database; INFRA_LOCKED, INFRA_INTERRUPTED, RUNTIME_NOT_FOUND by what is interrupted; UsageError. */
export async function openFleet(session: Session, options: FleetOptions): Promise<Fleet> {
  const names = session.project.plan.nodes.map(({ name }) => name);
  refuseOptions(names, options, membersOf(session.driver, names).length);
  await requireShared(session);
  const { services, signal } = session.run;
  const by = { holder: holderOf(await services.identity()), sleep: services.sleep };
  return openJournal(fleetDatabase(session), options, by, signal);
}

/** Milliseconds that a node gets to answer. */
const ANSWER_MS = 10_000;

async function requireShared(session: Session): Promise<void> {
  const { run, project } = session;
  let last: unknown = null;
  for (const door of doorsOf(session)) {
    try {
      const members = await door.call(run.signal, (client) =>
        client.mesh({ signal: run.signal, timeoutMs: ANSWER_MS }),
      );
      // Equal pods have their node's name, each with a key of its own.
      const count = (node: string): number => members.filter(({ name }) => name === node).length;
      const missing = project.plan.nodes
        .map(({ name }) => name)
        .filter((name) => count(name) < membersOf(session.driver, [name]).length);
      if (missing.length === 0) return;
      throw new InfraError("INFRA_UP_REFUSED", `${door.name} shares no database with ${missing.join(", ")}.`, {
        hint: "Run `cairn update` without --mesh: it changes one node after the other from this machine alone.",
      });
    } catch (error) {
      run.signal.throwIfAborted();
      if (error instanceof InfraError && error.code === "INFRA_UP_REFUSED") throw error;
      last = error;
    }
  }
  const why = last instanceof Error ? last.message : String(last);
  throw new InfraError("INFRA_HOST_UNREACHABLE", `No node of the fleet answers: ${why}`, {
    cause: last,
    hint: "See `cairn infra status`. `cairn infra up --roll` brings back nodes that have gone.",
  });
}

/** Those that are not to be the canary in the order that was planned for them, with every node of the stack. */
export function fleetOrder(
  { nodes }: DeploymentPlan,
  planned: readonly string[],
  canary: string | undefined,
): readonly string[] {
  const rest = nodes.map(({ name }) => name).filter((name) => !planned.includes(name));
  const order = [...planned, ...rest];
  return canary === undefined ? order : [canary, ...order.filter((name) => name !== canary)];
}

export interface FleetRoll {
  readonly fleet: Fleet;
  readonly onFailure: OnFailure;
  /** Nodes that differ, in the order that was planned for them. */
  readonly planned: readonly string[];
  readonly images: NodeRun["images"];
}

/** A rollout through the fleet's database, for the operation that has what any rollout of a stack needs. */
export interface FleetRollout {
  /** Errors of `openFleet`. */
  open(session: Session): Promise<Fleet>;
  /** INFRA_LOCKED, and errors of `beginRollout`; then it can be resumed. */
  run(session: Session, prepared: Preparation, roll: FleetRoll): Promise<FleetEnd>;
}

export function throughDatabase(options: FleetOptions): FleetRollout {
  return {
    open: (session) => openFleet(session, options),
    run: (session, prepared, roll) => rollInFleet(session, prepared, roll, options),
  };
}

async function rollInFleet(
  session: Session,
  prepared: Preparation,
  roll: FleetRoll,
  options: FleetOptions,
): Promise<FleetEnd> {
  const { services, signal } = session.run;
  const { fleet, onFailure } = roll;
  const order = membersOf(session.driver, fleetOrder(prepared.project.plan, roll.planned, options.canary));
  refusePause(session, onFailure);
  const images = fleet.interrupted === null ? roll.images : await imagesOf(session, fleet.interrupted);
  const run: NodeRun = { session, prepared, images, gated: true, record: (_name, work) => work() };
  const holder = holderOf(await services.identity());
  const change = { run, inTurn: oneAtATime(), applied: new Map<string, string>() };
  const ports = {
    clock: { now: services.now, monotonic: createElapsedClock(), sleep: services.sleep },
    lease: options.resume ? patient(fleet.database.lease, services.sleep) : fleet.database.lease,
    journal: fleet.database.journal,
    // Under the lease: a node that another command line has just stopped is not to be started here.
    shared: () => bringBack(session, prepared, prepared.whole),
    nodes: order.map(({ name, node }) =>
      fleetNode({ ...run, project: prepared.project }, targetImage(prepared, node), name, change),
    ),
  };
  if (fleet.interrupted !== null) {
    session.report(`Going on with the rollout of ${fleet.interrupted.startedAt}`);
    return resumeRollout(ports, holder, signal);
  }
  const to = imageName(targetImage(prepared, order[0]?.node ?? ""));
  const { maxUnavailable } = options;
  return beginRollout(ports, { id: randomUUID(), holder, to, onFailure, maxUnavailable }, signal);
}

function targetImage({ project }: Preparation, node: string): ImageIdentity {
  const image = project.plan.nodes.find(({ name }) => name === node)?.image ?? null;
  if (image === null) throw new InfraError("INFRA_IMAGE_MISSING", `Node ${node} has no image yet.`);
  return image;
}

/** What each node had, by the journal: what is recorded on this machine may be from before, or from after. */
async function imagesOf({ run, project, driver }: Session, { from }: RolloutEntry): Promise<NodeRun["images"]> {
  const found = await Promise.all(
    from.map(async ({ node, image }) => {
      if (image === null) return [];
      const identity = await run.services.images.resolve(image, project, run.signal).catch(() => null);
      return identity === null ? [] : [[nodeOfMember(driver, project.plan, node), identity] as const];
    }),
  );
  return Object.fromEntries(found.flat());
}

/** UsageError: pods of one workload have one template, and go back from the last to the first, those that had passed among them. */
export function refusePause({ project, driver }: Pick<Session, "project" | "driver">, onFailure: OnFailure): void {
  const [group] = project.plan.nodes.filter(({ name }) => (driver.pods?.(name) ?? []).length > 0);
  if (onFailure !== "pause" || group === undefined) return;
  throw new UsageError(
    `The pods of ${group.name} are one StatefulSet: they cannot stay with two images.`,
    "Leave out --on-failure, or name the nodes in deployment.nodes: then each is a workload of its own.",
  );
}

/** The engine changes one thing at a time, also where several nodes may be out of service. */
function oneAtATime(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.catch(() => undefined).then(work);
    last = next;
    return next;
  };
}
