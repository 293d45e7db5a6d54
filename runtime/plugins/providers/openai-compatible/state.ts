import { isRecord } from "../../../contracts/values.ts";

/** What a server gets back with its own reply, inside a tool loop: beyond the API, but some models need it. */
export interface ReplyState {
  /** The reasoning, under the name that the server has for it. */
  readonly reasoning?: { readonly field: ReasoningField; readonly text: string };
  /** `extra_content` of the calls, by their place (Gemini signs its calls there); absent where a call has none. */
  readonly extras: readonly unknown[];
}

export const REASONING_FIELDS = ["reasoning_content", "reasoning"] as const;
export type ReasoningField = (typeof REASONING_FIELDS)[number];

/** A state as it comes back from storage; anything else is no state. */
export function readState(stored: unknown): ReplyState {
  if (!isRecord(stored)) return { extras: [] };
  const reasoning = isRecord(stored["reasoning"]) ? stored["reasoning"] : {};
  const field = REASONING_FIELDS.find((candidate) => candidate === reasoning["field"]);
  const text = reasoning["text"];
  const extras: readonly unknown[] = Array.isArray(stored["extras"]) ? stored["extras"] : [];
  return {
    ...(field === undefined || typeof text !== "string" ? {} : { reasoning: { field, text } }),
    extras: extras.map((extra) => extra ?? undefined),
  };
}
