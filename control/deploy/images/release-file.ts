/** `infra/release.json` in a deployment directory: which image each node has, and which was built last. */

import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import { z } from "zod";
import type { ImageIdentity, Release } from "../../../infra/plan/types.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";

const identity = z.strictObject({
  id: z.string().nullable(),
  digest: z.string().nullable(),
  reference: z.string().min(1),
  version: z.string(),
  revision: z.string().nullable(),
});

const release = z.strictObject({
  schema: z.literal(1),
  built: identity.nullable(),
  nodes: z.record(z.string(), identity),
});

const NOTHING: Release = { schema: 1, built: null, nodes: {} };

export function releaseFile(directory: string): string {
  return join(directory, "infra", "release.json");
}

/** Without a file: nothing built, no nodes. INFRA_STATE_UNREADABLE when it is there and is no release file. */
export async function readRelease(directory: string): Promise<Release> {
  const file = releaseFile(directory);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw unreadable(file, error);
  });
  if (text === null) return NOTHING;
  try {
    return release.parse(JSON.parse(text));
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** Whole or not at all, also when the machine goes down. */
export async function writeRelease(directory: string, content: Release): Promise<void> {
  const file = releaseFile(directory);
  await mkdir(dirname(file), { recursive: true });
  const nodes = Object.fromEntries(Object.entries(content.nodes).sort(([a], [b]) => (a < b ? -1 : 1)));
  await writeFileAtomic(file, `${JSON.stringify({ ...content, nodes }, null, 2)}\n`);
}

/** Remembers the newest image. Resolves with the file's path. */
export async function recordBuilt(directory: string, built: ImageIdentity): Promise<string> {
  await writeRelease(directory, { ...(await readRelease(directory)), built });
  return releaseFile(directory);
}

function unreadable(file: string, cause: unknown): InfraError {
  return new InfraError("INFRA_STATE_UNREADABLE", `${file} cannot be read as a release file.`, {
    cause,
    hint: "Put back the last version that you committed, or delete it: `cairn build` and `cairn infra up` write it anew.",
  });
}
