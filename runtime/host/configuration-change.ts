/**
 * Whether cairn.yaml is another than at the last start, for the security log: the names of the keys that differ, never a value.
 * Between starts the home keeps a digest of each value, keyed with the node's key, so that none can be guessed from the file.
 */

import { createHmac, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import type { SecurityLog } from "../contracts/security-log.ts";
import { writeDurably } from "../files/durable.ts";

/** By the path of the key, such as `tools.shell.network`. */
type Digests = Readonly<Record<string, string>>;

const MAX_NAMES = 50;

/** Records nothing at the very first start. Never rejects: a start does not fail for its trace. */
export async function recordConfigurationChange(
  file: string,
  stateFile: string,
  key: KeyObject,
  security: SecurityLog,
): Promise<void> {
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null) return;
  const now = digestsOf(text, key);
  const before = await readDigests(stateFile);
  const changed = before === null ? [] : changedKeys(before, now);
  if (changed.length > 0) {
    const details = { keys: changed.slice(0, MAX_NAMES), count: changed.length, digest: digest(text, key) };
    security.record({ event: "configuration.changed", outcome: "done", details });
  }
  if (before !== null && changed.length === 0) return;
  await writeDurably(stateFile, `${JSON.stringify(now)}\n`, { mode: 0o600 }).catch(() => undefined);
}

/** Comments and layout are none of its keys, and change nothing. */
function digestsOf(text: string, key: KeyObject): Digests {
  const found: Record<string, string> = {};
  const visit = (path: string, value: unknown): void => {
    if (typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0) {
      for (const [name, child] of Object.entries(value)) visit(path === "" ? name : `${path}.${name}`, child);
    } else found[path] = digest(JSON.stringify(value) ?? "", key);
  };
  visit("", parse(text));
  return found;
}

function changedKeys(before: Digests, now: Digests): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].filter((name) => before[name] !== now[name]).sort();
}

/** Null where there is none, or none that can be read. */
async function readDigests(file: string): Promise<Digests | null> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    // Written by this module alone; a value that is no text differs from every digest.
    return typeof value === "object" && value !== null ? (value as Digests) : null;
  } catch {
    return null;
  }
}

function digest(text: string, key: KeyObject): string {
  const secret = key.export({ type: "pkcs8", format: "der" });
  return createHmac("sha256", secret).update(text).digest("base64url");
}
