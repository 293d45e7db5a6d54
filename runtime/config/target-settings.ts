/**
 * Which targets read which setting of `deployment`. One that the chosen target does not read changes nothing, and an operator who
 * wrote it expects something. A test holds the table against the schema and against the plans of each target. Pure.
 */
import type { Finding } from "./report.ts";
import type { DEPLOYMENT_TARGETS } from "./schema/deployment.ts";
import type { ParsedConfig } from "./schema.ts";
import { isMap, type TreeMap } from "./tree.ts";
import { isAskedFor, isEmpty, matches, parsedAt } from "./written-settings.ts";

export type DeploymentTarget = (typeof DEPLOYMENT_TARGETS)[number];

export interface TargetSetting {
  /** Below `deployment`; `*`: any index. All that is below it belongs to the same targets. */
  readonly path: readonly string[];
  readonly targets: readonly DeploymentTarget[];
}

const DEPLOYED = ["docker", "proxmox", "kubernetes"] as const;
const ALL = [...DEPLOYED, "manual"] as const;

export const TARGET_SETTINGS: readonly TargetSetting[] = [
  ...["name", "target", "stop_timeout", "nodes.*.name"].map((path) => setting(path, ALL)),
  // `cairn build` makes and names an image wherever the nodes are.
  setting("image", ALL),
  ...["nodes.*.memory", "nodes.*.cpus", "nodes.*.advertise"].map((path) => setting(path, DEPLOYED)),
  setting("nodes.*.host", ["docker", "manual"]),
  setting("nodes.*.port", ["docker", "proxmox", "manual"]),
  ...["host_key", "user", "identity_file", "unit"].map((key) => setting(`nodes.*.${key}`, ["manual"])),
  ...["nodes.*.vmid", "nodes.*.pve_node", "nodes.*.address"].map((path) => setting(path, ["proxmox"])),
  setting("nodes.*.labels", ["kubernetes"]),
  ...["postgres", "image", "memory", "cpus", "shared_storage"].map((key) => setting(`datahub.${key}`, DEPLOYED)),
  setting("datahub.publish", ["docker", "proxmox"]),
  ...DEPLOYED.map((target) => setting(target, [target])),
];

/** A warning for each setting that is written and that the target does not read. */
export function otherTargetWarnings(written: TreeMap, { deployment }: Partial<ParsedConfig>): Finding[] {
  if (deployment === undefined || !isMap(written["deployment"])) return [];
  const { target } = deployment;
  return TARGET_SETTINGS.filter(({ targets }) => !targets.includes(target)).flatMap(({ path, targets }) =>
    [...matches(written["deployment"], path)].flatMap(({ path: place, tree }) => {
      const value = parsedAt(deployment, place);
      if (value === undefined || isEmpty(tree) || !isAskedFor(value)) return [];
      const readers = `the target${targets.length === 1 ? "" : "s"} ${targets.join(" and ")}`;
      return [
        {
          path: ["deployment", ...place],
          code: "other-target" as const,
          message: `changes nothing: it is for ${readers}, and the target is ${target}`,
        },
      ];
    }),
  );
}

function setting(path: string, targets: readonly DeploymentTarget[]): TargetSetting {
  return { path: path.split("."), targets };
}
