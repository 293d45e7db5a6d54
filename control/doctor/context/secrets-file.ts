/**
 * Reads `.env` as the service does, and changes nothing: reading it with the service's own function would repair its
 * mode on the way, without a report.
 */

import { lstat, stat } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "dotenv";
import { mergeEnvironments } from "../../../runtime/config/environment.ts";
import type { Environment } from "../../../runtime/config/references.ts";
import { SECRETS_FILE } from "../../../runtime/config/secrets-file.ts";
import { codeOf } from "../../../runtime/contracts/system-errors.ts";
import { readRegularFile, reasonOf } from "./regular-file.ts";

export interface SecretsSnapshot {
  readonly path: string;
  readonly exists: boolean;
  /** Permission bits, and the number of the owner (of the link too, where it is one). */
  readonly mode: number;
  readonly owners: readonly number[];
  /** Empty when it cannot be read. */
  readonly values: Readonly<Record<string, string>>;
  /** Why it cannot be read; null when it can. */
  readonly problem: string | null;
}

/** Never rejects. */
export async function readSecrets(dir: string): Promise<SecretsSnapshot> {
  const path = join(dir, SECRETS_FILE);
  const nothing = { path, exists: false, mode: 0, owners: [], values: {}, problem: null };
  try {
    const link = await lstat(path).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") return null;
      throw error;
    });
    if (link === null) return nothing;
    const file = await stat(path);
    const seen = { ...nothing, exists: true, mode: file.mode & 0o7777, owners: [...new Set([link.uid, file.uid])] };
    try {
      const text = await readRegularFile(path);
      return { ...seen, values: parse(text ?? "") };
    } catch (error) {
      return { ...seen, problem: reasonOf(error) };
    }
  } catch (error) {
    return { ...nothing, exists: true, problem: reasonOf(error) };
  }
}

export function environmentOf({ values }: SecretsSnapshot, processEnv: Environment): Environment {
  return mergeEnvironments(values, processEnv);
}
