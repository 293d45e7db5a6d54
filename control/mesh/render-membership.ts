/** What became of a node that was to join, leave or be revoked, in words. */

import { colouredDiff } from "../output/render-edit.ts";
import type { Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import type { Departed } from "./depart.ts";
import type { MeshJoinResult } from "./join.ts";

export function renderJoined({ joined, members, diff, next }: MeshJoinResult, mark: Mark): string {
  const others = members.map(visible).join(", ");
  return [
    joined
      ? `${mark.good("Joined.")} The other members: ${others}.`
      : `The node joins at its next start: \`${next}\`. \`cairn mesh list\` then shows the members, \`cairn status\` what went wrong.`,
    ...(diff === "" ? [] : ["", colouredDiff(diff, mark)]),
  ].join("\n");
}

export function renderLeave({ outcome, name, notified }: Departed<"left">, mark: Mark): string {
  if (outcome === "declined") return "Another name was typed: nothing was changed.";
  return [
    `${mark.good(`${visible(name ?? "The node")} has left its mesh.`)} ${notifiedWords(notified)}`,
    "Run `cairn restart`: it then has another identity.",
  ].join("\n");
}

export function renderRevoked({ outcome, id, name, notified, admitted }: Departed<"revoked">, mark: Mark): string {
  if (outcome === "declined") return "Another name was typed: nothing was changed.";
  const node = name === null ? `The node ${id}` : `${visible(name)} (${id})`;
  return [
    `${mark.good(`${node} is revoked.`)} ${notifiedWords(notified)}`,
    ...(admitted.length === 0
      ? []
      : [
          `It had admitted ${admitted.map(visible).join(", ")}, who stay${admitted.length === 1 ? "s" : ""}: revoke whom you do not know as well.`,
        ]),
  ].join("\n");
}

function notifiedWords(notified: number): string {
  if (notified === 0) return "No other member was told.";
  return `${notified === 1 ? "One member knows" : `${notified} members know`} of it; the others hear of it from them.`;
}
