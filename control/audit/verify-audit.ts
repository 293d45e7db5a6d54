/** Checks the hash chain over the audit log of this machine: whether each line is as it was written, and none is missing between two. */

import { setTimeout as sleep } from "node:timers/promises";
import {
  type AuditFileName,
  addUnchained,
  Link,
  listAuditFiles,
  NO_HASH,
  parseChained,
  readAuditLines,
} from "../../runtime/files/audit-chain.ts";

export interface AuditProblem {
  readonly file: string;
  /** From 1 on; null for the whole file. */
  readonly line: number | null;
  readonly reason: string;
}

export interface AuditVerification {
  readonly directory: string;
  readonly files: number;
  /** Lines with a hash that is right. */
  readonly verified: number;
  /** Lines from before the chain, and parts of lines that a crash or a full disk has left: the next hash covers them. */
  readonly without_hash: number;
  /** Older files were removed when they were past their time. */
  readonly begins_later: boolean;
  /** Hash of the newest line: kept elsewhere, it shows later that nothing before it was changed or removed. */
  readonly head: string | null;
  readonly problems: readonly AuditProblem[];
}

/** A node that writes a line at this moment may be seen in the middle of it. */
const WRITING_MS = 500;
/** Further ones would say the same. */
const MOST_PROBLEMS = 100;

/** `includes`: a hash that the chain must have. */
export async function verifyAudit(
  directory: string,
  options: { readonly includes?: string | undefined; readonly signal: AbortSignal },
): Promise<AuditVerification> {
  const first = await verifyOnce(directory, options);
  if (first.problems.at(-1)?.reason !== CUT) return first;
  await sleep(WRITING_MS, undefined, { signal: options.signal });
  return verifyOnce(directory, options);
}

const CUT = "ends in the middle of a line";

async function verifyOnce(
  directory: string,
  { includes, signal }: { readonly includes?: string | undefined; readonly signal: AbortSignal },
): Promise<AuditVerification> {
  const files = await listAuditFiles(directory);
  const problems: AuditProblem[] = [];
  /** Hashes that other files go on from, and the one that is asked for: the last file that has them. */
  const seen = new Map<string, string | null>(includes === undefined ? [] : [[includes, null]]);
  /** The file before, if it is one of the chain. */
  let previous: string | null = null;
  for (const { path } of files) {
    const start = await startOf(path).catch(() => null);
    if (start !== null) seen.set(start, null);
  }
  let verified = 0;
  let withoutHash = 0;
  let head: string | null = null;
  let beginsLater = false;

  async function verifyFile({ name, path }: AuditFileName): Promise<void> {
    const report = (line: number | null, reason: string): void => void problems.push({ file: name, line, reason });
    let number = 0;
    let last: string | null = null;
    let link = new Link();
    let behind = 0;
    let isCut = false;
    for await (const line of readAuditLines(path)) {
      signal.throwIfAborted();
      number += 1;
      isCut = !line.whole;
      const chained = parseChained(line);
      if (chained === null) {
        addUnchained(link, line);
        behind += 1;
        continue;
      }
      const prev = last ?? chained.prev;
      if (prev === null) report(number, "has lost its beginning: it does not say what it goes on from");
      else if (last === null && head === null && withoutHash === 0) beginsLater = prev !== NO_HASH;
      // Not its last one alone: a clock that was set back goes on in the file before. Lines without hashes are followed by the chain's first one.
      else if (last === null && (head === null ? prev !== NO_HASH : seen.get(prev) !== previous)) {
        report(number, "does not go on from the file before it: lines or files are missing between them");
      }
      link.add(chained.covered);
      if (prev !== null && link.hash(prev) !== chained.hash) {
        const since = number - behind;
        report(number, behind === 0 ? "was changed, or follows a change" : `lines ${since} to ${number} were changed`);
      } else verified += 1;
      withoutHash += behind;
      behind = 0;
      last = chained.hash;
      head = chained.hash;
      if (seen.has(last)) seen.set(last, name);
      link = new Link();
    }
    withoutHash += behind;
    if (last !== null) previous = name;
    if (isCut) report(number, CUT);
    else if (behind > 0 && head !== null) {
      report(number, behind === 1 ? "has no hash" : `the last ${behind} lines have no hash`);
    }
  }

  for (const file of files) {
    try {
      await verifyFile(file);
    } catch (error) {
      signal.throwIfAborted();
      problems.push({ file: file.name, line: null, reason: `cannot be read: ${reasonOf(error)}` });
    }
  }
  if (head === null && withoutHash > 0 && problems.length === 0) {
    const file = files.at(-1)?.name ?? directory;
    problems.push({
      file,
      line: null,
      reason: "no line has a hash: a version without them wrote all, or it was changed",
    });
  }
  if (includes !== undefined && (seen.get(includes) ?? null) === null) {
    const file = files.at(-1)?.name ?? directory;
    problems.push({ file, line: null, reason: `no line has the hash ${includes}: what led to it is missing` });
  }
  return {
    directory,
    files: files.length,
    verified,
    without_hash: withoutHash,
    begins_later: beginsLater,
    head,
    problems: problems.slice(0, MOST_PROBLEMS),
  };
}

/** The hash that a file goes on from. */
async function startOf(path: string): Promise<string | null> {
  for await (const line of readAuditLines(path)) {
    const chained = parseChained(line);
    if (chained !== null) return chained.prev;
  }
  return null;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
