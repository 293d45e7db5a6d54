/** What is wrong with the nodes of a fleet, in words and with what to do. Pure. */

import type { MeshNode, PeerPing } from "../../runtime/client/index.ts";

export interface FleetMember extends MeshNode {
  /** From the node that was asked to this one; null for itself. */
  readonly ping: Omit<PeerPing, "id" | "name"> | null;
}

export const PROBLEMS = [
  "membership",
  "offline",
  "name",
  "address",
  "certificate",
  "clock",
  "unreachable",
  "version",
] as const;

export interface FleetProblem {
  readonly id: string;
  /** Name of the node. */
  readonly node: string;
  readonly problem: (typeof PROBLEMS)[number];
  readonly message: string;
  readonly hint: string;
}

interface NodeName {
  readonly id: string;
  readonly name: string;
}

/** As /health reports it. */
interface Membership {
  readonly standing?: string | null | undefined;
  readonly problem?: string | null | undefined;
}

/** Half of what tokens of peers allow (runtime/domain/mesh/peer-token.ts). */
const CLOCK_S = 45;

/** The worst first, then by name. */
export function problemsOf(members: readonly FleetMember[], meshEnabled: boolean): readonly FleetProblem[] {
  const self = members.find((member) => member.self);
  return members
    .flatMap((member) => [...namesakes(member, members), ...problemsOfOne(member, self, meshEnabled)])
    .sort(
      (a, b) => PROBLEMS.indexOf(a.problem) - PROBLEMS.indexOf(b.problem) || byName({ name: a.node }, { name: b.node }),
    );
}

/** What the node that was asked says of itself as a member: its list has others only, or none. */
export function problemsOfOwn({ id, name }: NodeName, { standing, problem }: Membership): readonly FleetProblem[] {
  if (problem == null) return [];
  const hint =
    standing === "revoked" || standing === "left"
      ? "`cairn mesh leave` gives it a new identity; run `cairn restart` then, and join with a token."
      : "`cairn logs --level warn` has more.";
  return [{ id, node: name, problem: "membership", message: problem, hint }];
}

export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function isLiving({ status }: FleetMember): boolean {
  return status === "online" || status === "draining";
}

/** Of nodes that live: one that was set up anew has the name of its former self. */
function namesakes(member: FleetMember, members: readonly FleetMember[]): FleetProblem[] {
  const { id, name: node } = member;
  if (!isLiving(member) || !members.some((other) => isLiving(other) && other.name === node && other.id !== id))
    return [];
  const message = `another node has this name, too: ${member.address ?? `its id is ${id}`}`;
  return [
    { id, node, problem: "name", message, hint: "Give each a mesh.name of its own in cairn.yaml, and restart it." },
  ];
}

function problemsOfOne(member: FleetMember, self: FleetMember | undefined, meshEnabled: boolean): FleetProblem[] {
  const { id, name: node, status } = member;
  const found: FleetProblem[] = [];
  const say = (problem: FleetProblem["problem"], message: string, hint: string): void => {
    found.push({ id, node, problem, message, hint });
  };
  // It was stopped on purpose: nothing about it is wrong.
  if (status === "stopped") return [];
  const { ping } = member;
  if (!isLiving(member)) {
    const reached = ping !== null && ping.error === null;
    const unheard = member.shares_database
      ? "ended, or lost the database, without saying so"
      : "has not been heard of late";
    say(
      "offline",
      reached ? "answers, but the registry hears nothing of it" : unheard,
      reached
        ? "It has lost its database: look at its log, and at the network between the two."
        : "Start it; `cairn logs` there says why it ended.",
    );
    return found;
  }
  if (meshEnabled && member.address === null) {
    say("address", "names no address under which other nodes reach it", "Set mesh.advertise there, and restart it.");
  } else if (ping?.error) {
    const { code, message, hint = "" } = ping.error;
    if (code === "RUNTIME_CERTIFICATE_REFUSED") say("certificate", message, hint);
    else if (code === "RUNTIME_CLOCK_SKEW") say("clock", message, hint);
    else if (meshEnabled || code !== "RUNTIME_PEER_UNREACHABLE") say("unreachable", message, hint);
  } else if (Math.abs(ping?.clock_ahead_s ?? 0) > CLOCK_S) {
    const ahead = Math.round(ping?.clock_ahead_s ?? 0);
    const side = ahead > 0 ? "ahead of" : "behind";
    say(
      "clock",
      `its clock is ${Math.abs(ahead)} s ${side} that of ${self?.name ?? "the node that was asked"}`,
      "Set both by a time server: from 90 s on they refuse each other.",
    );
  }
  if (self !== undefined && member.version !== self.version) {
    say(
      "version",
      `runs ${member.version}, and ${self.name} runs ${self.version}`,
      "Bring all nodes to one version: `cairn update` on each, or `cairn infra up --roll` for a deployed stack.",
    );
  }
  return found;
}
