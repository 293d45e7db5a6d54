/** Lines of the audit log of this machine that are asked for, oldest first. */

import { listAuditFiles, readAuditLines } from "../../runtime/files/audit-chain.ts";
import { parseLine } from "../logs/log-filter.ts";

export interface AuditFilter {
  readonly since?: Date | undefined;
  readonly events?: readonly string[] | undefined;
  readonly agent?: string | undefined;
  readonly grep?: RegExp | undefined;
}

export type AuditEntry = Readonly<Record<string, unknown>>;

/** The newest `limit`. What is no JSON object, such as a line that a crash cut off, is left out: `audit verify` reports it. */
export async function readAudit(
  directory: string,
  filter: AuditFilter,
  limit: number,
  signal: AbortSignal,
): Promise<readonly AuditEntry[]> {
  const day = filter.since?.toISOString().slice(0, 10) ?? "";
  const files = (await listAuditFiles(directory)).filter(({ name }) => name.slice(0, 10) >= day);
  const found: AuditEntry[] = [];
  for (const { path } of files.reverse()) {
    if (found.length >= limit) break;
    const wanted: AuditEntry[] = [];
    for await (const { bytes, whole } of readAuditLines(path)) {
      signal.throwIfAborted();
      const { text, fields } = parseLine(bytes.toString("utf8"));
      if (whole && fields !== null && isWanted(text, fields, filter)) wanted.push(fields);
      if (wanted.length > 2 * limit) wanted.splice(0, wanted.length - limit);
    }
    found.unshift(...wanted.slice(-(limit - found.length)));
  }
  return found;
}

function isWanted(text: string, entry: AuditEntry, { since, events, agent, grep }: AuditFilter): boolean {
  if (since && !(Date.parse(String(entry["at"])) >= since.getTime())) return false;
  if (events && !events.includes(String(entry["event"]))) return false;
  if (agent !== undefined && entry["agent"] !== agent) return false;
  return grep === undefined || grep.test(text);
}
