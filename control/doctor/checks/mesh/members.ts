/** `mesh.json`, the registry of the fleet's nodes, as far as doctor needs it. */

import { join } from "node:path";
import { parseMeshFile } from "../../../../runtime/files/mesh-file.ts";
import type { ProbeContext } from "../../context/probe-context.ts";
import { readRegularFile } from "../../context/regular-file.ts";
import { Unavailable } from "../check.ts";

export interface Member {
  readonly name: string;
  /** Absent where the node reports none. */
  readonly address: string | null;
}

export function registryPath(context: ProbeContext): string {
  return join(context.home(), "mesh.json");
}

/** Unavailable where this node is in no mesh. */
export async function requireMesh(context: ProbeContext): Promise<void> {
  if ((await context.target()) !== null)
    throw new Unavailable("The nodes keep the registry of the mesh on the target.");
  const { mesh } = await context.config();
  if (!mesh.enabled) throw new Unavailable("This node is in no mesh (mesh.enabled).");
}

/** Null when there is no registry yet. Rejects for one that cannot be read, or is none. */
export async function readMembers(context: ProbeContext): Promise<readonly Member[] | null> {
  const text = await readRegularFile(registryPath(context));
  return text === null ? null : parseMeshFile(text).nodes;
}
