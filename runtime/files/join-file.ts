/** `join.json` in the home directory: a token that the next start joins a mesh with. One schema for who writes and who reads it. */

import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { codeOf } from "../contracts/system-errors.ts";
import { writeDurably } from "./durable.ts";

const joinFile = z.object({ version: z.literal(1), token: z.string(), url: z.string().nullable() });

export interface JoinFile {
  readonly token: string;
  /** Where the other node is reached from here; null: as the token says. */
  readonly url: string | null;
}

export function joinFilePath(home: string): string {
  return join(home, "join.json");
}

/** Null where there is none. Rejects for one that cannot be read. */
export async function readJoinFile(path: string): Promise<JoinFile | null> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  });
  return text === null ? null : joinFile.parse(JSON.parse(text));
}

/** For its owner alone. */
export function writeJoinFile(path: string, { token, url }: JoinFile): Promise<void> {
  return writeDurably(path, `${JSON.stringify({ version: 1, token, url })}\n`, { mode: 0o600 });
}

export function removeJoinFile(path: string): Promise<void> {
  return rm(path, { force: true });
}
