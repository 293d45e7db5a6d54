/** What a deployment target needs, and what several nodes need. */
import { type CheckInput, createCollector, type Findings } from "./collector.ts";

export function checkDeployment({ config, dropped }: CheckInput): Findings {
  const found = createCollector();
  const { deployment, memory } = config;
  if (!deployment) return found;
  const isDropped = (part: string): boolean => dropped.some(({ path }) => path[0] === "deployment" && path[1] === part);

  for (const key of ["name", "vmid"] as const) {
    const seen = new Set<string | number>();
    for (const [index, node] of deployment.nodes.entries()) {
      const value = node[key];
      if (value === undefined) continue;
      if (seen.has(value))
        found.error(["deployment", "nodes", index, key], JSON.stringify(value), "a value that no other node has");
      seen.add(value);
    }
  }
  if (deployment.target === "proxmox" && deployment.proxmox === undefined && !isDropped("proxmox")) {
    found.error(["deployment", "proxmox"], "nothing", "a mapping with at least host and host_key");
  }
  if (
    deployment.target !== "manual" &&
    !isDropped("image") &&
    !deployment.image.build_from_source &&
    deployment.image.registry === undefined
  ) {
    found.error(
      ["deployment", "image", "registry"],
      "nothing",
      "the repository to pull from, as the image is not built from source",
    );
  }
  if (deployment.nodes.length > 1 && memory && memory.postgres === undefined) {
    found.warn(
      ["deployment", "nodes"],
      "database-missing",
      "several nodes without memory.postgres: each has a memory of its own",
    );
  }
  return found;
}
