import { ProviderError } from "../../../contracts/errors.ts";
import type { ChatChunk } from "../../../contracts/provider.ts";
import { createWatch, type Watch } from "./watch.ts";

/**
 * One model call as the caller sees it: attempts, abort, silence and errors. Providers supply how to attempt, how to read
 * an error, and whether leaving something out of the request would help.
 */

export interface CallPlan<Quirk extends string> {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  /** Makes the requests. */
  readonly fetch: typeof globalThis.fetch;
  /** What is known about the model from earlier calls. */
  readonly quirks: ReadonlySet<Quirk>;
  /** Sends the request, adapted to the quirks, and reads the answer; throws whatever the SDK throws. */
  attempt(quirks: ReadonlySet<Quirk>, watch: Watch): AsyncIterable<ChatChunk>;
  explain(error: unknown, watch: Watch): ProviderError;
  /** The quirk that the server's complaint points to, if the request can be adapted to it. */
  adapt(error: unknown, quirks: ReadonlySet<Quirk>, watch: Watch): Quirk | undefined;
  /** Called when a request is sent again without what the server complained about. */
  onAdapted(quirk: Quirk): void;
}

/** Each quirk is tried at most once a call and only before the first chunk, so the number of attempts is bounded. */
export async function* runCall<Quirk extends string>(
  plan: CallPlan<Quirk>,
): AsyncGenerator<ChatChunk, void, undefined> {
  const quirks = new Set(plan.quirks);
  for (;;) {
    plan.signal?.throwIfAborted();
    const watch = createWatch({ timeoutMs: plan.timeoutMs, signal: plan.signal, fetch: plan.fetch });
    let begun = false;
    try {
      for await (const chunk of plan.attempt(quirks, watch)) {
        begun ||= chunk.type !== "usage";
        yield chunk;
      }
      return;
    } catch (error) {
      plan.signal?.throwIfAborted();
      const quirk = begun ? undefined : plan.adapt(error, quirks, watch);
      if (quirk === undefined || quirks.has(quirk)) {
        throw error instanceof ProviderError ? error : plan.explain(error, watch);
      }
      quirks.add(quirk);
      plan.onAdapted(quirk);
    } finally {
      watch.dispose();
    }
  }
}
