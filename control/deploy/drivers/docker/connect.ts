/**
 * A way to a node's published port, on this machine directly, on a host over SSH through a tunnel; and one into a container, by
 * Docker's command line there.
 */

import { LOCAL, parseDockerHost } from "../../../../infra/components/docker/address.ts";
import { stackNames } from "../../../../infra/plan/names.ts";
import type { DockerPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { isWildcard, urlOf } from "../../../../runtime/contracts/urls.ts";
import type { NodeConnection, PartAction, PartCommand, StackPart } from "../../driver.ts";
import { askDocker, dockerFailure } from "../../images/docker-cli.ts";
import { dockerWords, requirePart } from "../../part-commands.ts";
import { engineTime } from "./host/inventory.ts";
import { openTunnel, remoteCommand, runRemote } from "./host/ssh.ts";

/** INFRA_PLAN_INVALID for a node that is not there or publishes nothing; the errors of `openTunnel`. */
export async function connect(plan: DockerPlan, name: string, signal: AbortSignal): Promise<NodeConnection> {
  const node = plan.nodes.find((candidate) => candidate.name === name);
  if (!node?.publish) {
    throw new InfraError(
      "INFRA_PLAN_INVALID",
      node ? `Node ${name} publishes no port.` : `The deployment has no node ${name}.`,
      { hint: `It has ${plan.nodes.map((one) => one.name).join(", ")}.` },
    );
  }
  const { address, port } = node.publish;
  const ssh = parseDockerHost(node.host);
  // Docker's proxy of the IPv6 wildcard listens on IPv4, too.
  const host = isWildcard(address) ? "127.0.0.1" : address;
  if (ssh === null) return { url: urlOf(host, port, node.tls), close: async () => undefined };
  const tunnel = await openTunnel(ssh, { address: host, port }, signal);
  return { url: urlOf("127.0.0.1", tunnel.port, node.tls), close: tunnel.close };
}

/** By Docker's command line. INFRA_HOST_UNREACHABLE where the engine is asked for its time and does not answer. */
export async function enter(
  plan: DockerPlan,
  part: StackPart,
  action: PartAction,
  signal: AbortSignal,
): Promise<PartCommand> {
  requirePart(plan, part);
  const names = stackNames(plan.stack);
  const [container, host = LOCAL] =
    part.kind === "postgres"
      ? [names.postgres, plan.host]
      : [names.node(part.name), plan.nodes.find(({ name }) => name === part.name)?.host];
  const words = dockerWords(container, await byClockOf(host, action, signal));
  const ssh = parseDockerHost(host);
  const terminal = action.kind === "exec" && action.terminal;
  return {
    ...(ssh === null ? { program: "docker", args: words } : remoteCommand(ssh, ["docker", ...words], terminal)),
    answers: (asking) => engineAnswers(host, asking),
    close: async () => undefined,
  };
}

async function engineAnswers(host: string, signal: AbortSignal): Promise<void> {
  const ssh = parseDockerHost(host);
  const words = ["version", "--format", "{{.Server.Version}}"];
  if (ssh === null) return void (await askDocker(words, { host, signal }));
  const { ok, stderr } = await runRemote(ssh, ["docker", ...words], signal);
  if (!ok) throw dockerFailure(stderr, "docker version", host);
}

/** Docker's command line would reckon `--since=600s` by the clock of this machine, and the log has the times of the engine's. */
async function byClockOf(host: string, action: PartAction, signal: AbortSignal): Promise<PartAction> {
  if (action.kind !== "logs" || action.since === null || !("agoSeconds" in action.since)) return action;
  const now = Date.parse(await engineTime(host, signal));
  return { ...action, since: new Date(now - action.since.agoSeconds * 1000) };
}
