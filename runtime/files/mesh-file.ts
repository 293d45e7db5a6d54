/** `mesh.json` in the home directory: what this node knows of the mesh, as it has written it down last. One schema for who writes and who reads it. */

import { readFile, rename } from "node:fs/promises";
import { z } from "zod";
import type { MeshState } from "../contracts/membership.ts";
import { codeOf } from "../contracts/system-errors.ts";
import { writeDurably } from "./durable.ts";
import { admissionSchema, nodeEntrySchema, revocationSchema } from "./mesh-schema.ts";

const meshFile = z.object({
  version: z.literal(1),
  root: z.string().nullable().default(null),
  nodes: z.array(nodeEntrySchema),
  admissions: z.record(z.string(), admissionSchema).default({}),
  revocations: z.array(revocationSchema).default([]),
});

/** Null where there is none yet. Rejects for a file that cannot be read, or is none such. */
export async function readMeshFile(path: string): Promise<MeshState | null> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  });
  return text === null ? null : parseMeshFile(text);
}

/** Throws for what is no such file. */
export function parseMeshFile(text: string): MeshState {
  const { root, nodes, admissions, revocations } = meshFile.parse(JSON.parse(text));
  return { root, nodes, admissions, revocations };
}

export function writeMeshFile(path: string, { root, nodes, admissions, revocations }: MeshState): Promise<void> {
  const text = JSON.stringify({ version: 1, root, nodes, admissions, revocations }, null, 2);
  return writeDurably(path, `${text}\n`, { mode: 0o600 });
}

/** Moves a file that cannot be used out of the way, and keeps it. Its new path. */
export async function setMeshFileAside(path: string, now: Date): Promise<string> {
  const aside = `${path}.unreadable-${now.toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;
  await rename(path, aside);
  return aside;
}
