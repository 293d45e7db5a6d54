/** Ages the audit log: day files are compressed after a while and removed when they are past their time. */

import { createReadStream, createWriteStream } from "node:fs";
import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Logger } from "../../../contracts/ports.ts";
import { codeOf } from "../../../contracts/system-errors.ts";

export interface AuditAges {
  /** Milliseconds after the end of its day at which a file is removed. */
  readonly audit_retention: number;
  /** Milliseconds after the end of its day at which a file is compressed. */
  readonly audit_compress_after: number;
}

export interface AuditRotation {
  /** Names of files. */
  readonly compressed: readonly string[];
  readonly removed: readonly string[];
  /** What the directory holds afterwards. */
  readonly bytes: number;
  /** Warnings about sizes, in words. */
  readonly warnings: readonly string[];
}

const DAY_MS = 86_400_000;
const DAY_FILE = /^(\d{4}-\d{2}-\d{2})\.jsonl(\.gz)?$/;
const LEFT_OVER = /^\d{4}-\d{2}-\d{2}\.jsonl\.gz\.tmp$/;
const LARGE_DAY_BYTES = 100 * 1024 ** 2;
const LARGE_TOTAL_BYTES = 1024 ** 3;

/**
 * Safe to run at any time and again after a crash: a compressed file appears whole, and only then is its original
 * removed. Files with other names are kept. A directory that does not exist is an empty one. With a logger, the
 * warnings are logged too.
 */
export async function rotateAudit(
  directory: string,
  now: Date,
  ages: AuditAges,
  logger?: Logger,
): Promise<AuditRotation> {
  const compressed: string[] = [];
  const removed: string[] = [];
  for (const name of await listNames(directory)) {
    const path = join(directory, name);
    const day = DAY_FILE.exec(name);
    if (LEFT_OVER.test(name)) await rm(path, { force: true });
    if (!day?.[1]) continue;
    const age = now.getTime() - (Date.parse(`${day[1]}T00:00:00Z`) + DAY_MS);
    if (age >= ages.audit_retention) {
      await rm(path, { force: true });
      removed.push(name);
    } else if (day[2] === undefined && age >= ages.audit_compress_after) {
      await compress(path);
      compressed.push(name);
    }
  }
  const { bytes, warnings } = await measure(directory);
  for (const warning of warnings) logger?.warn({ directory, bytes }, warning);
  return { compressed, removed, bytes, warnings };
}

async function compress(path: string): Promise<void> {
  const temporary = `${path}.gz.tmp`;
  await pipeline(createReadStream(path), createGzip(), createWriteStream(temporary, { mode: 0o600 }));
  const handle = await open(temporary, "r+");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, `${path}.gz`);
  await rm(path);
}

async function measure(directory: string): Promise<Pick<AuditRotation, "bytes" | "warnings">> {
  const warnings: string[] = [];
  let bytes = 0;
  for (const name of await listNames(directory)) {
    if (!DAY_FILE.test(name)) continue;
    const { size } = await stat(join(directory, name));
    bytes += size;
    if (size > LARGE_DAY_BYTES) warnings.push(`the audit log ${name} has ${megabytes(size)} MB`);
  }
  if (bytes > LARGE_TOTAL_BYTES) {
    warnings.push(
      `the audit logs have ${megabytes(bytes)} MB; runtime.safety.audit_retention decides how long they are kept`,
    );
  }
  return { bytes, warnings };
}

async function listNames(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).sort();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 ** 2);
}
