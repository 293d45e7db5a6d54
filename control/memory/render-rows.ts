/** Rows of the transcript in words: who said it when, its id, then what was said. */

import type { MessageRecord } from "../../runtime/contracts/records.ts";
import type { Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";

const INDENT = "  ";
/** Characters of a row that only stands beside the one that was asked for. */
export const NEIGHBOUR_LENGTH = 300;

export type MessageRow = Omit<MessageRecord, "metadata" | "conversation_id">;

/** `most`: characters of the text that are shown; default all of it. */
export function renderMessage(row: MessageRow, mark: Mark, most = Number.POSITIVE_INFINITY): string {
  const who = row.tool_name === null ? row.role : `tool ${row.tool_name}`;
  const head = `${mark.name(visible(`${row.agent}/${who}`))} ${shortTime(row.created_at)} ${mark.dim(row.id)}`;
  return `${head}\n${indented(shortened(visible(textOf(row).trim()), most))}`;
}

/** A call without a sentence about it shows its arguments and its result. */
function textOf({ content, tool_name, tool_args, tool_result }: MessageRow): string {
  if (tool_name === null) return content;
  const args = tool_args === null ? "" : JSON.stringify(tool_args);
  return [content, args, tool_result ?? ""].filter((part) => part !== "").join("\n");
}

/** `2030-01-31 12:00`, UTC. */
export function shortTime(iso: string): string {
  return iso.slice(0, 16).replace("T", " ");
}

/** So many characters at most, never through the middle of one. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).replace(/[\ud800-\udbff]$/, "")}…`;
}

export function indented(text: string): string {
  return text
    .split("\n")
    .map((line) => `${INDENT}${line}`.trimEnd())
    .join("\n");
}
