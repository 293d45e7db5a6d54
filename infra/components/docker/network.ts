/** The network of a stack on one host: a bridge of its own, on which containers find each other by name. */

import { Network, type Provider } from "@pulumi/docker";
import type { Resource } from "@pulumi/pulumi";
import type { DockerPlan } from "../../plan/types.ts";
import { ownLabels } from "./labels.ts";

export function stackNetwork(
  plan: DockerPlan,
  slug: string,
  provider: Provider,
  parent: Resource | undefined,
): Network {
  return new Network(
    `network-${slug}`,
    { name: plan.network, driver: "bridge", labels: ownLabels(plan, "network") },
    // Two networks of one name cannot be distinguished, so the old one is deleted first.
    { provider, deleteBeforeReplace: true, ...(parent ? { parent } : {}) },
  );
}
