/**
 * `infra recover`: the way out when the recorded state is of no more use, such as after the loss of the passphrase. What was
 * recorded is put aside, what runs is removed, and the stack is deployed anew over its data.
 */

import { existsSync } from "node:fs";
import { cp, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { codeOf } from "../../../runtime/contracts/system-errors.ts";
import { needsTerminal, UsageError } from "../../output/failure.ts";
import { isAlive } from "../../service/processes.ts";
import { readEngineLocks } from "../engine/locks.ts";
import { type InfraFiles, infraFiles } from "../files.ts";
import type { RecoverResult } from "../schemas.ts";
import { takeLock } from "../state/operator-lock.ts";
import { givenBackend } from "./backend.ts";
import { refuseWithoutRoom } from "./full-disk.ts";
import { endUpgrade } from "./postgres/recovered-upgrade.ts";
import type { OperationInput } from "./services.ts";
import { openSession } from "./session.ts";
import { up } from "./up.ts";

export interface RecoverOptions {
  /** The stack's name, as a typed one would be. */
  readonly confirm: string | undefined;
}

/**
 * Repeatable: what was cut off is done by the same command. UsageError without the stack's name; INFRA_LOCKED while somebody is
 * at work; the errors of `up`. Where an upgrade of PostgreSQL was cut off, it goes on with the data that count.
 */
export async function recover(run: OperationInput, options: RecoverOptions): Promise<RecoverResult> {
  const { services, signal } = run;
  const { plan } = await services.readProject(run.dir, signal);
  const files = infraFiles(run.dir, plan.stack);
  if ((await givenBackend(run.dir, run.backend)) !== undefined) throw notAFolder(plan.stack);
  await demandName(run, plan.stack, options.confirm);
  await refuseWithoutRoom(files, null);
  const lock = await takeLock(files.lock, "recover", await services.identity(), services.now());
  let aside: string | null;
  let removed: readonly string[];
  try {
    await refuseLiveEngine(files, plan.stack);
    aside = await putAside(files, services.now());
    const session = await openSession(run);
    session.phase("recover", "Removing what runs; the data stay");
    removed = await session.driver.removeWorkloads(session.report, signal);
    await endUpgrade(session);
  } finally {
    // Nothing is recorded of what was begun: the same command, or `up`, goes on from any place.
    await lock.release();
  }
  const result = await up(run, { node: undefined, image: undefined, adopt: true, yes: true });
  if (result === null) throw new InfraError("INFRA_FAILED", "The stack was not deployed.");
  return { ...result, put_aside: aside, removed: [...removed] };
}

async function demandName({ services, signal }: OperationInput, stack: string, given: string | undefined) {
  if (given === undefined && services.prompts === null) throw needsTerminal("The stack's name", `--confirm ${stack}`);
  const question = `This stops every node of ${stack} and deploys it anew over its data. Type ${stack} to go on`;
  const typed = given ?? (await services.prompts?.typeName(question, signal));
  if (typed === stack) return;
  throw new UsageError(`${typed ?? ""} is not the stack's name.`, `To recover it, name the stack: ${stack}.`);
}

async function refuseLiveEngine(files: InfraFiles, stack: string): Promise<void> {
  const live = (await readEngineLocks(files.state, stack)).find(({ pid }) => isAlive(pid));
  if (live === undefined) return;
  throw new InfraError("INFRA_LOCKED", `The engine is still at work (process ${live.pid}, since ${live.started_at}).`, {
    hint: `Wait until it is done. To end it in the middle of its step: kill ${live.pid}.`,
  });
}

/**
 * State, settings and passphrase go together into a folder of their own, of which git takes nothing: with a passphrase that is
 * found again they are whole. Path of the folder; null where there was nothing.
 */
async function putAside(files: InfraFiles, now: Date): Promise<string | null> {
  const present = [
    files.state,
    files.stackFile,
    files.passphrase,
    files.record,
    files.deployed,
    files.unanswered,
  ].filter((path) => existsSync(path));
  if (present.length === 0) return null;
  const folder = join(files.lost, now.toISOString().replaceAll(/[:.]/g, "-"));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(files.lost, ".gitignore"), "*\n", { mode: 0o600 });
  for (const path of present) await move(path, join(folder, basename(path)));
  return folder;
}

/** The state may be a file system of its own. */
async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!["EXDEV", "EBUSY"].includes(codeOf(error) ?? "")) throw error;
    await cp(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    // The mount itself stays.
    await rm(join(from, ".pulumi"), { recursive: true, force: true });
  }
}

function notAFolder(stack: string): InfraError {
  return new InfraError("INFRA_FAILED", "The state is kept by a backend that is no folder of this deployment.", {
    hint: `Remove the stack there with \`pulumi stack rm --force --preserve-config ${stack}\` in infra/, then \`cairn infra up --adopt\`.`,
  });
}
