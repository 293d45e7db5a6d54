/** A rollout's token as a workload keeps it: one annotation a pod, with the newest command's numbers. Pure. */

import type { FencingToken } from "../../../../rollout/contracts.ts";

export function fenceAnnotation(ordinal: number): string {
  return `cairn.dev/rollout-${ordinal}`;
}

export function tokenText({ fleet, lease, command }: FencingToken): string {
  return `${fleet} ${lease} ${command}`;
}

/** Whether a newer one of the same fleet was seen. Numbers of another one say nothing. */
export function isOlder({ fleet, lease, command }: FencingToken, seen: string): boolean {
  const [seenFleet, seenLease, seenCommand] = seen.split(" ");
  if (seenFleet !== fleet) return false;
  return lease < Number(seenLease) || (lease === Number(seenLease) && command < Number(seenCommand));
}
