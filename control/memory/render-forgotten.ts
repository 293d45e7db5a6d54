/** What is to be forgotten, and what was, in words. */

import type { ForgetPreview, ForgetReport } from "../../runtime/client/index.ts";
import { columns, type Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";

export interface Forgotten {
  /** `preview`: nothing was to be done, or there is nothing; `declined`: another number was typed. */
  readonly outcome: "forgotten" | "preview" | "declined";
  readonly preview: ForgetPreview;
  /** Null where nothing was erased. */
  readonly erased: ForgetReport | null;
}

export function renderForgotten({ outcome, preview, erased }: Forgotten, mark: Mark): string {
  if (outcome === "declined") return "Nothing was forgotten.";
  if (erased === null)
    return preview.messages === 0 && preview.unfinished === null
      ? "There is nothing to forget."
      : renderPreview(preview, mark);
  const rows = [
    ["messages", erased.messages],
    ["turns", erased.turns],
    ["attachments", erased.attachments],
    ["summaries", erased.summaries],
  ].map((row) => row.map(String));
  return [
    `Forgotten (erasure ${erased.id}):`,
    columns(rows, "  "),
    `${mark.warn("Still there:")} in backups that were made before, in the workspace's own files, and in files of assistants whose sessions were captured.`,
  ].join("\n");
}

export function renderPreview(
  { messages, conversations, summaries, first, unfinished }: ForgetPreview,
  mark: Mark,
): string {
  const shown = first.map(({ id, role, agent, created_at: at, text }) => {
    const head = `${mark.name(visible(`${agent}/${role}`))} ${at.slice(0, 16).replace("T", " ")} ${mark.dim(id)}`;
    return `  ${head}\n    ${visible(text.replace(/\s+/g, " ").trim())}`;
  });
  return [
    ...(unfinished === null ? [] : [`${mark.warn("Cut off:")} an erasure of this was begun; the rest of it goes now.`]),
    `${counted(messages, "message")} of ${counted(conversations, "conversation")}.`,
    ...(summaries === 0 ? [] : [`Summaries that cover them, and are made again from what remains: ${summaries}.`]),
    ...shown,
    ...(messages > first.length ? [`  and ${messages - first.length} more`] : []),
  ].join("\n");
}

function counted(count: number, one: string): string {
  return `${count} ${count === 1 ? one : `${one}s`}`;
}
