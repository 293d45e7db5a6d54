import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Message } from "../../contracts/message.ts";
import type { ChatChunk, ChatOptions, Provider } from "../../contracts/provider.ts";
import type { BackendStep, OpenProvider, ProviderFeature, ProviderHarness } from "./harness.ts";

/** What the checks are made with. */

export interface CheckDefinition {
  readonly name: string;
  /** It is left out for a provider that lacks one of these. */
  readonly needs: readonly ProviderFeature[];
  readonly script: readonly BackendStep[];
  run(open: OpenProvider): Promise<void>;
}

/** Milliseconds that anything may take, on a slow machine too. */
const DEADLINE_MS = 60_000;
const POLL_MS = 10;

/** Opens, runs, and closes whatever happens. */
export async function runCheck({ name, script, run }: CheckDefinition, harness: ProviderHarness): Promise<void> {
  const open = await harness.open(script);
  const deadline = new AbortController();
  try {
    await Promise.race([
      run(open),
      sleep(DEADLINE_MS, undefined, { signal: deadline.signal }).then(() =>
        assert.fail(`nothing happened for ${DEADLINE_MS / 1_000} s: ${name}`),
      ),
    ]);
  } finally {
    deadline.abort();
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

/** What a call rejects with. */
export async function failureOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  assert.fail("the call has to reject, and it resolved");
}

/** Checks that an error is a ProviderError, whichever copy of the class it is from, with that code. */
export function assertFailure(error: unknown, codes: readonly string[], retryable: boolean): void {
  assert(error instanceof Error, `the call has to reject with an error, and it was ${String(error)}`);
  const code = "code" in error ? String(error.code) : "no code";
  assert(codes.includes(code), `the code has to be ${codes.join(" or ")}, and it is ${code}: ${error.message}`);
  assert.equal("retryable" in error && error.retryable, retryable, `whether ${code} is retryable`);
}

export async function waitUntil(condition: () => boolean, what: string): Promise<void> {
  for (const end = Date.now() + DEADLINE_MS / 2; !condition(); await sleep(POLL_MS)) {
    assert(Date.now() < end, what);
  }
}
