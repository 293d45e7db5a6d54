/** A message that is longer than one question holds, cut into parts that cover all of it, and their summaries put together. */

import { chunksOf } from "../text-chunks.ts";
import type { CountTokens } from "../tokens.ts";
import { messageBody, messageHeading, type SourceMessage } from "./entries.ts";

/** UTF-8 bytes that are fewer tokens than this number whatever the script: what is counted is made smaller until it fits. */
const BYTES_PER_TOKEN = 3;
/** Of the summary of one part; more parts than the budget holds of these are summarized once more. */
const LEAST_PART = 300;

/** Texts that together hold the whole body of the message; each makes an entry of at most `room` tokens. */
export function partsOf(message: SourceMessage, room: number, count: CountTokens): Generator<string> {
  const heading = count(messageHeading(message, 1, { n: 1_000, of: 1_000 })) + 2;
  const fits = Math.max(1, room - heading);
  return split(messageBody(message), fits, fits * BYTES_PER_TOKEN, count);
}

function* split(text: string, fits: number, bytes: number, count: CountTokens): Generator<string> {
  for (const chunk of chunksOf(text, { bytes, most: Number.MAX_SAFE_INTEGER })) {
    if (bytes <= 4 || count(chunk) <= fits) yield chunk;
    else yield* split(chunk, fits, Math.ceil(bytes / 2), count);
  }
}

/** The parts as entries. */
export function partEntries(message: SourceMessage, texts: readonly string[]): string[] {
  return texts.map((text, index) => `${messageHeading(message, 1, { n: index + 1, of: texts.length })}\n${text}`);
}

/** Tokens that the summary of each of so many parts may have. */
export function partBudget(answer: number, parts: number): number {
  return Math.max(Math.min(LEAST_PART, answer), Math.floor((answer * 0.9) / Math.max(1, parts)));
}

/** The summaries of all parts as one text. */
export function stitched(summaries: readonly string[]): string {
  return summaries.map((text, index) => `Part ${index + 1} of ${summaries.length}:\n${text}`).join("\n\n");
}
