/**
 * The service's log file: written in the background, rotated by size. It never stops the service: what a full disk refuses
 * is tried again with the next line, up to a bound, then dropped and counted.
 */

import { writeSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

export interface LogFileSettings {
  readonly directory: string;
  /** Bytes after which the next file begins. */
  readonly size?: number;
  /** Files that are kept beside the one that is written. */
  readonly kept?: number;
  /** Bytes of lines that wait for the disk; more are dropped. */
  readonly waiting?: number;
}

const MIB = 1024 * 1024;
const NAME = /^cairn\.(\d+)\.log$/;

/** Opens the newest `cairn.N.log` of the directory, which is made if it is missing. Rejects when neither can be done. */
export async function openLogFile({
  directory,
  size = 20 * MIB,
  kept = 10,
  waiting = 4 * MIB,
}: LogFileSettings): Promise<LogFile> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const newest = Math.max(1, ...(await numbers(directory)));
  return new LogFile({ directory, size, kept, waiting }, newest, await openNumber(directory, newest));
}

export class LogFile {
  readonly #settings: Required<LogFileSettings>;
  #number: number;
  #handle: FileHandle;
  #written: number;
  #lines: Buffer[] = [];
  #bytes = 0;
  #dropped = 0;
  #writing: Promise<void> | null = null;

  constructor(settings: Required<LogFileSettings>, number: number, opened: Opened) {
    this.#settings = settings;
    this.#number = number;
    this.#handle = opened.handle;
    this.#written = opened.size;
  }

  /** Takes a line with its line break. Never throws. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#bytes + bytes.length > this.#settings.waiting) this.#dropped += 1;
    else this.#push(bytes);
    this.#start();
  }

  /** Writes what waits at once, as far as the disk takes it: for the last line of a process. pino calls it at level fatal. */
  flushSync(): void {
    try {
      for (const line of this.#lines.splice(0)) {
        this.#bytes -= line.length;
        writeSync(this.#handle.fd, line);
      }
    } catch {
      // The process ends, and standard output has the line.
    }
  }

  /** Writes what waits and closes the file. Resolves also when the disk takes nothing. */
  async close(): Promise<void> {
    this.#start();
    await this.#writing;
    await this.#handle.close().catch(() => undefined);
  }

  #start(): void {
    if (this.#writing !== null) return;
    this.#writing = this.#drain().then(
      () => {
        this.#writing = null;
        // A line that came between the last look and now.
        if (this.#lines.length > 0) this.#start();
      },
      () => {
        // A full disk, or a directory that is gone: the next line tries again.
        this.#writing = null;
      },
    );
  }

  async #drain(): Promise<void> {
    while (this.#lines.length > 0) {
      if (this.#written >= this.#settings.size) await this.#rotate();
      await this.#append();
      if (this.#dropped > 0) this.#reportDropped();
    }
  }

  /** A write that takes a part leaves the rest in its place. */
  async #append(): Promise<void> {
    const lines = this.#lines.splice(0);
    let rest = Buffer.concat(lines);
    try {
      while (rest.length > 0) {
        const { bytesWritten } = await this.#handle.write(rest);
        this.#written += bytesWritten;
        this.#bytes -= bytesWritten;
        rest = rest.subarray(bytesWritten);
      }
    } catch (error) {
      this.#lines.unshift(rest);
      throw error;
    }
  }

  #reportDropped(): void {
    const line = { level: "warn", time: new Date().toISOString(), dropped: this.#dropped };
    this.#dropped = 0;
    this.#push(
      Buffer.from(`${JSON.stringify({ ...line, msg: "lines of the log were lost: the disk took no more" })}\n`),
    );
  }

  #push(line: Buffer): void {
    this.#lines.push(line);
    this.#bytes += line.length;
  }

  async #rotate(): Promise<void> {
    const { directory, kept } = this.#settings;
    const next = await openNumber(directory, this.#number + 1);
    const former = this.#handle;
    this.#handle = next.handle;
    this.#written = next.size;
    this.#number += 1;
    await former.close();
    const old = (await numbers(directory)).filter((number) => number < this.#number - kept);
    await Promise.all(old.map((number) => rm(pathOf(directory, number), { force: true })));
  }
}

interface Opened {
  readonly handle: FileHandle;
  readonly size: number;
}

async function openNumber(directory: string, number: number): Promise<Opened> {
  const handle = await open(pathOf(directory, number), "a", 0o600);
  try {
    return { handle, size: (await handle.stat()).size };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function numbers(directory: string): Promise<readonly number[]> {
  return (await readdir(directory)).flatMap((name) => NAME.exec(name)?.[1] ?? []).map(Number);
}

function pathOf(directory: string, number: number): string {
  return join(directory, `cairn.${number}.log`);
}
