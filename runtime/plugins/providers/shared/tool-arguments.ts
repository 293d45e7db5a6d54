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
