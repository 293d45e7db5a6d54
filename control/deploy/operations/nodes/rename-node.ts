/**
 * `infra node rename`: the node stops, its data are copied under the new name, and it starts under that; the others run on. The
 * data under the former name stay, and are what it goes back to.
 */

import type { DeploymentPlan, ImageIdentity } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { UsageError } from "../../../output/failure.ts";
import type { ExistingData, TargetDriver } from "../../driver.ts";
import { unprotect } from "../../engine/checkpoint.ts";
import type { NodeRenameResult } from "../../schemas.ts";
import { forgetNodePlan } from "../../state/node-plans.ts";
import { requireConsent } from "../consent.ts";
import { withOperatorLock } from "../operator-run.ts";
import { reconcileInterrupted } from "../pending.ts";
import type { OperationInput, ReadProject } from "../services.ts";
import { openSession, type Session } from "../session.ts";
import { up } from "../up.ts";
import { isDataOf, recordedOf, renamedData } from "./node-of-stack.ts";
import { closeRename, isBegun, type Rename, writeRename } from "./rename-journal.ts";

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export interface RenameNodeOptions extends Rename {
  readonly yes: boolean;
}

/**
 * Repeatable. UsageError for names that do not fit; INFRA_DATA_EXISTS where the new name has data already.
 */
export async function renameNode(run: OperationInput, options: RenameNodeOptions): Promise<NodeRenameResult | null> {
  const { from, to, yes } = options;
  const { services } = run;
  await requireConsent(run, yes);
  const session = await openSession(run, { measure: true });
  const { plan } = session.project;
  const names = plan.nodes.map(({ name }) => name);
  if (!LABEL.test(to)) throw new UsageError(`${to} is no name for a node.`, "Use small letters, digits and hyphens.");
  // After a run that was cut off cairn.yaml has the new name: what is left is to start it.
  const copied = !names.includes(from) && names.includes(to);
  if (!copied && !names.includes(from))
    throw new UsageError(`There is no node ${from}.`, `Nodes: ${names.join(", ")}.`);
  if (!copied && names.includes(to)) throw new UsageError(`There is a node ${to} already.`, "Choose another name.");
  const driver = await driverOfBoth(session, copied ? to : from, copied ? from : to);
  const question = `Rename the node ${from} to ${to}? It stops meanwhile.`;
  if (!yes && (await services.prompts?.confirm(question, nothingOf(session.project), run.signal)) !== true) return null;
  if (!copied && !(await isBegun(session.files, options))) {
    await refuseUnapplied(session);
    await refuseOtherData(session, driver, to);
  }
  const image = (await services.release.read(run.dir)).nodes[copied ? to : from];
  const notCopied = copied ? null : await moveTo(session, driver, options);
  const kept = (await dataOf(session, driver, from)).map(({ name, place }) => ({ name, place }));
  const said = { schema: 1, stack: plan.stack, from, to, reason: null, kept } as const;
  const why = notCopied ?? (await started(run, to, image));
  if (why === null) {
    await forgetNodePlan(session.files, from);
    await closeRename(session.files);
    return { ...said, outcome: "renamed" };
  }
  run.signal.throwIfAborted();
  const back = await goBack(run, options, image).then(
    () => null,
    (error: unknown) => wordsOf(error),
  );
  if (back !== null) return { ...said, outcome: "operator", reason: `${why} Going back failed, too: ${back}` };
  // The originals serve again.
  if (kept.length > 0) await driver.deleteData(await dataOf(session, driver, to), run.signal);
  await closeRename(session.files);
  return { ...said, outcome: "rolled_back", reason: why, kept: [] };
}

/** The target with the node under both names: data are known by the plan that they belong to. */
function driverOfBoth({ run, project }: Session, present: string, other: string): Promise<TargetDriver> {
  const { plan } = project;
  const doubled = plan.nodes.flatMap((node) => (node.name === present ? [node, { ...node, name: other }] : [node]));
  // The spread loses which of the three plans it is; each node keeps its own type.
  return run.services.createDriver({ ...project, plan: { ...plan, nodes: doubled } as DeploymentPlan });
}

