import type { Part } from "@google/genai/web";
import { isRecord } from "../../../contracts/values.ts";

/** What Gemini gets back with its own reply inside a tool loop: the parts as they came, with their signatures. */
export interface ReplyState {
  readonly parts: readonly Part[];
}

/** The parts in our own state, which comes back from storage. */
export function readState(stored: unknown): readonly Part[] {
  if (!isRecord(stored) || !Array.isArray(stored["parts"])) return [];
  // Written by stream.ts; the API itself checks the signatures.
  return structuredClone(stored["parts"]) as Part[];
}

/** Adds a part to a reply: text is put together, except where a signature belongs to one piece of it. */
export function addPart(parts: Part[], part: Part): void {
  // The last event may have an empty one, which the API does not take back.
  if (part.text === "" && !part.thoughtSignature) return;
  const last = parts.at(-1);
  const joins =
    last?.text !== undefined &&
    part.text !== undefined &&
    last.thought === part.thought &&
    !last.thoughtSignature &&
    !part.thoughtSignature;
  if (joins) parts[parts.length - 1] = { ...last, text: `${last.text}${part.text}` };
  else parts.push(part);
}
