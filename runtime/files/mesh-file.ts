/** `mesh.json` in the home directory: the nodes that this one knows, as it has written them down last. One schema for who writes and who reads it. */

import { readFile } from "node:fs/promises";
import { z } from "zod";
import { NODE_STATUSES, type NodeEntry } from "../contracts/node-entry.ts";
import { codeOf } from "../contracts/system-errors.ts";
import { writeDurably } from "./durable.ts";

const nodeEntry = z.object({
  id: z.string(),
  name: z.string(),
  public_key: z.string(),
  version: z.number(),
  release: z.string(),
  schema: z.number(),
  address: z.string().nullable(),
  certificate_sha256: z.string().nullable(),
  next_certificate_sha256: z.string().nullable(),
  agents: z.array(z.string()),
  status: z.enum(NODE_STATUSES),
  made_at: z.string(),
  signature: z.string(),
});

const meshFile = z.object({ version: z.literal(1), nodes: z.array(nodeEntry) });

/** Null where there is none yet. Rejects for a file that cannot be read, or is none such. */
export async function readMeshFile(path: string): Promise<readonly NodeEntry[] | null> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  });
  return text === null ? null : parseMeshFile(text);
}

/** Throws for what is no such file. */
export function parseMeshFile(text: string): readonly NodeEntry[] {
  return meshFile.parse(JSON.parse(text)).nodes;
}

export function writeMeshFile(path: string, nodes: readonly NodeEntry[]): Promise<void> {
  return writeDurably(path, `${JSON.stringify({ version: 1, nodes }, null, 2)}\n`, { mode: 0o600 });
}
