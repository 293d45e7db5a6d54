/**
 * The limit on processes and threads of a container. The Docker provider has no such setting, so Docker's own command sets it
 * right after the start; it stays through restarts of the container, and is set again on every new one.
 */

import { local } from "@pulumi/command";
import type { Container } from "@pulumi/docker";
import { interpolate, type Resource } from "@pulumi/pulumi";
import { parseDockerHost, SSH_OPTIONS, sshDestination } from "./address.ts";
import type { DockerHost } from "./host.ts";

/**
 * The words that follow, again where they fail: Docker refuses the change of a container that ends at this moment, and takes it once
 * it has seen that. That the container does not start is said by who waits for it.
 */
const RETRIED = 'tries=0; until "$@"; do tries=$((tries + 1)); [ "$tries" -lt 5 ] || exit 1; sleep 1; done';

export function limitPids(
  name: string,
  host: DockerHost,
  container: Container,
  pids: number,
  parent: Resource,
): local.Command {
  const ssh = parseDockerHost(host.address);
  const docker = ["docker", "update", "--pids-limit", String(pids)];
  const words = ssh === null ? docker : ["ssh", ...SSH_OPTIONS, ...sshDestination(ssh), ...docker];
  // The interpreter's arguments are passed as they are, the command as its last one: the shell reads none of them.
  const interpreter = ["/bin/sh", "-c", RETRIED, "limit", ...words];
  return new local.Command(
    `${name}-pids`,
    {
      interpreter,
      create: interpolate`${container.id}`,
      // The engine that the provider talks to, whichever context the operator has chosen for the command line.
      environment: { DOCKER_CONTEXT: "default" },
      triggers: [container.id, pids],
    },
    { parent, deleteBeforeReplace: true },
  );
}
