/**
 * The limit on processes and threads of a container. The Docker provider has no such setting, so Docker's own command sets it
 * right after the start; it stays through restarts of the container, and is set again on every new one.
 */

import { local } from "@pulumi/command";
import type { Container } from "@pulumi/docker";
import { interpolate, type Resource } from "@pulumi/pulumi";
import { parseDockerHost, SSH_OPTIONS, sshDestination } from "./address.ts";
import type { DockerHost } from "./host.ts";

export function limitPids(
  name: string,
  host: DockerHost,
  container: Container,
  pids: number,
  parent: Resource,
): local.Command {
  const ssh = parseDockerHost(host.address);
  const docker = ["docker", "update", "--pids-limit", String(pids)];
  // The interpreter's arguments are passed as they are, the command as its last one: no shell reads any of it here.
  const interpreter = ssh === null ? docker : ["ssh", ...SSH_OPTIONS, ...sshDestination(ssh), ...docker];
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
