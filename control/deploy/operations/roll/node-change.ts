/** One node's part of a rollout: what was planned is applied and tested, and what it had before comes back where that fails. */

import { isDeepStrictEqual } from "node:util";
import type { DeploymentPlan, ImageIdentity } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { codeOf } from "../../../../runtime/contracts/system-errors.ts";
import type { FleetStep } from "../../../rollout/fleet-steps.ts";
import type { NodeChange, Step } from "../../../rollout/rollback.ts";
import type { TargetDriver } from "../../driver.ts";
import { resourcesOf } from "../../engine/checkpoint.ts";
import { type NodePlanCopy, readNodePlan } from "../../state/node-plans.ts";
import { recordDeployed } from "../deployed.ts";
import { bringBack, inspectDeployed, ofNodes, planningFor, repair } from "../drift.ts";
import { isFull } from "../full-disk.ts";
import { sharedWaiting, targetsOf } from "../guards.ts";
import { recordOwnCertificates } from "../own-certificates.ts";
import type { ReadProject } from "../services.ts";
import type { Session } from "../session.ts";
import { reconcileAndWait } from "../start-watch.ts";
import type { Preparation } from "../up-preparation.ts";

export interface NodeRun {
  readonly session: Session;
  readonly prepared: Preparation;
  /** Runs a step, and writes it down where there is a journal. */
  readonly record: NodeChange<FleetStep>["record"];
  /** Whether a node that is healthy has to pass the gate as well. */
  readonly gated: boolean;
  /** Images that nodes had when the rollout began. */
  readonly images: Readonly<Record<string, ImageIdentity>>;
  /**
   * Of a rollout through the database; aborts when its lease is lost, and then the engine is not begun. What is changed as a whole was
   * stopped before, and is started again where nothing of it changes.
   */
  readonly leased?: AbortSignal;
}

/** What a former state of a node is found by. */
export interface Former extends Pick<NodeRun, "session" | "images" | "gated"> {
  /** As it is to be. */
  readonly project: ReadProject;
}

/** The node's change for the rollout core. Its way back is null where nothing is known of what it had. */
export async function nodeChange(run: NodeRun, node: string): Promise<NodeChange<FleetStep>> {
  const { session, prepared, record, gated } = run;
  const former = await formerProject({ ...run, project: prepared.project }, node);
  const gate = (name: FleetStep, project: ReadProject): Step<FleetStep>[] =>
    gated ? [{ name, run: () => pass(session, project, node) }] : [];
  return {
    forward: [
      { name: `apply ${node}`, run: () => applyTo(run, prepared.project, node, "Changing") },
      ...gate(`gate ${node}`, prepared.project),
    ],
    back:
      former === null
        ? null
        : [
            { name: `back ${node}`, run: () => applyTo(run, former, node, "Going back:") },
            ...gate(`gate-former ${node}`, former),
          ],
    record,
    isUnrelated: (error) => isUnrelated(session, error),
  };
}

/**
 * From the copy of what it had when it was last healthy; else with the image that is recorded for it, where that is another one. Null
 * where nothing is known of it.
 */
export async function formerProject(
  { session, project, images, gated }: Former,
  name: string,
): Promise<ReadProject | null> {
  const copy = await readNodePlan(session.files, name);
  if (copy !== null) return gated || !isSame(project, copy) ? withNode(project, copy) : null;
  const image = Object.hasOwn(images, name) ? images[name] : undefined;
  const planned = project.plan.nodes.find((one) => one.name === name)?.image;
  if (image === undefined || planned === undefined || sameImage(image, planned)) return null;
  return withImagesOf(project, { [name]: image }, () => false);
}

/** What the node had before, with this image; null where nothing is known of it. */
export async function formerWith(from: Former, node: string, image: string): Promise<ReadProject | null> {
  const former = await formerProject(from, node);
  const had = former?.plan.nodes.find(({ name }) => name === node)?.image ?? null;
  if (had !== null && isNamed(had, image)) return former;
  // What was applied since may be another image, by this machine for this rollout, or by another machine before it.
  const { services, signal } = from.session.run;
  const identity = await services.images.resolve(image, from.project, signal).catch(() => null);
  signal.throwIfAborted();
  if (identity !== null && sameImage(identity, had)) return former;
  return identity === null ? null : withImagesOf(former ?? from.project, { [node]: identity }, () => false);
}

const UNRELATED = ["INFRA_LOCKED", "INFRA_INTERRUPTED", "INFRA_DISK_FULL", "INFRA_HOST_UNREACHABLE"];

/** A lock, an interruption, a full disk or a lost host is nothing that another configuration would mend. */
export function isUnrelated({ run }: Session, error: unknown): boolean {
  const unrelated = UNRELATED.includes(codeOf(error) ?? "");
  return run.signal.aborted || unrelated || isFull(error);
}

/** Whether the node has what is planned for it: then that is no way back. */
function isSame({ plan, secrets }: ReadProject, { plan: had, variables }: NodePlanCopy): boolean {
  const [former] = had.nodes;
  const planned = plan.nodes.find(({ name }) => name === former?.name);
  const values = Object.keys(variables).every((name) => variables[name] === secrets.variables[name]);
  return values && isDeepStrictEqual(JSON.parse(JSON.stringify(planned ?? null)), former ?? null);
}

function withNode(project: ReadProject, { plan: had, variables, certificate }: NodePlanCopy): ReadProject {
  const [node] = had.nodes;
  const nodes = project.plan.nodes.map((one) => (node !== undefined && one.name === node.name ? node : one));
  // PostgreSQL is not the node's: it goes back to no image, and to no data, that an upgrade has left.
  const { postgres } = project.plan;
  // The copy was made by a plan of the same target; the spread loses which of the three it is.
  const plan = { ...had, nodes, postgres } as DeploymentPlan;
  return { ...project, plan, certificate, secrets: { ...project.secrets, variables } };
}

