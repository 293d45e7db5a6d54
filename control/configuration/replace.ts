/**
 * The one step in which cairn.yaml changes: only one command at a time, only where the file is still what the change was made
 * from, whole or not at all.
 */

import { randomUUID } from "node:crypto";
import { type FileHandle, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { CairnError, ConfigError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { shellWord } from "../../runtime/contracts/shell-quote.ts";
import { systemWords } from "../../runtime/contracts/system-errors.ts";
import { syncDirectory, writeDurably } from "../../runtime/files/durable.ts";

const MODE_BITS = 0o7777;
const WRITE_BITS = 0o222;
/** For as long as another command that changes the file is waited for; it takes milliseconds. */
const LOCK_DEADLINE_MS = 5_000;
const LOCK_INTERVAL_MS = 10;

export interface Replacement {
  readonly file: string;
  /** The text that the change was made from. */
  readonly expected: string;
  readonly text: string;
  /** Called once the new file is beside the old one; tests interfere there. */
  readonly onStaged?: () => Promise<void>;
}

/**
 * RUNTIME_CONFLICT where the file was changed meanwhile, or is locked by another edit; CONFIG_UNWRITABLE, also for a file that
 * is read-only: its owner has decided so, though the directory would allow to replace it. A link stays one.
 */
export async function replaceConfiguration({ file, expected, text, onStaged }: Replacement): Promise<void> {
  await withEditLock(file, async () => {
    try {
      const real = await realpath(file);
      await requireUnchanged(file, expected);
      await requireWritableFile(file);
      const { mode, uid, gid } = await stat(real);
      const staged = `${real}.${randomUUID()}`;
      try {
        await writeDurably(staged, text, { mode: mode & MODE_BITS, owner: { uid, gid } });
        await onStaged?.();
        // An editor takes no lock: compared once more, right before the rename.
        await requireUnchanged(file, expected);
        await rename(staged, real);
      } finally {
        await rm(staged, { force: true });
      }
      await syncDirectory(dirname(real));
    } catch (error) {
      if (error instanceof CairnError) throw error;
      const { reason, hint = "Check the permissions of the file and of its directory." } = systemWords(error);
      throw new ConfigError("CONFIG_UNWRITABLE", `${file} cannot be written (${reason}).`, {
        cause: error,
        hint: `Nothing was changed. ${hint}`,
      });
    }
  });
}

/** RUNTIME_CONFLICT where the file is not what it was; the system's error where it cannot be read. */
export async function requireUnchanged(file: string, expected: string): Promise<void> {
  if ((await readFile(file, "utf8")) === expected) return;
  throw new RuntimeError("RUNTIME_CONFLICT", `${file} was changed meanwhile; nothing was written.`, {
    hint: "Look at it and run the command again.",
  });
}

/** CONFIG_UNWRITABLE for a file that has no permission to write at all; it holds for root, too. */
export async function requireWritableFile(file: string): Promise<void> {
  const { mode } = await stat(file);
  if ((mode & WRITE_BITS) !== 0) return;
  throw new ConfigError("CONFIG_UNWRITABLE", `${file} is read-only: its mode is ${octal(mode)}.`, {
    hint: `Nothing was changed. Allow it with \`chmod u+w ${shellWord(file)}\`.`,
  });
}

/**
 * A lock of the operating system, which ends with its process; what a killed one leaves of it locks nothing. Where none can be
 * had, the second look has to do. RUNTIME_CONFLICT where another command keeps it.
 */
export async function withEditLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const path = `${file}.lock`;
  const lock = await takeLock(path);
  if (lock === null) return work();
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
    await lock.close();
  }
}

/** Null where no such file can be made. RUNTIME_CONFLICT after the deadline. */
async function takeLock(path: string): Promise<FileHandle | null> {
  const { tryLock } = await import("fs-native-extensions");
  const deadline = performance.now() + LOCK_DEADLINE_MS;
  for (;;) {
    const lock = await open(path, "a", 0o600).catch(() => null);
    if (lock === null) return null;
    // The former holder has removed the file: the locked file must be the one that others open.
    if (tryLock(lock.fd) && (await lock.stat()).ino === (await inodeOf(path))) return lock;
    await lock.close();
    if (performance.now() > deadline) {
      throw new RuntimeError(
        "RUNTIME_CONFLICT",
        "Another command is changing the configuration; nothing was written.",
        {
          hint: "Run it again once that one is done.",
        },
      );
    }
    await wait(LOCK_INTERVAL_MS);
  }
}

async function inodeOf(path: string): Promise<number | null> {
  return stat(path).then(
    ({ ino }) => ino,
    () => null,
  );
}

function octal(mode: number): string {
  return `0${(mode & MODE_BITS).toString(8)}`;
}
