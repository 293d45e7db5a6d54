/** A volume with data that outlive every container, and the stack itself. */

import { Volume } from "@pulumi/docker";
import type { Resource } from "@pulumi/pulumi";
import type { DockerPlan } from "../../plan/types.ts";
import type { DockerHost } from "./host.ts";
import { ownLabels, type Role } from "./labels.ts";

export interface DataVolumeInput {
  readonly plan: DockerPlan;
  readonly host: DockerHost;
  /** The volume's own name. */
  readonly name: string;
  readonly role: Role;
  readonly node?: string;
  /** Names of volumes that exist and are taken over. */
  readonly adopt: ReadonlySet<string>;
  readonly parent: Resource | undefined;
}

/** Protected, and left on the host when it is taken out of the stack: only `--delete-data` removes it. */
export function dataVolume(input: DataVolumeInput): Volume {
  const { plan, host, name, role, node, adopt, parent } = input;
  // A stack has the same name for its shared volume on each of its hosts.
  const resource = role === "shared" ? `${name}-${host.slug}` : name;
  return new Volume(
    resource,
    { name, driver: "local", labels: ownLabels(plan, role, node) },
    {
      provider: host.provider,
      protect: true,
      retainOnDelete: true,
      // Docker cannot change them, so that a difference (of an adopted volume, of a later version) would mean a new volume.
      ignoreChanges: ["labels", "driver", "driverOpts"],
      ...(adopt.has(name) ? { import: name } : {}),
      ...(parent ? { parent } : {}),
    },
  );
}
