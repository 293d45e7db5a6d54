/**
 * One operator at a time. The operating system's lock on `infra/.lock` is held as long as the command lives, however it
 * ends; the record in the file outlives a holder that was killed, so that the next run can reconcile.
 */

import { type FileHandle, mkdir, open, readFile } from "node:fs/promises";
import { hostname, userInfo } from "node:os";
import { dirname } from "node:path";
import process from "node:process";
import { tryLock } from "fs-native-extensions";
import { z } from "zod";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { codeOf } from "../../../runtime/contracts/system-errors.ts";
import type { Holder } from "../schemas.ts";

const record = z.strictObject({
  user: z.string(),
  host: z.string(),
  pid: z.number().int(),
  command: z.string(),
  started_at: z.string(),
  /** The kernel's name of the boot: after a restart the number of a process means nothing. */
  boot: z.string(),
});
export type LockRecord = z.infer<typeof record>;

export interface OperatorLock {
  /** What a holder that did not end by itself left in the file; null when the last one ended well. */
  readonly interrupted: LockRecord | null;
  /** Ends well: nothing is left in the file. */
  release(): Promise<void>;
  /** Puts back what was found in the file. */
  restore(found: LockRecord): Promise<void>;
  /** Gives the lock up and leaves the record, as a killed process does: what it began is not finished. */
  abandon(): Promise<void>;
}

export type LockState =
  | { readonly state: "free" }
  /** A run is in progress; null where the file does not name its holder. */
  | { readonly state: "held"; readonly holder: LockRecord | null }
  /** The holder's process has ended. */
  | { readonly state: "dead"; readonly holder: LockRecord }
  /** On another host, where this one cannot check. */
  | { readonly state: "elsewhere"; readonly holder: LockRecord };

export interface Identity {
  readonly user: string;
  readonly host: string;
  readonly pid: number;
  readonly boot: string;
}

/** Where the system does not name its boots. */
export const UNKNOWN_BOOT = "unknown";

export async function ownIdentity(): Promise<Identity> {
  const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => UNKNOWN_BOOT);
  return { user: userInfo().username, host: hostname(), pid: process.pid, boot: boot.trim() };
}

/** Looks and changes nothing. */
export async function inspectLock(path: string, identity: Identity): Promise<LockState> {
  const file = await open(path, "r").catch(noFile);
  if (file === null) return { state: "free" };
  try {
    const holder = parseRecord(await file.readFile("utf8"), identity);
    if (!tryLock(file.fd, { shared: true })) return { state: "held", holder };
    return classify(holder, identity);
  } finally {
    await file.close();
  }
}

function classify(holder: LockRecord | null, identity: Identity): LockState {
  if (holder === null) return { state: "free" };
  return holder.host === identity.host ? { state: "dead", holder } : { state: "elsewhere", holder };
}

/**
 * Takes the lock and writes who has it. INFRA_LOCKED names a holder that is at work, or that is on another host;
 * `takeOver` takes a record of another host for dead. `left` has the record of a dead holder; the caller decides about it.
 */
export async function takeLock(
  path: string,
  command: string,
  identity: Identity,
  now: Date,
  { takeOver = false }: { readonly takeOver?: boolean } = {},
): Promise<OperatorLock> {
  await mkdir(dirname(path), { recursive: true });
  const file = await open(path, "a+", 0o600);
  try {
    const text = await readWhole(file);
    if (!tryLock(file.fd)) throw lockedBy(parseRecord(text, identity), identity);
    const state = classify(parseRecord(await readWhole(file), identity), identity);
    if (state.state === "elsewhere" && !takeOver) throw lockedBy(state.holder, identity);
    const interrupted = state.state === "free" || state.state === "held" ? null : state.holder;
    const write = async (holder: LockRecord): Promise<void> => {
      await file.truncate(0);
      await file.appendFile(`${JSON.stringify(holder)}\n`);
      await file.datasync();
    };
    await write({ ...identity, command, started_at: now.toISOString() }).catch(async (error: unknown) => {
      // Half a record, for want of room, would be taken for a run that was killed.
      if (interrupted === null) await file.truncate(0);
      throw error;
    });
    return {
      interrupted,
      restore: write,
      async release() {
        await file.truncate(0);
        await file.close();
      },
      async abandon() {
        await file.close();
      },
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** INFRA_LOCKED. Only of a holder on another host it cannot be known here whether it lives. */
export function lockedBy(holder: LockRecord | null, { host }: Pick<Identity, "host">): InfraError {
  const who = holder === null ? "another process" : describeHolder(holder);
  return new InfraError("INFRA_LOCKED", `The stack is locked by ${who}.`, {
    hint:
      holder === null || holder.host === host
        ? "Wait until it is done; Ctrl-C there ends it after its current step."
        : "Wait until it is done. If that host will never finish it, run `cairn infra unlock --force NAME` with the stack's name.",
  });
}

export function describeHolder({ user, host, pid, command, started_at }: Holder): string {
  // Rollouts through the fleet's database have a command of their own.
  const typed = command.startsWith("update") ? command : `infra ${command}`;
  return `${user}@${host}: \`cairn ${typed}\` (process ${pid}, since ${started_at})`;
}

/** Without what only this machine understands. */
export function publicHolder({ user, host, pid, command, started_at }: LockRecord): Holder {
  return { user, host, pid, command, started_at };
}

function parseRecord(text: string, { host }: Identity): LockRecord | null {
  if (text.trim() === "") return null;
  try {
    return record.parse(JSON.parse(text));
  } catch {
    // Cut short by the holder's death: a run was in progress, and nothing more can be read.
    return { user: "unknown", host, pid: 0, command: "unknown", started_at: "unknown", boot: "" };
  }
}

async function readWhole(file: FileHandle): Promise<string> {
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
  return buffer.toString("utf8", 0, bytesRead);
}

function noFile(error: unknown): null {
  if (codeOf(error) === "ENOENT") return null;
  throw error;
}
