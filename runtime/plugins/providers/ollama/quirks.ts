import type { ChatRequest } from "ollama/browser";
import { type Failure, isContextTooLong } from "../../shared/model-http/failure.ts";

/** What a model refuses of a request. The request is sent once more without it, and the model's quirk is remembered. */
export type Quirk =
  | "no-thinking"
  /** The chat template takes a system message in first place only, and after it user and assistant in turns. */
  | "strict-roles"
  /** The model was made without tools: it answers without them. */
  | "no-tools";

/** What the server's complaint points to, if the request holds it. */
export function quirkFor(failure: Failure, params: ChatRequest): Quirk | undefined {
  if (failure.kind !== "status" || ![400, 500].includes(failure.status) || isContextTooLong(failure)) return undefined;
  const text = failure.message ?? "";
  const inside = params.messages?.some(({ role }, index) => role === "system" && index > 0) === true;
  if (inside && /system|roles? must alternate|template|jinja/i.test(text)) return "strict-roles";
  if (failure.status === 500) return undefined;
  if (params.think !== undefined && /think/i.test(text)) return "no-thinking";
  if (params.tools !== undefined && /does not support tools/i.test(text)) return "no-tools";
  return undefined;
}
