/**
 * `infra up --roll`: what would stop more than one node is applied to one after the other, each tested before the next. A node
 * that fails gets back what it had; a run that was cut off goes on where it was.
 */

import { CairnError, type ErrorDetails, InfraError } from "../../../../runtime/contracts/errors.ts";
import { type FleetEnd, rollFleet } from "../../../rollout/fleet.ts";
import { foundIn, type OnFailure } from "../../../rollout/fleet-steps.ts";
import { outputsOf } from "../../engine/checkpoint.ts";
import type { RollReport, UpResult } from "../../schemas.ts";
import { requireConsent } from "../consent.ts";
import { bringBack } from "../drift.ts";
import { nodeOf, refuseAtOnce } from "../guards.ts";
import { withOperatorLock } from "../operator-run.ts";
import { resumeNodes } from "../pausing.ts";
import type { OperationInput } from "../services.ts";
import { openSession, type Session } from "../session.ts";
import { finish } from "../up.ts";
import { confirmed, type Preparation, prepareUp } from "../up-preparation.ts";
import { changeShared } from "./database.ts";
import { withFleetLease } from "./fleet-lease.ts";
import type { FleetRollout } from "./in-fleet.ts";
import { isUnrelated, type NodeRun, nodeChange, refuseTogether } from "./node-change.ts";
import { openRoll, type RollEntry, readRoll } from "./roll-journal.ts";
import { planRoll, type RollPlan } from "./roll-plan.ts";

export interface RollOptions {
  readonly image: string | undefined;
  readonly adopt: boolean;
  readonly yes: boolean;
  readonly onFailure: OnFailure;
  /** Through the database that the nodes share. Undefined: from this machine alone. */
  readonly fleet?: FleetRollout;
}

/** Errors of `up`; INFRA_UP_REFUSED for what nodes cannot have one after the other. Null: the answer was no. */
export async function roll(run: OperationInput, options: RollOptions): Promise<UpResult | null> {
  await requireConsent(run, options.yes);
  const command = options.fleet === undefined ? "up --roll" : "update --mesh";
  const opened = await openSession(run, { measure: true });
  const work = async (session: Session): Promise<UpResult | null> => {
    const fleet = options.fleet === undefined ? null : await options.fleet.open(session);
    const before = fleet === null ? await readRoll(session.files) : null;
    const nodes = session.project.plan.nodes.map(({ name }) => name);
    const image = fleet?.interrupted?.to ?? options.image ?? before?.image ?? undefined;
    const prepared = await prepareUp(session, { nodes, image, adopt: options.adopt });
    const plan = await planOf(session, prepared, before);
    const release = await run.services.release.read(run.dir);
    const journaled = plan.nodes.length > 0 || plan.shared.length > 0 || before !== null;
    refuseAtOnce(prepared.whole, prepared.project.plan, prepared.running);
    if (fleet !== null) refuseShared(plan);
    if (fleet !== null) refuseReplaced(prepared);
    const [first] = plan.nodes;
    if (first !== undefined && plan.shared.length > 0) await refuseTogether({ session, prepared }, first);
    if (!options.yes && !(await confirmed(session, prepared.project, prepared.whole, prepared.drift))) return null;
    if (fleet !== null && options.fleet !== undefined) {
      const roll = { fleet, onFailure: options.onFailure, planned: plan.nodes, images: release.nodes };
      const report = reportOf(await options.fleet.run(session, prepared, roll), plan);
      if (!hasRest(prepared, plan)) return close(session, prepared, plan, report);
      // It is applied without fences, as by `up`.
      return withFleetLease(session, (held) => close(held, prepared, plan, report));
    }
    await bringBack(session, prepared, prepared.whole);
    const report: RollReport = journaled
      ? await carryOut(session, prepared, plan, { before, image, onFailure: options.onFailure, images: release.nodes })
      : { outcome: "unchanged", done: [], ...PASSED };
    return close(session, prepared, plan, report);
  };
  return withOperatorLock(opened, command, work, { leased: options.fleet === undefined });
}

async function planOf(session: Session, prepared: Preparation, before: RollEntry | null): Promise<RollPlan> {
  const { project, whole, running } = prepared;
  const outdated = (await session.driver.outdated?.(session.run.signal)) ?? [];
  return planRoll({ whole, plan: project.plan, running, outdated, steps: before?.steps ?? [] });
}

