/**
 * Which releases may be in one fleet, and so over which distance a rolling upgrade may go. Pure; what of the schema goes
 * with it is in domain/mesh/schema-readers.ts.
 */

import semver from "semver";
import { RuntimeError } from "./errors.ts";

/** The rule, as every message and document has it. */
export const SUPPORTED_SKEW = "Nodes of one fleet run releases of the same major whose minors are at most one apart.";

export interface FleetMember {
  readonly name: string;
  /** Of Cairn; null: it comes from a version that does not say so. */
  readonly release: string | null;
}

/** The last minor whose nodes did not write down what they are. */
const UNREGISTERED_RELEASE = "0.1.0";

/** Whether nodes of these releases may serve together. A release that cannot be read is not judged: true. */
export function withinSkew(release: string, other: string): boolean {
  const [one, two] = [semver.parse(release), semver.parse(other)];
  if (one === null || two === null) return true;
  return one.major === two.major && Math.abs(one.minor - two.minor) <= 1;
}

/** `0.1.x to 0.3.x`: what may serve beside the release. Null where that cannot be read. */
export function supportedRange(release: string): string | null {
  const parsed = semver.parse(release);
  if (parsed === null) return null;
  const { major, minor } = parsed;
  return `${major}.${Math.max(0, minor - 1)}.x to ${major}.${minor + 1}.x`;
}

/** The first of the others beside which a node of this release may not serve; null: there is none. */
export function beyondSkew(release: string, others: readonly FleetMember[]): FleetMember | null {
  return others.find((other) => !withinSkew(release, other.release ?? UNREGISTERED_RELEASE)) ?? null;
}

/** Why a node of this release may not serve beside the member, with the range that it may serve beside. */
export function skewMessage(release: string, { name, release: other }: FleetMember): string {
  const runs = other ?? "older than 0.2.0";
  return `The node ${name} runs Cairn ${runs}, and Cairn ${release} serves beside ${supportedRange(release)} only. ${SUPPORTED_SKEW}`;
}

/** RUNTIME_VERSION_SKEW, naming the first of the others that a node of this release may not serve beside, and the range. */
export function assertWithinSkew(release: string, others: readonly FleetMember[]): void {
  const member = beyondSkew(release, others);
  if (member === null) return;
  throw new RuntimeError("RUNTIME_VERSION_SKEW", skewMessage(release, member), {
    hint: `Upgrade the fleet one minor after the other; or stop ${member.name} first, and start it with ${release}, too.`,
  });
}
