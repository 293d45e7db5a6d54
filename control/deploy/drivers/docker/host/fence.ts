/** A rollout's commands on a Docker host: a token is compared there, and the container stopped in the same command. */

import { execa } from "execa";
import { parseDockerHost } from "../../../../../infra/components/docker/address.ts";
import type { DockerPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { FencingToken } from "../../../../rollout/contracts.ts";
import { fencedCommand, forgetCommand, throwIfFenced } from "../../../fence.ts";
import { dockerFailure } from "../../../images/docker-cli.ts";
import { nodeContainer } from "./names.ts";
import { type RemoteOutcome, runRemote } from "./ssh.ts";

/** Milliseconds beyond what the container gets to end. */
const MARGIN_MS = 120_000;
/** The engine waits for as long as the container was made to get. One that is not there is stopped. */
const STOP = 'docker container inspect "$1" >/dev/null 2>&1 || exit 0; exec docker container stop "$1"';

/** INFRA_LOCKED for a token that is older than one that the host has seen; errors of Docker's command line. */
export async function fence(
  plan: DockerPlan,
  name: string,
  { token, stop }: { readonly token: FencingToken; readonly stop: boolean },
  signal: AbortSignal,
): Promise<void> {
  const node = nodeOf(plan, name);
  const command = stop ? ["sh", "-c", STOP, "cairn-stop", nodeContainer(plan, name)] : ["true"];
  const words = fencedCommand({ stack: plan.stack, node: name, token }, command);
  const { ok, stdout, stderr } = await runOn(node.host, words, node.stopTimeoutS * 1_000 + MARGIN_MS, signal);
  throwIfFenced(stdout, { node: name });
  if (!ok) throw dockerFailure(stderr, `Stopping ${name}`, node.host);
}

/** Errors of `fence`. */
export async function forgetFence(plan: DockerPlan, name: string, signal: AbortSignal): Promise<void> {
  const { host } = nodeOf(plan, name);
  const { ok, stderr } = await runOn(host, forgetCommand({ stack: plan.stack, node: name }), MARGIN_MS, signal);
  if (!ok) throw dockerFailure(stderr, `Forgetting the rollouts of ${name}`, host);
}

function nodeOf({ nodes }: DockerPlan, name: string): DockerPlan["nodes"][number] {
  const node = nodes.find((one) => one.name === name);
  if (node === undefined) throw new InfraError("INFRA_PLAN_INVALID", `The deployment has no node ${name}.`);
  return node;
}

function runOn(host: string, words: readonly string[], timeoutMs: number, signal: AbortSignal): Promise<RemoteOutcome> {
  const ssh = parseDockerHost(host);
  return ssh === null ? here(words, timeoutMs, signal) : runRemote(ssh, words, signal, timeoutMs);
}

async function here(
  [program = "", ...args]: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<RemoteOutcome> {
  const result = await execa(program, args, {
    reject: false,
    stdin: "ignore",
    timeout: timeoutMs,
    cancelSignal: signal,
  });
  signal.throwIfAborted();
  return { ok: !result.failed, stdout: result.stdout, stderr: result.stderr };
}
