/** A rollout's commands on a Proxmox host: a token is compared there, and the node's container stopped in the same command. */

import { allCts, type CtSpec } from "../../../../../infra/components/proxmox/ct.ts";
import { inCt } from "../../../../../infra/components/proxmox/docker-scripts.ts";
import { stackNames } from "../../../../../infra/plan/names.ts";
import type { ProxmoxPlan } from "../../../../../infra/plan/types.ts";
import { InfraError } from "../../../../../runtime/contracts/errors.ts";
import type { FencingToken } from "../../../../rollout/contracts.ts";
import { fencedCommand, forgetCommand, throwIfFenced } from "../../../fence.ts";
import { withHost } from "./host.ts";

/** Milliseconds beyond what the container gets to end. */
const MARGIN_MS = 120_000;
/** One that is not there, or whose CT does not run, is stopped. */
const STOP = 'docker container inspect "$1" >/dev/null 2>&1 || exit 0; exec docker container stop -t "$2" "$1"';
const IF_RUNS = `vmid=$1
shift
case $(pct status "$vmid" 2>/dev/null || true) in *running*) exec "$@" ;; esac`;

/** INFRA_LOCKED for a token that is older than one that the host has seen; errors as of every command there. */
export async function fence(
  plan: ProxmoxPlan,
  name: string,
  { token, stop }: { readonly token: FencingToken; readonly stop: boolean },
  signal: AbortSignal,
): Promise<void> {
  const ct = ctOf(plan, name);
  const stopping = ["/bin/sh", "-c", STOP, "cairn-stop", stackNames(plan.stack).node(name), String(ct.stopTimeoutS)];
  const command = stop ? ["sh", "-c", IF_RUNS, "cairn-stop", String(ct.vmid), ...inCt(ct, stopping)] : ["true"];
  const argv = fencedCommand({ stack: plan.stack, node: name, token }, command);
  const timeoutMs = ct.stopTimeoutS * 1_000 + MARGIN_MS;
  const stdout = await withHost(plan, signal, (host) => host.run({ member: ct.member, argv, timeoutMs }));
  throwIfFenced(stdout, { node: name });
}

/** Errors of every command there. */
export async function forgetFence(plan: ProxmoxPlan, name: string, signal: AbortSignal): Promise<void> {
  const { member } = ctOf(plan, name);
  const argv = forgetCommand({ stack: plan.stack, node: name });
  await withHost(plan, signal, (host) => host.run({ member, argv }));
}

function ctOf(plan: ProxmoxPlan, name: string): CtSpec {
  const ct = allCts(plan).find(({ role }) => role === name);
  if (ct === undefined) throw new InfraError("INFRA_PLAN_INVALID", `The deployment has no node ${name}.`);
  return ct;
}
