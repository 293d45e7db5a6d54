/** `mesh.json`: a copy of what the database knows of the mesh, from which a node whose database was lost is a member again. */

import { isDeepStrictEqual } from "node:util";
import type { MeshStore, StoredMesh } from "../app/mesh/mesh-store.ts";
import type { Admission, MeshRecord, MeshState } from "../contracts/membership.ts";
import type { Clock, Logger } from "../contracts/ports.ts";
import { byName } from "../domain/mesh/node-entry.ts";
import { readMeshFile, setMeshFileAside, writeMeshFile } from "../files/mesh-file.ts";

export interface MeshCopy {
  /**
   * What the file holds. Null where there is none; one that cannot be read is set aside and reported, never taken for an empty
   * one: its path is then `aside`.
   */
  read(): Promise<{ readonly state: MeshState | null; readonly aside: string | null }>;
  /** Writes it where something has changed. */
  write(seen: StoredMesh): Promise<void>;
}

export function createMeshCopy({
  file,
  clock,
  logger,
}: {
  readonly file: string;
  readonly clock: Pick<Clock, "now">;
  readonly logger: Logger;
}): MeshCopy {
  let written: MeshState | null = null;
  return {
    async read() {
      try {
        written = await readMeshFile(file);
        return { state: written, aside: null };
      } catch (error) {
        const aside = await setMeshFileAside(file, clock.now());
        const reason = error instanceof Error ? error.message.slice(0, 500) : String(error);
        logger.error({ file, aside, reason }, "the registry of the mesh could not be read: it was set aside");
        return { state: null, aside };
      }
    },
    async write({ root, nodes, mesh }) {
      const sorted = [...nodes].sort(byName);
      const admissions: Record<string, Admission> = {};
      for (const { entry, admission } of sorted) if (admission !== null) admissions[entry.id] = admission;
      const revocations = [...mesh.revocations.values()].sort((a, b) => (a.node < b.node ? -1 : 1));
      const state = { root, nodes: sorted.map(({ entry }) => entry), admissions, revocations };
      if (isDeepStrictEqual(state, written)) return;
      await writeMeshFile(file, state);
      written = state;
    },
  };
}

/** Where the database knows of no mesh: it was lost, or replaced by another one. Every signature is checked when it is read. */
export async function restoreMesh(
  store: Pick<MeshStore, "enter">,
  { root, nodes, admissions, revocations }: MeshState,
  own: string,
): Promise<void> {
  if (root === null) return;
  const admission = admissions[own] ?? [];
  const records = nodes.flatMap((entry): MeshRecord[] => {
    const chain = admissions[entry.id];
    return chain === undefined || entry.id === own ? [] : [{ entry, admission: chain }];
  });
  await store.enter({ root, own, admission, records, revocations });
}
