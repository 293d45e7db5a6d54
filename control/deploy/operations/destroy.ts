/** `infra destroy`: removes what `up` made and keeps the data, unless the stack's name is typed to delete them. */

import { rm } from "node:fs/promises";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { needsTerminal, UsageError } from "../../output/failure.ts";
import { type ExportedState, type RecordedResource, resourcesOf, unprotect } from "../engine/checkpoint.ts";
import type { DestroyResult } from "../schemas.ts";
import { checkTakenBackup, type TakenBackup } from "./backup-taken.ts";
import { requireConsent } from "./consent.ts";
import { forgetFence } from "./forget-fence.ts";
import { withOperatorLock } from "./operator-run.ts";
import { reconcileInterrupted } from "./pending.ts";
import { refuseUnfinished } from "./postgres/upgrade-journal.ts";
import { readRecord, removeRecord, writeRecord } from "./record.ts";
import type { OperationInput } from "./services.ts";
import { openSession, type Session } from "./session.ts";

export interface DestroyOptions {
  readonly yes: boolean;
  readonly deleteData: boolean;
  /** The stack's name, instead of typing it. */
  readonly confirm: string | undefined;
  /** A backup that exists already, instead of taking one. */
  readonly backupTaken: TakenBackup | undefined;
  /** Of a stack that is removed already: there is no node that could give a backup. Absent: no. */
  readonly withoutBackup?: boolean;
}

/**
 * Null when the answer was no. INFRA_DATA_PROTECTED when data are to go and no backup could be taken, or one could be and is not
 * wanted; errors of `checkTakenBackup`; INFRA_UP_REFUSED where an
 * upgrade of PostgreSQL was cut off: its journal alone knows which volume has the data.
 */
export async function destroy(run: OperationInput, options: DestroyOptions): Promise<DestroyResult | null> {
  const { prompts } = run.services;
  const { backupTaken, withoutBackup = false } = options;
  if (!options.deleteData && ((options.confirm ?? backupTaken) !== undefined || withoutBackup)) {
    throw new UsageError("--confirm, --backup-taken and --without-backup belong to --delete-data.");
  }
  if (backupTaken !== undefined && withoutBackup) {
    throw new UsageError("--backup-taken and --without-backup exclude each other.");
  }
  await requireConsent(run, options.yes);
  const taken = backupTaken === undefined ? null : await checkTakenBackup(run, backupTaken);
  const session = await openSession(run);
  const { engine, project } = session;
  if (options.deleteData) await demandName(session, options);
  const work = async (): Promise<DestroyResult | null> => {
    await refuseUnfinished(session.files);
    await reconcileInterrupted(session);
    const state = await session.state();
    if (state === null) return nothing(session);
    const isRemoved = resourcesOf(state).every((one) => one.protected);
    if (withoutBackup && !isRemoved) throw stillDeployed(project.plan.stack);
    session.phase("preview", "Looking at what is deployed");
    const diff = await engine.previewDestroy(session.engineRun());
    if (!options.yes && diff.changes.length > 0) {
      if ((await prompts?.confirm("Remove these?", diff, run.signal)) !== true) return null;
    }
    const needsBackup = options.deleteData && !withoutBackup;
    const backup = needsBackup ? (taken ?? (await takeBackup(session, isRemoved))) : null;
    session.phase("destroy", "Removing");
    const done = diff.changes.length === 0 ? diff : await engine.destroy(session.engineRun());
    const data = await withPlaces(
      resourcesOf(await session.state()).filter((one) => one.protected),
      run.dir,
    );
    const deleted = options.deleteData
      ? await deleteData(session).catch((error) => Promise.reject(half(error, backup)))
      : [];
    if (options.deleteData) {
      await removeRecord(session.files);
      await rm(session.files.unanswered, { force: true });
    } else await forgetNodes(session, data);
    return { ...done, stack: project.plan.stack, kept: options.deleteData ? [] : data, deleted, backup };
  };
  // Where a rollout is under way it is meant as well, and nodes that are gone give no lease back.
  return withOperatorLock(session, "destroy", work, { leased: false });
}

function nothing({ project }: Session): DestroyResult {
  const summary = { create: 0, update: 0, replace: 0, delete: 0, import: 0, same: 0 };
  const { stack, target } = project.plan;
  return { schema: 1, stack, target, summary, changes: [], kept: [], deleted: [], backup: null };
}

