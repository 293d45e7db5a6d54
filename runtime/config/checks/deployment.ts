/** What a deployment target needs, and what several nodes need. */
import { isDockerAddress, isHostName } from "../schema/deployment.ts";
import { type CheckInput, createCollector, type Findings } from "./collector.ts";

type Collector = ReturnType<typeof createCollector>;

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
  checkPlaces(deployment, found);
  warnOfLittleMemory(deployment, memory?.postgres === undefined ? "embedded" : "postgres", found);
  return found;
}

/** Where nodes are, as their target says it. */
function checkPlaces({ target, nodes }: NonNullable<CheckInput["config"]["deployment"]>, found: Collector): void {
  const units = new Set<string>();
  for (const [index, node] of nodes.entries()) {
    const at = (key: string): (string | number)[] => ["deployment", "nodes", index, key];
    const { host, unit = "cairn", port = 22 } = node;
    if (target === "docker" && host !== undefined && !isDockerAddress(host)) {
      found.error(at("host"), JSON.stringify(host), "local, or ssh://user@host[:port]");
    }
    if (target !== "manual") continue;
    if (host !== undefined && !isHostName(host)) {
      found.error(
        at("host"),
        JSON.stringify(host),
        "a host name or an IP address; user and port are settings of their own",
      );
    }
    if (host !== undefined && node.host_key === undefined) {
      found.error(at("host_key"), "nothing", "the public key of the host, a line of `ssh-keyscan`");
    }
    for (const key of ["port", "host_key", "user", "identity_file"] as const) {
      if (host === undefined && node[key] !== undefined) {
        found.error(
          at(key),
          JSON.stringify(node[key]),
          "nothing, or `host` as well: without it the node is on this machine",
        );
      }
    }
    const place = JSON.stringify([host, host === undefined ? null : port, unit]);
    // A list of bare names, as it was before these settings, says nothing of machines.
    const isPlaced = host !== undefined || node.unit !== undefined;
    if (isPlaced && units.has(place))
      found.error(at("unit"), JSON.stringify(unit), "a unit that no other node of the machine has");
    if (isPlaced) units.add(place);
  }
}

function warnOfLittleMemory(
  { target, nodes, docker, kubernetes }: NonNullable<CheckInput["config"]["deployment"]>,
  store: keyof typeof LEAST_MEMORY,
  found: Collector,
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