/** PostgreSQL may be among it, and the journal would be out of reach meanwhile. INFRA_UP_REFUSED. */
function refuseShared({ shared }: RollPlan): void {
  if (shared.length === 0) return;
  const names = shared.map(({ name }) => name).join(", ");
  throw new InfraError("INFRA_UP_REFUSED", `What the nodes share would change as well: ${names}.`, {
    hint: "Run `cairn infra up --roll` first.",
  });
}

/** What is recorded here may be from before a rollout of another machine: what that has made serves. INFRA_UP_REFUSED. */
function refuseReplaced({ drift }: Preparation): void {
  const replaced = drift.filter(({ node, kind, repair }) => node !== null && kind === "replaced" && repair !== null);
  if (replaced.length === 0) return;
  throw new InfraError("INFRA_UP_REFUSED", replaced.map(({ message }) => message).join(" "), {
    hint:
      "Where another machine has changed the fleet, run the command there, or bring its `infra/state` here. " +
      "`cairn infra up --node NAME` makes the container of one node anew.",
  });
}

/** Of a rollout in which nothing failed. */
const PASSED = { failed: null, reason: null, last_words: [], log: null } as const satisfies Partial<RollReport>;

interface Order {
  readonly before: RollEntry | null;
  readonly image: string | undefined;
  readonly onFailure: OnFailure;
  readonly images: NodeRun["images"];
}

async function carryOut(session: Session, prepared: Preparation, plan: RollPlan, order: Order): Promise<RollReport> {
  const { before, images, onFailure } = order;
  const { project, running } = prepared;
  const begin = { stack: project.plan.stack, image: order.image ?? null };
  const journal = await openRoll(session.files, session.run.services.now, begin, before);
  const record: NodeRun["record"] = (name, work) => journal.step(name, work, (error) => !isUnrelated(session, error));
  const run: NodeRun = { session, prepared, record, images, gated: true };
  if (before !== null) {
    session.report(`Going on with the rollout of ${before.started_at}`);
    await resumeNodes(session, project, [...running]);
  }
  const end = await rollFleet({
    nodes: plan.nodes,
    found: foundIn(before?.steps ?? []),
    maxUnavailable: 1,
    onFailure,
    change: (node) => nodeChange(run, node),
    shared: () => changeShared(run),
  });
  await journal.close();
  return reportOf(end, plan);
}

function reportOf(end: FleetEnd, plan: RollPlan): RollReport {
  const { outcome, failed, reason, cause } = end;
  const done = [...end.done];
  if (outcome === "passed") {
    return { outcome: done.length > 0 || plan.shared.length > 0 ? "rolled" : "unchanged", done, ...PASSED };
  }
  const { lastWords = [], log = null } = detailsOf(cause);
  const said = { done, failed, last_words: [...lastWords], log };
  if (outcome !== "operator") return { ...said, outcome, reason };
  const stuck = end.stuck.map(({ node, back }) => `${node}: ${back ?? "nothing is known of what it had before"}`);
  return { ...said, outcome, reason: `${reason} Going back failed, too: ${stuck.join("; ")}` };
}

function detailsOf(error: unknown): ErrorDetails {
  return error instanceof CairnError ? error.details : {};
}

/** Whether something differs that is neither shared nor a rolled node's. */
function hasRest({ whole, project }: Preparation, plan: RollPlan): boolean {
  return whole.changes.some((change) => {
    const owner = nodeOf(change, project.plan);
    return owner !== null && !plan.nodes.includes(owner);
  });
}

/** Everything that no node had to wait for, such as a node that is new; nothing more after a failure. */
async function close(session: Session, prepared: Preparation, plan: RollPlan, report: RollReport): Promise<UpResult> {
  const { project, program, whole, adopt, warnings } = prepared;
  const { engine } = session;
  // Where it stopped for another reason than a node's failure, the nodes that are left have not had their turn either.
  const failed = report.outcome !== "rolled" && report.outcome !== "unchanged";
  const nodes = failed ? [] : project.plan.nodes.map(({ name }) => name);
  const applied =
    !failed && hasRest(prepared, plan)
      ? await engine.up({ ...session.engineRun(), program })
      : { diff: whole, outputs: outputsOf(await session.state()) };
  const result = await finish(session, project, {
    nodes,
    warnings,
    adopted: [...adopt].sort(),
    applied: { diff: { ...whole }, outputs: applied.outputs },
    drift: prepared.drift,
    restarts: prepared.restarts,
    released: undefined,
  });
  const healthy = result.healthy && !failed;
  return { ...result, healthy, next: healthy ? result.next : "cairn infra status", roll: report };
}
