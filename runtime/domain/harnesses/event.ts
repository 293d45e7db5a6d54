/** What the readers of coding assistants' session files have in common. */

import type { CaptureEvent } from "../../contracts/capture.ts";
import type { Metadata } from "../../contracts/records.ts";
import { isRecord } from "../../contracts/values.ts";

export const HARNESSES = ["claude-code", "codex", "opencode"] as const;
export type Harness = (typeof HARNESSES)[number];

/** An event as a session file holds it, complete. */
export interface SessionEvent extends CaptureEvent {
  readonly metadata: Metadata;
}

/** What one line or part of a session holds. */
export interface SessionPiece {
  readonly events: readonly SessionEvent[];
  /** The model's thinking that precedes the events that follow; it is no event of its own. */
  readonly reasoning?: string;
  /** What the session is called from here on. */
  readonly title?: string;
}

export const NOTHING: SessionPiece = { events: [] };

/** Longest `tool_args`, as JSON in UTF-16 code units, that a hook sends along. */
export const MAX_TOOL_ARGS = 64_000;

/** Deeper than any tool's arguments; the node stores JSON of 512 levels. */
const MAX_DEPTH = 100;

/** The event as a hook sends it: arguments that are too long, or that no node takes, are replaced by their length. */
export function elided(event: SessionEvent, reasoning?: { readonly length: number }): CaptureEvent {
  const { tool_args: args, ...rest } = event;
  const metadata = {
    ...event.metadata,
    ...(reasoning === undefined || reasoning.length === 0 ? {} : { full_reasoning_length: reasoning.length }),
  };
  if (args === undefined || args === null) return { ...rest, metadata };
  const length = lengthOf(args);
  if (length <= MAX_TOOL_ARGS && isSendable(args)) return { ...event, metadata };
  return { ...rest, metadata: { ...metadata, full_tool_args_length: length } };
}

/** One event that the node refuses takes all others of its batch along, so what a web server calls an attack stays out. */
function isSendable(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (depth > MAX_DEPTH) return false;
  if (Object.hasOwn(value, "__proto__") || Object.hasOwn(value, "constructor")) return false;
  return Object.values(value).every((member) => isSendable(member, depth + 1));
}

/** As JSON. What nests so deep that it has none has some length, too. */
function lengthOf(value: unknown): number {
  try {
    return JSON.stringify(value).length;
  } catch {
    return 1;
  }
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A text, or a list of blocks, as text; what is no text is named in brackets. */
export function plainText(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(blockText).filter(Boolean).join("\n");
  if (content === undefined || content === null) return "";
  return isRecord(content) && typeof content["content"] === "string" ? content["content"] : JSON.stringify(content);
}

function blockText(block: unknown): string {
  if (typeof block === "string") return block;
  if (!isRecord(block)) return "";
  if (typeof block["text"] === "string") return block["text"];
  const kind = text(block["type"]).replace(/^input_|^output_/, "") || "part";
  const source = block["source"];
  const media = isRecord(source) ? text(source["media_type"]) : text(block["mime"]);
  return media ? `[${kind}: ${media}]` : `[${kind}]`;
}

/** The first line of the first message, for want of a title. */
export function titleFrom(content: string): string | undefined {
  const line = content.trim().split("\n", 1)[0]?.trim() ?? "";
  if (line === "") return undefined;
  return line.length <= 80 ? line : `${Array.from(line).slice(0, 79).join("")}…`;
}

/** An ISO 8601 time, or nothing. */
export function timeOf(value: unknown): string | undefined {
  const time = typeof value === "number" || typeof value === "string" ? new Date(value) : null;
  if (time === null || Number.isNaN(time.getTime())) return undefined;
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999 ? time.toISOString() : undefined;
}
