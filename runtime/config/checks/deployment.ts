/** What a deployment target needs, and what several nodes need. */
import { type CheckInput, createCollector, type Findings } from "./collector.ts";

const MIB = 1024 ** 2;
/**
 * Bytes below which a node may not come to serve: measured 80 MiB of its container with a PostgreSQL, 240 MiB of its process with an
 * embedded store, without a turn, and as much again as work is like to take.
 */
const LEAST_MEMORY = { postgres: 128 * MIB, embedded: 320 * MIB };

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
  warnOfLittleMemory(deployment, memory?.postgres === undefined ? "embedded" : "postgres", found);
  return found;
}

function warnOfLittleMemory(
  { target, nodes, docker, kubernetes }: NonNullable<CheckInput["config"]["deployment"]>,
  store: keyof typeof LEAST_MEMORY,
  found: ReturnType<typeof createCollector>,
): void {
  if (target === "manual") return;
  const least = LEAST_MEMORY[store];
  const common = target === "docker" ? docker.memory : target === "kubernetes" ? kubernetes.limits.memory : undefined;
  const path =
    target === "docker" ? ["deployment", "docker", "memory"] : ["deployment", "kubernetes", "limits", "memory"];
  const limits: [(string | number)[], number | undefined][] = [
    [path, common],
    ...nodes.map(({ memory }, index): [(string | number)[], number | undefined] => [
      ["deployment", "nodes", index, "memory"],
      memory,
    ]),
  ];
  for (const [at, limit] of limits) {
    if (limit === undefined || limit >= least) continue;
    found.warn(
      at,
      "out-of-range",
      `a node that may have less than ${least / MIB}Mi is ended for it: it may not come to serve, or ends in a turn`,
      `give it ${least / MIB}Mi or more, and 512Mi for more than a few sessions`,
    );
  }
}
