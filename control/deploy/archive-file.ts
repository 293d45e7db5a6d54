/** A node's data as a file on this machine: a tar archive with gzip, as a program prints it, known to be whole before it counts. */

import { createReadStream } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { execa } from "execa";
import { InfraError } from "../../runtime/contracts/errors.ts";
import { isFull } from "./operations/full-disk.ts";

export interface ArchiveProgram {
  readonly program: string;
  readonly args: readonly string[];
  /** What the words of one that failed mean. */
  failure(stderr: string): InfraError;
}

/**
 * The file is there when it is whole, and nothing of it else. Errors of `program`; INFRA_FAILED for an archive that ended early; of the file
 * system as they are.
 */
export async function writeArchive(
  file: string,
  { program, args, failure }: ArchiveProgram,
  signal: AbortSignal,
): Promise<void> {
  const part = `${file}.part`;
  try {
    // Homes hold keys.
    await writeFile(part, "", { mode: 0o600 });
    const result = await execa(program, [...args], {
      reject: false,
      stdin: "ignore",
      stdout: { file: part },
      // Else all of it is kept in memory too, and ended at 100 MB.
      buffer: { stdout: false },
      cancelSignal: signal,
    });
    signal.throwIfAborted();
    // What the program says then is that nobody reads it any more.
    if (isFull(result)) throw result.cause;
    if (result.failed) throw failure(result.stderr);
    if (!(await isWholeGzip(part, signal))) {
      throw new InfraError("INFRA_FAILED", "The archive ended before it was whole; nothing was deleted.", {
        hint: "Run the same command again.",
      });
    }
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/**
 * False for what is no gzip file, and for one that was cut off: docker and kubectl may end a stream early without an error. It is read to
 * its end, and nothing of it is kept in memory.
 */
export async function isWholeGzip(
  path: string,
  signal: AbortSignal,
  onChunk: (chunk: Buffer) => void = () => undefined,
): Promise<boolean> {
  const inspector = new Writable({
    write(chunk: Buffer, _encoding, done) {
      onChunk(chunk);
      done();
    },
  });
  try {
    await pipeline(createReadStream(path), createGunzip(), inspector, { signal });
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
