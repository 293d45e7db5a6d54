/** One spooled batch as a file: its name, which sorts by age and contains the session, and its content. */

import { createHash } from "node:crypto";
import type { CaptureBatch } from "../../contracts/capture.ts";
import type { ErrorBody } from "../../contracts/errors.ts";
import { isRecord } from "../../contracts/values.ts";

export interface SpoolFile {
  readonly version: 1;
  readonly batch: CaptureBatch;
  /** In `dead/`: the node's error. */
  readonly refused?: { readonly status: number; readonly error: ErrorBody; readonly at: string };
}

export interface SpoolName {
  readonly name: string;
  /** Milliseconds since 1970; never less than that of a file that was there before. */
  readonly time: number;
  /** Files of one session must be replayed in order. */
  readonly session: string;
}

const NAME = /^(\d{14})-([0-9a-f]{12})-([0-9a-f]{16})\.json$/;

export function spoolName(time: number, random: string, sessionKey: string): string {
  return `${String(time).padStart(14, "0")}-${random}-${sessionTag(sessionKey)}.json`;
}

/** Null for a file that is none of ours. */
export function parseSpoolName(name: string): SpoolName | null {
  const match = NAME.exec(name);
  return match === null ? null : { name, time: Number(match[1]), session: match[3] ?? "" };
}

export function sessionTag(sessionKey: string): string {
  return createHash("sha256").update(sessionKey).digest("hex").slice(0, 16);
}

/** The file's content, or what is wrong with it. */
export function parseSpoolFile(text: string): SpoolFile | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text.trim() === "" ? "is empty" : "is not whole JSON";
  }
  if (!isRecord(value) || value["version"] !== 1) return "is not of a version that this client knows";
  const { batch } = value;
  if (!isRecord(batch) || typeof batch["session_key"] !== "string" || !Array.isArray(batch["events"])) {
    return "holds no batch";
  }
  // Written by this client; the node validates the batch itself.
  return value as unknown as SpoolFile;
}
