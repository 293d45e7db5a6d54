/** What leads on after the disk of the deployment directory was full: one command, told by what the run has left there. */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import { codeOf } from "../../../runtime/contracts/system-errors.ts";
import { pendingOf } from "../engine/checkpoint.ts";
import type { Engine } from "../engine/engine.ts";
import { PulumiFailure } from "../engine/pulumi-cli.ts";
import type { InfraFiles } from "../files.ts";
import { readCopy } from "../state/copies.ts";

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
