/** What is wrong with the nodes of a fleet, in words and with what to do. Pure. */

import type { MeshNode, PeerPing } from "../../runtime/client/index.ts";

export interface FleetMember extends MeshNode {
  /** From the node that was asked to this one; null for itself. */
  readonly ping: Omit<PeerPing, "id" | "name"> | null;
}

export const PROBLEMS = ["offline", "address", "certificate", "clock", "unreachable", "version"] as const;

export interface FleetProblem {
  readonly id: string;
  /** Name of the node. */
  readonly node: string;
  readonly problem: (typeof PROBLEMS)[number];
  readonly message: string;
  readonly hint: string;
}

/** Half of what tokens of peers allow (runtime/domain/mesh/peer-token.ts). */
const CLOCK_S = 45;

/** The worst first, then by name. */
export function problemsOf(members: readonly FleetMember[], meshEnabled: boolean): readonly FleetProblem[] {
  const self = members.find((member) => member.self);
  return members
    .flatMap((member) => problemsOfOne(member, self, meshEnabled))
    .sort(
      (a, b) => PROBLEMS.indexOf(a.problem) - PROBLEMS.indexOf(b.problem) || byName({ name: a.node }, { name: b.node }),
    );
}

export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
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
  if (status !== "online" && status !== "draining") {
    const reached = ping !== null && ping.error === null;
    say(
      "offline",
      reached ? "answers, but the registry hears nothing of it" : "ended, or lost the database, without saying so",
      reached
        ? "It has lost its database: look at its log, and at the network between the two."
        : "Start it; `cairn logs` where it is deployed says why it ended.",
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
