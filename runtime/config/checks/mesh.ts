/** Settings of a mesh that do nothing as they stand. */
import { type CheckInput, createCollector, type Findings } from "./collector.ts";

export function checkMesh({ config: { mesh } }: CheckInput): Findings {
  const found = createCollector();
  if (!mesh) return found;
  const { enabled, seeds, mdns } = mesh;
  if (!enabled && seeds.length > 0) found.warn(["mesh", "seeds"], "no-effect", "the mesh is off (mesh.enabled)");
  if (!enabled && mdns) found.warn(["mesh", "mdns"], "no-effect", "the mesh is off (mesh.enabled)");
  return found;
}