/** Why the node does not pass; null where it does. */
async function started(run: OperationInput, node: string, image: ImageIdentity | undefined): Promise<string | null> {
  try {
    await giveImage(run, node, image);
    const result = await up(run, { node, image: undefined, adopt: true, yes: true });
    if (!result?.healthy) return `The node ${node} does not become healthy.`;
    const project = await run.services.readProject(run.dir, run.signal);
    const driver = await run.services.createDriver(project);
    await run.services.nodes.gate({ project, driver, node }, run.signal);
    return null;
  } catch (error) {
    return wordsOf(error);
  }
}

/** Stops the node, copies its data and renames it in cairn.yaml. Why the data cannot be copied; null where they are. */
async function moveTo(opened: Session, driver: TargetDriver, { from, to }: Rename): Promise<string | null> {
  return withOperatorLock(opened, "node rename", async (session) => {
    const { run, project, files } = session;
    await writeRename(files, { from, to });
    await takeOut(session, from);
    try {
      for (const data of await dataOf(session, driver, from)) {
        const other = renamedData(data.name, project.plan, from, to);
        session.phase("data", `Copying ${data.name} to ${other}`);
        await driver.copyData(data, other, to, run.signal);
      }
    } catch (error) {
      run.signal.throwIfAborted();
      return wordsOf(error);
    }
    await run.services.configuration.renameNode(from, to);
    return null;
  });
}

/** The node's own data were only read. */
async function goBack(run: OperationInput, { from, to }: Rename, image: ImageIdentity | undefined): Promise<void> {
  await withOperatorLock(await openSession(run), "node rename", async (session) => {
    await takeOut(session, to);
    const renamed = session.project.plan.nodes.some(({ name }) => name === to);
    if (renamed) await run.services.configuration.renameNode(to, from);
  });
  await giveImage(run, from, image);
  const result = await up(run, { node: from, image: undefined, adopt: true, yes: true });
  if (!result?.healthy) throw new InfraError("INFRA_FAILED", `The node ${from} does not become healthy.`);
}

/** INFRA_DATA_EXISTS where another node of that name has left data: a copy would be written over them. */
async function refuseOtherData(session: Session, driver: TargetDriver, to: string): Promise<void> {
  const found = await dataOf(session, driver, to);
  if (found.length === 0) return;
  const where = found.map(({ name, place }) => `${name} (${place})`).join(", ");
  throw new InfraError("INFRA_DATA_EXISTS", `There are data of a former node ${to}: ${where}.`, {
    hint: "Choose another name, or remove them with the target's own tools where nothing needs them any more.",
  });
}

/** INFRA_UP_REFUSED where an `up` would change more than the name: it would be applied with it, to other nodes as well. */
async function refuseUnapplied({ engine, project, run, engineRun }: Session): Promise<void> {
  const program = await run.services.createProgram(project, { adopt: new Set() });
  const { changes } = await engine.preview({ ...engineRun(), program });
  if (changes.length === 0) return;
  throw new InfraError("INFRA_UP_REFUSED", `cairn.yaml says more than what is deployed: ${changes.length} changes.`, {
    hint: "Apply them first with `cairn infra up`, or `cairn infra up --roll`, then run the same command again.",
  });
}

/** It runs what it ran under its other name. */
async function giveImage(
  { services, dir }: OperationInput,
  node: string,
  image: ImageIdentity | undefined,
): Promise<void> {
  if (image === undefined) return;
  const release = await services.release.read(dir);
  await services.release.write(dir, { ...release, nodes: { ...release.nodes, [node]: image } });
}

/** Out of the state and off the target, but for its data. */
async function takeOut(session: Session, node: string): Promise<void> {
  await reconcileInterrupted(session);
  const state = await session.state();
  const urns = recordedOf(state, session.project.plan, node);
  if (state === null || urns.length === 0) return;
  session.phase("destroy", `Stopping ${node}`);
  await session.engine.replaceState(unprotect(state, new Set(urns)));
  await session.engine.destroy({ ...session.engineRun(), targets: urns });
}

async function dataOf({ project, run }: Session, driver: TargetDriver, node: string): Promise<readonly ExistingData[]> {
  const { plan } = project;
  const found = await driver.existingData(run.signal);
  const own = found.filter(({ name, stack }) => stack === plan.stack && isDataOf(name, plan, node));
  return own.sort((a, b) => a.name.localeCompare(b.name));
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function nothingOf({ plan: { stack, target } }: ReadProject) {
  const summary = { create: 0, update: 0, replace: 1, delete: 0, import: 0, same: 0 };
  return { schema: 1 as const, stack, target, summary, changes: [] };
}
