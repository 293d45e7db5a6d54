/** Whether what a session file holds is what a row was cut from: pure. */

import type { Metadata } from "../../contracts/records.ts";
import { cap, sanitize, sanitizeJson } from "../cap.ts";
import type { SessionEvent } from "./event.ts";

/** What a row holds, besides the lengths in its metadata. */
export interface CutRow {
  readonly content: string;
  readonly tool_name: string | null;
  readonly tool_args: unknown;
  readonly tool_result: string | null;
  readonly metadata: Metadata;
}

export type CutPart = "content" | "tool_result" | "tool_args" | "reasoning";

export interface FoundParts {
  readonly content?: string;
  readonly tool_result?: string;
  readonly tool_args?: unknown;
}

export const FULL_LENGTHS: { readonly [Part in CutPart]: string } = {
  content: "full_content_length",
  tool_result: "full_tool_result_length",
  tool_args: "full_tool_args_length",
  reasoning: "full_reasoning_length",
};

/** What was cut from the row, or left out by the hook that sent it, from the lengths in its metadata. */
export function cutParts({ metadata }: Pick<CutRow, "metadata">): CutPart[] {
  const parts = Object.keys(FULL_LENGTHS) as CutPart[];
  return parts.filter((part) => {
    const length = metadata[FULL_LENGTHS[part]];
    return typeof length === "number" && length > 0;
  });
}

/**
 * The wanted parts from the events of the place that the row's pointer names. A text must begin with what the row has and
 * be as long as the original was; arguments, of which the row has nothing, must be as long and of the same tool. What does
 * not fit is left out: the file was written anew, or the pointer points elsewhere.
 */
export function partsFrom(events: readonly SessionEvent[], row: CutRow, wanted: readonly CutPart[]): FoundParts {
  const { content, tool_result: result, metadata } = row;
  const whole = (texts: readonly (string | null | undefined)[], head: string | null, part: CutPart) =>
    texts
      .map((text) => sanitize(text ?? ""))
      .find((text) => text.length === metadata[FULL_LENGTHS[part]] && cap(text).text === (head ?? ""));
  const found: { content?: string; tool_result?: string; tool_args?: unknown } = {};
  if (wanted.includes("content")) {
    const text = whole(
      events.map((event) => event.content),
      content,
      "content",
    );
    if (text !== undefined) found.content = text;
  }
  if (wanted.includes("tool_result")) {
    const text = whole(
      events.map((event) => event.tool_result),
      result,
      "tool_result",
    );
    if (text !== undefined) found.tool_result = text;
  }
  if (wanted.includes("tool_args")) {
    const event = events.find(
      ({ tool_name: name, tool_args: args }) =>
        args !== undefined &&
        name === row.tool_name &&
        JSON.stringify(args)?.length === metadata[FULL_LENGTHS.tool_args],
    );
    if (event !== undefined) found.tool_args = sanitizeJson(event.tool_args);
  }
  return found;
}
