/** The fleet, and pings of its nodes, as tables. What is wrong comes first. */

import type { PeerPing } from "../../runtime/client/index.ts";
import { columns, type Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import { duration } from "../output/words.ts";
import type { Fleet } from "./fleet.ts";
import type { FleetMember } from "./fleet-problems.ts";

export function renderFleet({ members, problems }: Fleet, mark: Mark, now: Date): string {
  const wrong = problems.map(
    ({ node, message, hint }) => `${mark.error(visible(node))}: ${visible(message)}\n  ${mark.dim(visible(hint))}`,
  );
  const head = ["NODE", "STATE", "VERSION", "SCHEMA", "HOSTS", "HEARD", "PING", "ADDRESS", "CERTIFICATE"];
  const rows = members.map((member) => [
    member.self ? `${member.name} *` : member.name,
    member.status,
    member.version,
    String(member.schema),
    member.hosts.length === 0 ? "-" : member.hosts.join(", "),
    heard(member, now),
    member.ping === null ? "-" : pingWord(member.ping),
    member.address ?? "-",
    member.certificate_sha256 === null ? "-" : `${member.certificate_sha256.slice(0, 11)}...`,
  ]);
  return [...wrong, ...(wrong.length === 0 ? [] : [""]), table(head, rows, mark)].join("\n");
}

export function renderPings(pings: readonly PeerPing[], mark: Mark): string {
  if (pings.length === 0) return "There is no other node.";
  const rows = pings.map(({ name, ms, clock_ahead_s: ahead, error }) => [
    name,
    pingWord({ ms }),
    ahead === null ? "-" : `${ahead > 0 ? "+" : ""}${ahead} s`,
    error === null ? "-" : [error.message, error.hint ?? ""].join(" ").trim(),
  ]);
  return table(["NODE", "PING", "CLOCK", "REASON"], rows, mark);
}

function table(head: readonly string[], rows: readonly (readonly string[])[], mark: Mark): string {
  const [first = "", ...rest] = columns([head, ...rows.map((row) => row.map(visible))]).split("\n");
  return [mark.dim(first), ...rest].join("\n");
}

function pingWord({ ms }: Pick<PeerPing, "ms">): string {
  return ms === null ? "no" : `${ms} ms`;
}

function heard({ status, heard_at: at }: FleetMember, now: Date): string {
  if (status === "online" || status === "draining") return "now";
  return at === undefined || at === null ? "-" : `${duration(now.getTime() - Date.parse(at))} ago`;
}