/** The project with these images, but for nodes that `keep` says have their own already. */
export function withImagesOf(
  project: ReadProject,
  images: Readonly<Record<string, ImageIdentity>>,
  keep: (node: string) => boolean,
): ReadProject {
  const { plan } = project;
  const nodes = plan.nodes.map((node) => {
    const image = keep(node.name) || !Object.hasOwn(images, node.name) ? undefined : images[node.name];
    return image === undefined ? node : { ...node, image };
  });
  return { ...project, plan: { ...plan, nodes } as DeploymentPlan };
}

/** Stands for exactly one image, wherever there is such a name. */
export function imageName({ digest, id, reference }: ImageIdentity): string {
  return digest ?? id ?? reference;
}

/** Whether a target may call the image so. */
export function isNamed({ digest, id, reference }: ImageIdentity, name: string): boolean {
  return [digest, id, reference].includes(name);
}

export function sameImage(a: ImageIdentity, b: ImageIdentity | null): boolean {
  return b !== null && imageName(a) === imageName(b);
}

/** Applies what the project says of the node, and waits until it is healthy. */
export async function applyTo(run: NodeRun, project: ReadProject, node: string, words: string): Promise<void> {
  const { session, prepared } = run;
  const { own, driver, unchanged } = await applyGraph(run, project, node, words);
  if (run.leased !== undefined) await startAgain(session, node);
  const observed = await reconcileAndWait(session, {
    nodes: [node],
    restarts: prepared.restarts,
    unchanged,
    driver,
    released: new Set([node]),
  });
  // The gate asks it next.
  await recordOwnCertificates({ ...session, driver }, own, [node], observed);
}

/** The engine does not look whether a container of which nothing changes runs. */
async function startAgain(session: Session, node: string): Promise<void> {
  const seen = (await session.driver.observe(session.run.signal)).find(({ name }) => name === node);
  if (seen?.state !== "stopped") return;
  const state = await session.state();
  const drift = ofNodes((await inspectDeployed(session, state)).drift, [node]).filter(({ kind }) => kind === "stopped");
  await repair(session, drift);
}

export interface AppliedGraph {
  /** The project with what is recorded of the other nodes. */
  readonly own: ReadProject;
  readonly driver: TargetDriver;
  readonly unchanged: boolean;
}

/** Applies what the project says of the node's resources, and records it. */
export async function applyGraph(
  run: NodeRun,
  project: ReadProject,
  node: string,
  words: string,
): Promise<AppliedGraph> {
  const { session, prepared } = run;
  const { engine } = session;
  const { services, dir } = session.run;
  session.phase("node", `${words} ${node}`);
  const release = await services.release.read(dir);
  // What is recorded of the others stays true while this one is changed.
  const own = withImagesOf(project, release.nodes, (name) => name === node);
  const program = await services.createProgram(own, { adopt: prepared.adopt });
  const recorded = await session.state();
  const goesBack = project !== prepared.project;
  // A change that failed may be recorded as if it had never begun: what the target has now is brought back to what it had.
  const drift = goesBack ? ofNodes((await inspectDeployed(session, recorded)).drift, [node]) : prepared.drift;
  const planning = goesBack ? planningFor(recorded, drift, session.driver) : prepared.planning;
  if (goesBack) await bringBack(session, { drift, planning }, prepared.whole);
  const state = goesBack ? (planning.assuming ?? recorded) : recorded;
  const { replace, refresh } = planning;
  // What it had before may be other resources than those that were planned.
  const whole = goesBack ? await engine.preview({ ...session.engineRun(), program, replace, refresh }) : prepared.whole;
  const targets = targetsOf(whole, resourcesOf(state), own.plan, node, prepared.components);
  const broken = replace.filter((urn) => targets.includes(urn));
  run.leased?.throwIfAborted();
  const { diff, outputs } = await engine.up({ ...session.engineRun(), program, targets, replace: broken, refresh });
  // What is recorded is what was given to it, also where it does not work.
  await recordDeployed(session, own, [node], outputs);
  return { own, driver: await services.createDriver(own), unchanged: diff.changes.length === 0 };
}

/** INFRA_HOST_UNREACHABLE where the node was not reached because its host is away: then nothing is known of the node. */
export async function pass(
  { run, phase }: Session,
  project: ReadProject,
  node: string,
  member: string = node,
): Promise<void> {
  phase("gate", `Testing ${member}`);
  // Of what the node has: what it had before may have been another port, or no TLS.
  const driver = await run.services.createDriver(project);
  try {
    await run.services.nodes.gate({ project, driver, node, member }, run.signal);
  } catch (error) {
    run.signal.throwIfAborted();
    const seen = (await driver.observe(run.signal)).find(({ name }) => name === node);
    if (seen?.state !== "unknown") throw error;
    throw new InfraError("INFRA_HOST_UNREACHABLE", `The host of ${node} does not answer (${seen.place}).`, {
      hint: "Wait until `cairn infra status` shows the node again.",
    });
  }
}

/** INFRA_UP_REFUSED where the node cannot have its change alone: asked before the first one is touched. */
export async function refuseTogether(
  { session, prepared }: Pick<NodeRun, "session" | "prepared">,
  node: string,
): Promise<void> {
  const { program, project, whole, state, running } = prepared;
  const targets = targetsOf(whole, resourcesOf(state), project.plan, node);
  const diff = await session.engine.preview({ ...session.engineRun(), program, targets });
  sharedWaiting({ node, plan: project.plan, whole, diff, targets, running });
}
