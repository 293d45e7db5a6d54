/** What leads on after a disk was full or a host went away in the middle of a run: told by what the run has left in its records. */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { Engine } from "../engine/engine.ts";
import { PulumiFailure } from "../engine/pulumi-cli.ts";
import type { InfraFiles } from "../files.ts";
import { readCopy } from "../state/copies.ts";
import { isFull } from "./full-disk.ts";

/** Where a run that was cut off has its records. */
interface Interrupted {
  readonly engine: Engine;
  readonly files: InfraFiles;
}

/** INFRA_DISK_FULL and INFRA_HOST_UNREACHABLE with the way on in their hint; every other error as it is. */
export async function withNextCommand(session: Interrupted, command: string, error: unknown): Promise<unknown> {
  if (isFull(error)) {
    const hint = await nextCommand(session, command).catch(() => null);
    const message = "The disk of the deployment directory is full.";
    return hint === null
      ? error
      : new InfraError("INFRA_DISK_FULL", message, { hint: `Make room. Then ${hint}`, cause: error });
  }
  // Who wraps the error of another one has said already what helps.
  if (!(error instanceof InfraError) || error.cause instanceof InfraError) return error;
  const { code, details, message } = error;
  // What has found too little room elsewhere, before anything was changed, says itself what helps.
  const full = code === "INFRA_DISK_FULL" && error.cause instanceof PulumiFailure;
  if (!full && code !== "INFRA_HOST_UNREACHABLE") return error;
  const next = await nextCommand(session, command).catch(() => null);
  if (next === null) return error;
  const first = full ? "Make room." : (details.hint ?? "");
  return new InfraError(code, message, { ...details, hint: `${first} Then ${next}`.trim(), cause: error.cause });
}

/** Continues a hint after "Then ". */
async function nextCommand({ engine, files }: Interrupted, command: string): Promise<string> {
  const state = await engine.state().catch((error: unknown) => {
    if (error instanceof InfraError && error.code === "INFRA_STATE_UNREADABLE") return "cut" as const;
    throw error;
  });
  if (state === "cut") {
    const copied = (await readCopy(files, null).catch(() => null)) !== null;
    // What was made after the copy and holds data is there under its name, and is no other stack's.
    const adopting = command.startsWith("up") ? `\`cairn infra ${command} --adopt\`` : "the same command again";
    return copied
      ? `run \`cairn infra unlock --restore-state\` and ${adopting}: the recorded state was cut off.`
      : "run `cairn infra recover`: the recorded state was cut off, before there was a copy of it. The data stay.";
  }
  return "run the same command again: nothing that was made is lost.";
}
