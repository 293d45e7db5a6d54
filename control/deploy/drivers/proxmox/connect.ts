/**
 * Ways into CTs. To a node's interface: a listener on this machine's loopback, each connection of which is carried by `ssh`, `pct exec`
 * and a few lines of Node inside the node's own container. Nothing has to be published for it, and no tool installed.
 */

import { nodeCt, postgresCt } from "../../../../infra/components/proxmox/ct.ts";
import { inCt } from "../../../../infra/components/proxmox/docker-scripts.ts";
import { remoteLine } from "../../../../infra/components/proxmox/member.ts";
import { stackNames } from "../../../../infra/plan/names.ts";
import { CONTAINER, type ProxmoxPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { urlOf } from "../../../../runtime/contracts/urls.ts";
import type { NodeConnection, PartAction, PartCommand, StackPart } from "../../driver.ts";
import { dockerWords, requirePart } from "../../part-commands.ts";
import { RELAY, relay } from "../../ssh/relay.ts";
import { openSsh } from "../../ssh/ssh.ts";
import { hostOver, placeAnswers } from "./host/host.ts";

const CHECK_TIMEOUT_MS = 30_000;

/** Lasts until it is closed. Throws when the host, the CT or the container cannot be reached now. */
export async function connect(plan: ProxmoxPlan, name: string, signal: AbortSignal): Promise<NodeConnection> {
  const node = plan.nodes.find((candidate) => candidate.name === name);
  if (node === undefined) {
    throw new InfraError("INFRA_PLAN_INVALID", `The deployment has no node ${name}.`, {
      hint: `It has ${plan.nodes.map((one) => one.name).join(", ")}.`,
    });
  }
  const ct = nodeCt(plan, node);
  const container = stackNames(plan.stack).node(name);
  const words = inCt(ct, ["docker", "exec", "-i", container, "node", "-e", RELAY, "127.0.0.1", String(CONTAINER.port)]);
  const ssh = await openSsh(plan.ssh);
  try {
    const host = hostOver(plan, ssh, signal);
    const argv = inCt(ct, ["docker", "inspect", "-f", "{{.State.Running}}", container]);
    const running = await host.run({ member: ct.member, argv, timeoutMs: CHECK_TIMEOUT_MS });
    if (running.trim() !== "true") throw notRunning(name);
    const line = host.line(ct.member, words);
    const listener = await relay(ssh, line);
    return {
      url: urlOf("127.0.0.1", listener.port, node.tls),
      close: async () => {
        listener.close();
        await ssh.close();
      },
    };
  } catch (error) {
    await ssh.close();
    throw error;
  }
}

/** By ssh, `pct exec` and Docker's command line in the CT. */
export async function enter(plan: ProxmoxPlan, part: StackPart, action: PartAction): Promise<PartCommand> {
  const what = requirePart(plan, part);
  const node = plan.nodes.find((one) => part.kind === "node" && one.name === part.name);
  const ct = node === undefined ? postgresCt(plan) : nodeCt(plan, node);
  if (ct === null) throw new InfraError("INFRA_PLAN_INVALID", `${what} has no CT in the plan.`);
  const names = stackNames(plan.stack);
  const words = dockerWords(node === undefined ? names.postgres : names.node(node.name), action);
  const terminal = action.kind === "exec" && action.terminal;
  const line = remoteLine({ user: plan.ssh.user, member: ct.member }, inCt(ct, ["docker", ...words]), terminal);
  const ssh = await openSsh(plan.ssh);
  return {
    ...ssh.command(line, terminal),
    answers: (signal) => placeAnswers(plan, signal),
    close: () => ssh.close(),
  };
}

function notRunning(name: string): InfraError {
  return new InfraError("INFRA_FAILED", `Node ${name} does not run.`, { hint: "See `cairn infra status`." });
}
