/** `infra node remove`: takes one node out of the stack while the others run, and keeps, archives or deletes its data. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { POSTGRES } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { needsTerminal, UsageError } from "../../../output/failure.ts";
import { backupsFolder } from "../../backup-deployed.ts";
import type { ExistingData } from "../../driver.ts";
import { unprotect } from "../../engine/checkpoint.ts";
import type { NodeRemoveResult } from "../../schemas.ts";
import { forgetNodePlan, readNodePlan } from "../../state/node-plans.ts";
import { requireConsent } from "../consent.ts";
import { forgetFence } from "../forget-fence.ts";
import { withOperatorLock } from "../operator-run.ts";
import { reconcileInterrupted } from "../pending.ts";
import { readRecord, writeRecord } from "../record.ts";
import type { OperationInput, ReadProject } from "../services.ts";
import { openSession, type Session } from "../session.ts";
import { isDataOf, recordedOf, type StackNode, stackNode } from "./node-of-stack.ts";

export interface RemoveNodeOptions {
  readonly node: string;
  /** `archive`: a file in backups/, and then they go. */
  readonly data: "keep" | "archive" | "delete";
  /** The node's name, instead of typing it. */
  readonly confirm: string | undefined;
  readonly yes: boolean;
}

/** Repeatable: what was cut off is done by the same command. Null when the answer was no. */
export async function removeNode(run: OperationInput, options: RemoveNodeOptions): Promise<NodeRemoveResult | null> {
  const { prompts } = run.services;
  if (options.data === "keep" && options.confirm !== undefined) throw new UsageError("--confirm belongs to --data.");
  await requireConsent(run, options.yes);
  const opened = await openSession(run);
  const target = await stackNode(opened, options.node);
  refuseHomeless(target);
  if (options.data === "delete") refuseMemory(target);
  if (options.data !== "keep") await demandName(run, options);
  const driver = await run.services.createDriver(target.project);
  return withOperatorLock(opened, "node remove", async (session) => {
    await reconcileInterrupted(session);
    const { project } = target;
    const state = await session.state();
    const urns = recordedOf(state, project.plan, target.name);
    if (
      !options.yes &&
      (await prompts?.confirm(`Remove the node ${target.name}?`, nothingOf(project), run.signal)) !== true
    ) {
      return null;
    }
    session.phase("destroy", `Removing ${target.name}`);
    if (state !== null && urns.length > 0) {
      // Volumes have `retainOnDelete`: the target keeps them when the engine forgets them.
      await session.engine.replaceState(unprotect(state, new Set(urns)));
      await session.engine.destroy({ ...session.engineRun(), targets: urns });
    }
    const existing = await driver.existingData(run.signal);
    const data = existing
      .filter(({ name, stack }) => stack === project.plan.stack && isDataOf(name, project.plan, target.name))
      .sort((a, b) => a.name.localeCompare(b.name));
    const archive = options.data === "archive" ? await archived(session, target, data) : null;
    if (options.data !== "keep") {
      await driver.deleteData(data, run.signal);
      await forgetFence(session, driver, target.name);
    }
    await forget(session, target);
    const waiting = await waitingForLimits(session);
    const places = data.map(({ name, place }) => ({ name, place }));
    return {
      schema: 1,
      stack: project.plan.stack,
      node: target.name,
      removed: urns.length,
      kept: options.data === "keep" ? places : [],
      deleted: options.data === "keep" ? [] : places,
      archive,
      waiting,
    };

    async function archived({ phase, report }: Session, { name }: StackNode, wanted: readonly ExistingData[]) {
      if (wanted.length === 0) return null;
      const time = run.services.now().toISOString().replaceAll(/[:.]/g, "-");
      const file = join(await backupsFolder(run.dir), `${project.plan.stack}-${name}-${time}.tar.gz`);
      phase("archive", `Archiving ${wanted.map((one) => one.name).join(", ")} into ${file}`);
      await driver.archiveData(wanted, file, report, run.signal);
      if ((await stat(file)).size > 0) return file;
      throw new InfraError("INFRA_DATA_PROTECTED", `${file} is empty, so nothing was deleted.`);
    }
  });
}

/** Nodes whose share of their machine's memory is another one now than what they run with. */
async function waitingForLimits({ run, files }: Session): Promise<string[]> {
  const { plan } = await run.services.readProject(run.dir, run.signal);
  const waiting: string[] = [];
  for (const { name, limits } of plan.nodes) {
    const [given] = (await readNodePlan(files, name))?.plan.nodes ?? [];
    if (given !== undefined && given.limits.memoryBytes !== limits.memoryBytes) waiting.push(name);
  }
  return waiting;
}

/** INFRA_UP_REFUSED where an agent would have no node, or the stack none. */
function refuseHomeless({ name, project }: StackNode): void {
  const { nodes } = project.plan;
  const others = nodes.filter((node) => node.name !== name);
  if (others.length === 0) {
    throw new InfraError("INFRA_UP_REFUSED", `${name} is the only node of the stack.`, {
      hint: "`cairn infra destroy` removes the stack and keeps the data.",
    });
  }
  const elsewhere = new Set(others.flatMap(({ agents }) => agents));
  const homeless = nodes
    .filter((node) => node.name === name)
    .flatMap(({ agents }) => agents.filter((one) => !elsewhere.has(one)));
  if (homeless.length === 0) return;
  const keys = homeless.map((agent) => `agents.${agent}.node`).join(", ");
  throw new InfraError("INFRA_UP_REFUSED", `${homeless.join(", ")} would have no node: ${name} alone runs them.`, {
    hint: `Name another node in ${keys} (${others.map((one) => one.name).join(", ")}), run \`cairn infra up --roll\`, and then the same command again.`,
  });
}

/** INFRA_DATA_PROTECTED where the node's home holds the memory itself: nothing else would have it. */
function refuseMemory({ name, project: { plan } }: StackNode): void {
  const node = plan.nodes.find((one) => one.name === name);
  if (plan.postgres !== null || node === undefined || node.secretVariables.includes(POSTGRES.variable)) return;
  throw new InfraError("INFRA_DATA_PROTECTED", `The memory of ${name} is in its home, and in no database beside it.`, {
    hint: "`--data archive` takes the data off the target and keeps them in backups/.",
  });
}

async function demandName(
  { services, signal }: OperationInput,
  { node, confirm, data }: RemoveNodeOptions,
): Promise<void> {
  if (confirm === undefined && services.prompts === null) throw needsTerminal("The node's name", `--confirm ${node}`);
  const what =
    data === "archive" ? "The data go from the target once they are archived" : "This deletes its data for good";
  const typed = confirm ?? (await services.prompts?.typeName(`${what}. Type ${node} to go on`, signal));
  if (typed === node) return;
  throw new UsageError(`${typed ?? ""} is not the node's name.`, `To go on, name the node: ${node}.`);
}

function nothingOf({ plan: { stack, target } }: ReadProject) {
  const summary = { create: 0, update: 0, replace: 0, delete: 1, import: 0, same: 0 };
  return { schema: 1 as const, stack, target, summary, changes: [] };
}

/** Last, so that a run that is cut off finds the node again. */
async function forget({ run, files }: Session, { name, configured }: StackNode): Promise<void> {
  const { services, dir } = run;
  if (configured) await services.configuration.removeNode(name);
  const release = await services.release.read(dir);
  const { [name]: _gone, ...nodes } = release.nodes;
  await services.release.write(dir, { ...release, nodes });
  const record = await readRecord(dir);
  if (record !== null) await writeRecord(files, { ...record, nodes: record.nodes.filter((one) => one.name !== name) });
  await forgetNodePlan(files, name);
}
