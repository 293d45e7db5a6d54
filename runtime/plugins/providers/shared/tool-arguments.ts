import type { ToolCall } from "../../../contracts/message.ts";
import { isRecord } from "../../../contracts/values.ts";

/** The key under which malformed arguments reach the agent loop, whole. */
const INVALID_JSON = "__invalid_json";

/** A call's arguments from the text that the model wrote: no text is no arguments; anything but an object is malformed. */
export function parseArguments(text: string): ToolCall["arguments"] {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
    if (value === null) return {};
  } catch {
    // Told to the model below: it can only repair what it sees.
  }
  return { [INVALID_JSON]: text };
}

/**
 * A call of which the service says only that it could not read it, with what the model wrote where that came: answered as one whose
 * arguments are malformed, so that the model writes it again.
 */
export function unreadableCall(id: string, text = ""): ToolCall {
  return { id, name: "unreadable_call", arguments: { [INVALID_JSON]: text } };
}
