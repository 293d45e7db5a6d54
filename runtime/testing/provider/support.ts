import assert from "node:assert/strict";
import type { Message } from "../../contracts/message.ts";
import type { ChatChunk, ChatOptions, Provider } from "../../contracts/provider.ts";
import { inTime } from "../check.ts";
import type { BackendStep, OpenProvider, ProviderFeature, ProviderHarness } from "./harness.ts";

/** What the checks of a provider are made with. */

export { assertFailure, failureOf, waitUntil } from "../check.ts";

export interface CheckDefinition {
  readonly name: string;
  /** It is left out for a provider that lacks one of these. */
  readonly needs: readonly ProviderFeature[];
  readonly script: readonly BackendStep[];
  run(open: OpenProvider): Promise<void>;
}

/** Opens, runs, and closes whatever happens. */
export async function runCheck({ name, script, run }: CheckDefinition, harness: ProviderHarness): Promise<void> {
  const open = await harness.open(script);
  try {
    await inTime(name, run(open));
  } finally {
    await open.close();
  }
}

export function asks(text: string): Message[] {
  return [{ role: "user", content: text }];
}

/** Every chunk of a reply. */
export async function read(
  provider: Provider,
  messages: readonly Message[],
  options?: ChatOptions,
): Promise<ChatChunk[]> {
  const chunks: ChatChunk[] = [];
  for await (const chunk of provider.chatStream(messages, options)) chunks.push(chunk);
  return chunks;
}

export function textIn(chunks: readonly ChatChunk[]): string {
  return chunks.map((chunk) => (chunk.type === "text" ? chunk.text : "")).join("");
}

export function endOf(chunks: readonly ChatChunk[]): Extract<ChatChunk, { type: "end" }> {
  const last = chunks.at(-1);
  assert(last?.type === "end", "the last chunk of a complete reply has to be its end");
  return last;
}
