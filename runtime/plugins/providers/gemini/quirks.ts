import type { GenerateContentParameters, Part } from "@google/genai/web";
import { type Failure, isContextTooLong } from "../../shared/model-http/failure.ts";

/**
 * What a model refuses of a request. The request is sent once more without it; all but `no-replay` are remembered for the
 * model.
 */
export type Quirk =
  | "no-thinking"
  /** Open models that are served beside Gemini take no system instruction. */
  | "no-system-instruction"
  /** Signatures of earlier replies are no longer accepted: another key or another service wrote them. */
  | "no-replay";

/** Accepted in place of a signature, for calls that no model of this service wrote: https://ai.google.dev/gemini-api/docs/thought-signatures */
export const NO_SIGNATURE = "skip_thought_signature_validator";

/** What the server's complaint points to, if the request holds it. */
export function quirkFor(failure: Failure, params: GenerateContentParameters): Quirk | undefined {
  if (failure.kind !== "status" || failure.status !== 400 || isContextTooLong(failure)) return undefined;
  const text = failure.message ?? "";
  const signed = partsOf(params).some(({ thoughtSignature }) => thoughtSignature && thoughtSignature !== NO_SIGNATURE);
  if (signed && /signature/i.test(text)) return "no-replay";
  if (params.config?.thinkingConfig !== undefined && /think/i.test(text)) return "no-thinking";
  if (params.config?.systemInstruction !== undefined && /(developer|system).{0,3}instruction/i.test(text)) {
    return "no-system-instruction";
  }
  return undefined;
}

function partsOf({ contents }: GenerateContentParameters): readonly Part[] {
  const list: readonly unknown[] = Array.isArray(contents) ? contents : [];
  // Made by request.ts.
  return list.flatMap((content) => (content as { parts?: Part[] }).parts ?? []);
}