async function demandName(
  { project, run, driver }: Session,
  { confirm: given, withoutBackup }: DestroyOptions,
): Promise<void> {
  const { stack } = project.plan;
  const { prompts } = run.services;
  if (given === undefined && prompts === null) throw needsTerminal("The stack's name", `--confirm ${stack}`);
  const asked = given === undefined;
  const former = asked ? ((await driver.formerData?.(run.signal)) ?? []) : [];
  const also =
    former.length === 0 ? "" : `, with what upgrades of PostgreSQL kept (${former.map(({ name }) => name).join(", ")})`;
  const lost = asked && withoutBackup ? await lostWords(run.dir) : "";
  const question = `This deletes the data for good${also}${lost}. Type ${stack} to go on`;
  const typed = given ?? (await prompts?.typeName(question, run.signal));
  if (typed === stack) return;
  throw new UsageError(`${typed ?? ""} is not the stack's name.`, `To delete its data, name the stack: ${stack}.`);
}

/** Continues the question for the name. */
async function lostWords(dir: string): Promise<string> {
  const names = (await readRecord(dir))?.data.map(({ name }) => name) ?? [];
  const what = names.length === 0 ? "the memory" : `the memory and all else in ${names.join(", ")}`;
  return `, and NO BACKUP is taken: ${what} cannot be had back`;
}

function stillDeployed(stack: string): InfraError {
  return new InfraError("INFRA_DATA_PROTECTED", `The stack ${stack} is deployed, so nothing was removed.`, {
    hint: "Leave --without-backup out, so that a backup is taken. Where no node answers, run `cairn infra destroy` first: the data stay, and --without-backup deletes them after that.",
  });
}

/** Path of a backup that was taken now. */
async function takeBackup({ run, project, driver, ...session }: Session, isRemoved: boolean): Promise<string> {
  const { stack } = project.plan;
  const elseNamed = "name a backup of the last 24 hours with --backup-taken FILE";
  if (isRemoved) {
    const message = `The stack ${stack} is removed already: no node of it can back up its memory, so nothing was deleted.`;
    throw new InfraError("INFRA_DATA_PROTECTED", message, {
      hint: `To delete its data, ${elseNamed}, or give up what is in them with --without-backup.`,
    });
  }
  session.phase("backup", "Backing up the memory");
  try {
    return await run.services.backup(run.dir, project, driver, run.signal);
  } catch (error) {
    run.signal.throwIfAborted();
    throw new InfraError("INFRA_DATA_PROTECTED", "The memory could not be backed up, so nothing was removed.", {
      hint: `Start a node with \`cairn infra up\` and try again, or ${elseNamed}.`,
      cause: error,
    });
  }
}

/** The nodes are gone, so that the next run can take no backup: the hint says how the data go without a new one. */
function half(error: unknown, backup: string | null): unknown {
  if (!(error instanceof InfraError)) return error;
  const again = backup === null ? "--without-backup" : `--backup-taken ${backup}`;
  return new InfraError(error.code, error.message, {
    ...error.details,
    hint: `${error.details.hint ?? ""} Then run the same command again with ${again}.`.trim(),
    cause: error,
  });
}

/** First out of the state, then off the target: what is cut off in between is found as data of an earlier stack. */
async function deleteData(session: Session): Promise<{ name: string; place: string }[]> {
  const { engine, driver, run, project } = session;
  const state: ExportedState | null = await session.state();
  const guarded = resourcesOf(state).filter((one) => one.protected);
  if (state !== null && guarded.length > 0) {
    await engine.replaceState(unprotect(state, new Set(guarded.map(({ urn }) => urn))));
    // The resources have `retainOnDelete`, so the target keeps them when the engine removes them from its state.
    await engine.destroy(session.engineRun());
  }
  const names = new Set(guarded.map(({ name }) => name));
  const found = await driver.existingData(run.signal);
  const former = (await driver.formerData?.(run.signal)) ?? [];
  const own = [...found.filter(({ name, stack }) => names.has(name) || stack === project.plan.stack), ...former];
  session.phase("data", `Deleting ${own.map(({ name }) => name).join(", ") || "no data"}`);
  await driver.deleteData(own, run.signal);
  const foreign = found.filter((one) => !own.includes(one)).map(({ name }) => name);
  if (foreign.length > 0) session.warn(`${foreign.join(", ")} stay: nothing says any more that this stack has them.`);
  for (const { name } of project.plan.nodes) await forgetFence(session, driver, name);
  await engine.remove();
  return own.map(({ name, place }) => ({ name, place }));
}

/** Where the data are is still worth knowing; nodes there are none. */
async function forgetNodes({ run, files }: Session, data: { name: string; place: string }[]): Promise<void> {
  const record = await readRecord(run.dir);
  if (record !== null) await writeRecord(files, { ...record, nodes: [], data });
}

async function withPlaces(
  resources: readonly RecordedResource[],
  dir: string,
): Promise<{ name: string; place: string }[]> {
  const record = await readRecord(dir);
  return [...resources]
    .sort((a, b) => a.name.localeCompare(b.name))
    .map(({ name }) => ({ name, place: record?.data.find((one) => one.name === name)?.place ?? "unknown" }));
}
