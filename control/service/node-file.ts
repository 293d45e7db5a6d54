/** `run/node.json`: how a running node describes itself to the commands on the same machine. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import { isRecord } from "../../runtime/contracts/values.ts";

export interface NodeFile {
  readonly pid: number;
  readonly url: string;
  /** SHA-256 fingerprint of the node's certificate; null without TLS, and of a node of an earlier version. */
  readonly certificate_sha256: string | null;
  /** Of the one that it will show after that; null where it makes none itself. */
  readonly next_certificate_sha256: string | null;
  /** ISO 8601. */
  readonly started_at: string;
  /** The deployment directory that it was started with. */
  readonly dir: string;
  readonly version: string;
  /** A short-lived process behind a command that needs the store: no agents, no channels. */
  readonly maintenance: boolean;
}

export function nodeFilePath(home: string): string {
  return join(home, "run", "node.json");
}

/** The operating system's lock on this file is held as long as the node lives, however it ends. */
export function nodeLockPath(home: string): string {
  return join(home, "run", "node.lock");
}

/** Null when there is none, or when it cannot be read as one: a node that is just starting is writing it. */
export async function readNodeFile(home: string): Promise<NodeFile | null> {
  let text: string;
  try {
    text = await readFile(nodeFilePath(home), "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
  return parseNodeFile(text);
}

/** Null for what is none. */
export function parseNodeFile(text: string): NodeFile | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value)) return null;
  const {
    pid,
    url,
    certificate_sha256,
    next_certificate_sha256,
    started_at,
    dir,
    version,
    maintenance,
  }: Partial<Record<keyof NodeFile, unknown>> = value;
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid <= 1) return null;
  if (typeof url !== "string" || !URL.canParse(url)) return null;
  if (typeof started_at !== "string" || Number.isNaN(Date.parse(started_at))) return null;
  return {
    pid,
    url,
    certificate_sha256: typeof certificate_sha256 === "string" ? certificate_sha256 : null,
    next_certificate_sha256: typeof next_certificate_sha256 === "string" ? next_certificate_sha256 : null,
    started_at,
    dir: typeof dir === "string" ? dir : "",
    version: typeof version === "string" ? version : "",
    maintenance: maintenance === true,
  };
}
