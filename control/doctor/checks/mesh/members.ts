/** `mesh.json`, the registry of the fleet's nodes, as far as doctor needs it. */

import { join } from "node:path";
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
  if (text === null) return null;
  const registry: unknown = JSON.parse(text);
  const nodes = typeof registry === "object" && registry !== null && "nodes" in registry ? registry.nodes : registry;
  const entries = Array.isArray(nodes)
    ? nodes
    : typeof nodes === "object" && nodes !== null
      ? Object.values(nodes)
      : null;
  if (entries === null) throw new Error("it names no nodes");
  return entries.flatMap((entry: unknown): Member[] => {
    if (typeof entry !== "object" || entry === null) return [];
    const name = textAt(entry, "name") ?? textAt(entry, "id");
    const address = textAt(entry, "address") ?? textAt(entry, "url") ?? textAt(entry, "advertise");
    return name === null ? [] : [{ name, address }];
  });
}

function textAt(entry: object, key: string): string | null {
  const value: unknown = Reflect.get(entry, key);
  return typeof value === "string" && value !== "" ? value : null;
}
