/** The Proxmox host of a plan, for the driver: one SSH helper per piece of work, places named as the outputs name them. */

import type { Readable } from "node:stream";
import { allCts, type CtSpec } from "../../../../../infra/components/proxmox/ct.ts";
import { placeName, remoteLine } from "../../../../../infra/components/proxmox/member.ts";
import type { ProxmoxPlan } from "../../../../../infra/plan/types.ts";
import { openSsh, type Ssh } from "../../../ssh/ssh.ts";

export interface Command {
  /** Member of the cluster; null: the host itself. */
  readonly member: string | null;
  readonly argv: readonly string[];
  readonly input?: string | Readable;
  /** Milliseconds; default one minute. */
  readonly timeoutMs?: number;
}

export interface ProxmoxHost {
  readonly ssh: Ssh;
  /** What the command wrote to standard output. */
  run(command: Command): Promise<string>;
  line(member: string | null, argv: readonly string[]): string;
}

/** Opens the way to the host for as long as `work` takes. */
export async function withHost<T>(
  plan: ProxmoxPlan,
  signal: AbortSignal,
  work: (host: ProxmoxHost) => Promise<T>,
): Promise<T> {
  const ssh = await openSsh(plan.ssh);
  try {
    return await work(hostOver(plan, ssh, signal));
  } finally {
    await ssh.close();
  }
}

/** INFRA_HOST_UNREACHABLE where the host does not answer. */
export async function placeAnswers(plan: ProxmoxPlan, signal: AbortSignal): Promise<void> {
  await withHost(plan, signal, (host) => host.run({ member: null, argv: ["true"] }));
}

export function hostOver(plan: ProxmoxPlan, ssh: Ssh, signal: AbortSignal): ProxmoxHost {
  const line = (member: string | null, argv: readonly string[]): string =>
    remoteLine({ user: plan.ssh.user, member }, argv);
  return {
    ssh,
    line,
    run: async ({ member, argv, ...rest }) => (await ssh.run({ line: line(member, argv), signal, ...rest })).stdout,
  };
}

/** CTs by the member that runs them; null: the host itself. */
export function ctsByMember(plan: ProxmoxPlan): ReadonlyMap<string | null, readonly CtSpec[]> {
  return Map.groupBy(allCts(plan), (ct) => ct.member);
}

export function placeOf(plan: ProxmoxPlan, member: string | null): string {
  return placeName(plan.ssh.host, member);
}
