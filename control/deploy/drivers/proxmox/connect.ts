/**
 * Ways into CTs. To a node's interface: a listener on this machine's loopback, each connection of which is carried by `ssh`, `pct exec`
 * and a few lines of Node inside the node's own container. Nothing has to be published for it, and no tool installed.
 */

import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { nodeCt, postgresCt } from "../../../../infra/components/proxmox/ct.ts";
import { inCt } from "../../../../infra/components/proxmox/docker-scripts.ts";
import { remoteLine } from "../../../../infra/components/proxmox/member.ts";
import { stackNames } from "../../../../infra/plan/names.ts";
import { CONTAINER, type ProxmoxPlan } from "../../../../infra/plan/types.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { urlOf } from "../../../../runtime/contracts/urls.ts";
import type { NodeConnection, PartAction, PartCommand, StackPart } from "../../driver.ts";
import { dockerWords, requirePart } from "../../part-commands.ts";
import { openSsh, type SshChild } from "../../ssh/ssh.ts";
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
  const relay = inCt(ct, ["docker", "exec", "-i", container, "node", "-e", RELAY, String(CONTAINER.port)]);
  const ssh = await openSsh(plan.ssh);
  try {
    const host = hostOver(plan, ssh, signal);
    const argv = inCt(ct, ["docker", "inspect", "-f", "{{.State.Running}}", container]);
    const running = await host.run({ member: ct.member, argv, timeoutMs: CHECK_TIMEOUT_MS });
    if (running.trim() !== "true") throw notRunning(name);
    const line = host.line(ct.member, relay);
    const children = new Set<SshChild>();
    const server = createServer((socket) => carry(socket, ssh.open(line), children));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("a listener on TCP has a port");
    return {
      url: urlOf("127.0.0.1", address.port, node.tls),
      close: async () => {
        server.close();
        for (const child of children) child.kill();
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

/** Both ends of a connection end together. */
function carry(socket: Socket, child: SshChild, children: Set<SshChild>): void {
  children.add(child);
  const end = (): void => {
    children.delete(child);
    socket.destroy();
    child.kill();
  };
  socket.once("error", end);
  socket.once("close", end);
  child.stdin.once("error", end);
  child.stdout.once("error", end);
  socket.pipe(child.stdin);
  child.stdout.pipe(socket);
  void child.ended.then(() => socket.end());
}

function notRunning(name: string): InfraError {
  return new InfraError("INFRA_FAILED", `Node ${name} does not run.`, { hint: "See `cairn infra status`." });
}

const RELAY = `const s = require("node:net").connect(Number(process.argv[1]), "127.0.0.1");
process.stdin.pipe(s);
s.pipe(process.stdout);
s.on("error", () => process.exit(1));
s.on("close", () => process.exit(0));`;
