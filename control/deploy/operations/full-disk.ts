/** What leads on after the disk of the deployment directory was full: one command, told by what the run has left there. */

import { stat, statfs } from "node:fs/promises";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { codeOf } from "../../../runtime/contracts/system-errors.ts";
import { type ExportedState, pendingOf } from "../engine/checkpoint.ts";
import type { Engine } from "../engine/engine.ts";
import { PulumiFailure } from "../engine/pulumi-cli.ts";
import type { InfraFiles } from "../files.ts";
import { readCopy } from "../state/copies.ts";

/** A state is written beside the former one, and copied aside before and after; the engine and the log write as well. */
const STATE_TIMES = 8;
const LEAST_ROOM = 4 * 1024 * 1024;

/**
 * INFRA_DISK_FULL where the disk of the deployment directory has no room for the records of a change, before anything is changed.
 * The engine itself would write the part of its state that fits, put it in the place of the whole one, and try for half a minute
 * each time.
 */
export async function refuseWithoutRoom({ project, state }: InfraFiles, recorded: ExportedState | null): Promise<void> {
  const needed = Math.max(LEAST_ROOM, STATE_TIMES * JSON.stringify(recorded).length);
  for (const folder of [project, state]) {
    const there = await stat(folder).catch(() => null);
    if (there === null) continue;
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    if (free >= needed) continue;
    const [has, wants] = [free, needed].map((bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`);
    throw new InfraError(
      "INFRA_DISK_FULL",
      `The disk of ${folder} has ${has} of room, and the records of a change want ${wants}.`,
      { hint: "Make room, then run the same command again: nothing was changed." },
    );
  }
}

/** Where a run that was cut off has its records. */
interface Interrupted {
  readonly engine: Engine;
  readonly files: InfraFiles;
}

/** The error of a full disk, INFRA_DISK_FULL, with the way on as its hint; every other error as it is. */
export async function withRoom(session: Interrupted, command: string, error: unknown): Promise<unknown> {
  const own = isFull(error);
  // What has found too little room elsewhere, before anything was changed, says itself what helps.
  const isEngines =
    error instanceof InfraError && error.code === "INFRA_DISK_FULL" && error.cause instanceof PulumiFailure;
  if (!own && !isEngines) return error;
  const hint = await advice(session, command).catch(() => null);
  if (hint === null) return error;
  return isEngines
    ? new InfraError("INFRA_DISK_FULL", error.message, { ...error.details, hint })
    : new InfraError("INFRA_DISK_FULL", "The disk of the deployment directory is full.", { hint, cause: error });
}

/** Whether a file of ours found no room. */
export function isFull(error: unknown): boolean {
  return ["ENOSPC", "EFBIG", "EDQUOT"].includes(codeOf(error) ?? "");
}

async function advice({ engine, files }: Interrupted, command: string): Promise<string> {
  const state = await engine.state().catch((error: unknown) => {
    if (error instanceof InfraError && error.code === "INFRA_STATE_UNREADABLE") return "cut" as const;
    throw error;
  });
  if (state === "cut") {
    const copied = (await readCopy(files, null).catch(() => null)) !== null;
    // What was made after the copy and holds data is there under its name, and is no other stack's.
    const adopting = command.startsWith("up") ? `\`cairn infra ${command} --adopt\`` : "the same command again";
    return copied
      ? `The recorded state was cut off. Make room, then run \`cairn infra unlock --restore-state\` and ${adopting}.`
      : "The recorded state was cut off, before there was a copy of it. Make room, then run `cairn infra recover`: the data stay.";
  }
  const open = pendingOf(state).length > 0 || (await engine.locks()).length > 0;
  return `Make room, then run ${open ? "`cairn infra unlock` and " : ""}the same command again: nothing that was made is lost.`;
}
