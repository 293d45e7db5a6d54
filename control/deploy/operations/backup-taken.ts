/** A backup that was taken by hand, before data are deleted on the strength of it: of the memory alone, or of the whole deployment. */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { InfraError, MemoryError } from "../../../runtime/contracts/errors.ts";
import { openBackup, verifyOnly } from "../../backup/read.ts";
import { UsageError } from "../../output/failure.ts";
import { isBackup } from "../backup-file.ts";
import type { OperationInput } from "./services.ts";

/** It counts for so many milliseconds. */
const FRESH_MS = 24 * 3_600_000;
/** How every file of `cairn backup` begins (control/backup/seal.ts). */
const SEALED = "age-encryption.org/v1";

export interface TakenBackup {
  readonly file: string;
  /** Asked for where the file is sealed. */
  readonly passphrase: (signal: AbortSignal) => Promise<string>;
}

/**
 * Its absolute path. All of it is read, a sealed one with the passphrase. UsageError where there is no such file;
 * INFRA_DATA_PROTECTED for what is no backup, older than a day, cut off, or of another deployment; errors of `passphrase`.
 */
export async function checkTakenBackup(
  { dir, services, signal }: OperationInput,
  { file, passphrase }: TakenBackup,
): Promise<string> {
  const path = resolve(file);
  const found = await stat(path).catch(() => null);
  if (found?.isFile() !== true) throw new UsageError(`There is no file ${path}.`, "--backup-taken names a backup.");
  const isFresh = (time: number): boolean => services.now().getTime() - time < FRESH_MS;
  if (!isFresh(found.mtimeMs)) throw unusable(`${path} is no backup of the last 24 hours`);
  if (!(await isSealed(path))) {
    if (await isBackup(path, signal)) return path;
    throw unusable(`${path} is no whole backup`);
  }
  const { created_at, deployment } = await readSealed(path, await passphrase(signal), signal);
  // A copy has a younger file than it is itself.
  if (!isFresh(Date.parse(created_at))) throw unusable(`${path} is of ${created_at}, not of the last 24 hours`);
  if (deployment.nodes === null) throw unusable(`${path} is of a node outside of the stack (${deployment.directory})`);
  if (deployment.directory !== dir) throw unusable(`${path} is of another deployment (${deployment.directory})`);
  return path;
}

async function isSealed(path: string): Promise<boolean> {
  for await (const chunk of createReadStream(path, { end: SEALED.length - 1, encoding: "latin1" })) {
    return chunk === SEALED;
  }
  return false;
}

async function readSealed(path: string, passphrase: string, signal: AbortSignal) {
  try {
    const opened = await openBackup(path, { passphrase, signal });
    try {
      await opened.read(verifyOnly);
      return opened.manifest;
    } finally {
      await opened.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof MemoryError)) throw error;
    throw unusable(`${path} does not count: ${error.message.replace(/\.$/, "")}`, error);
  }
}

function unusable(why: string, cause?: unknown): InfraError {
  return new InfraError("INFRA_DATA_PROTECTED", `${why}, so nothing was removed.`, {
    hint: "While a node of it runs, leave --backup-taken out: a backup is taken then.",
    ...(cause === undefined ? {} : { cause }),
  });
}
