/** A way to a node's published port: on this machine directly, on a host over SSH through a tunnel. */

import { parseDockerHost } from "../../../../infra/components/docker/address.ts";
import type { DockerPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import type { NodeConnection } from "../../driver.ts";
import { openTunnel } from "./host/ssh.ts";

/** INFRA_PLAN_INVALID for a node that is not there or publishes nothing; the errors of `openTunnel`. */
export async function connect(plan: DockerPlan, name: string, signal: AbortSignal): Promise<NodeConnection> {
  const node = plan.nodes.find((candidate) => candidate.name === name);
  if (!node?.publish) {
    throw new InfraError(
      "INFRA_PLAN_INVALID",
      node ? `Node ${name} publishes no port.` : `The deployment has no node ${name}.`,
      { hint: `It has ${plan.nodes.map((known) => known.name).join(", ")}.` },
    );
  }
  const scheme = node.tls ? "https" : "http";
  const { address, port } = node.publish;
  // An address that means every interface is reached by loopback.
  const target = { address: address === "0.0.0.0" || address === "::" ? "127.0.0.1" : address, port };
  const ssh = parseDockerHost(node.host);
  if (ssh === null) {
    const host = target.address.includes(":") ? `[${target.address}]` : target.address;
    return { url: `${scheme}://${host}:${port}`, close: async () => undefined };
  }
  const tunnel = await openTunnel(ssh, target, signal);
  return { url: `${scheme}://127.0.0.1:${tunnel.port}`, close: tunnel.close };
}
