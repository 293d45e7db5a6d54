/** One Docker host of a stack: the provider that talks to its engine, and the network of the stack there. */

import type { Network } from "@pulumi/docker";
import { Provider } from "@pulumi/docker";
import type { Resource } from "@pulumi/pulumi";
import type { DockerPlan } from "../../plan/types.ts";
import { hostSlug, parseDockerHost, SSH_OPTIONS } from "./address.ts";
import { stackNetwork } from "./network.ts";

export interface DockerHost {
  /** `local`, or an `ssh://` address. */
  readonly address: string;
  /** Part of the names of resources that exist once a host. */
  readonly slug: string;
  readonly provider: Provider;
  readonly network: Network;
}

export function dockerHost(plan: DockerPlan, address: string, parent: Resource | undefined): DockerHost {
  const slug = hostSlug(address);
  const ssh = parseDockerHost(address);
  const provider = new Provider(
    `docker-${slug}`,
    ssh === null ? {} : { host: ssh.url, sshOpts: [...SSH_OPTIONS] },
    parent ? { parent } : {},
  );
  return { address, slug, provider, network: stackNetwork(plan, slug, provider, parent) };
}
