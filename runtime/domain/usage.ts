/** What a call of a model counts for in the ledger of usage: whole tokens, and money where its tokens have prices. Pure. */

import type { Usage } from "../contracts/message.ts";
import { sanitize } from "./cap.ts";

/** US dollars per million tokens. A cache's prices default to that of input. */
export interface Prices {
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  readonly cacheRead?: number | undefined;
  readonly cacheWrite?: number | undefined;
}

export interface CountedCall {
  readonly provider: string;
  /** As the provider names it in its answer. */
  readonly model: string;
  readonly inputTokens: number;
  /** Part of inputTokens. */
  readonly cachedInputTokens: number;
  /** Part of inputTokens. */
  readonly cacheWriteInputTokens: number;
  readonly outputTokens: number;
  /** Null where tokens that were used have no price. */
  readonly costUsd: number | null;
  /** The day that it counts for, YYYY-MM-DD, in the zone of the configuration. */
  readonly day: string;
}

type Tokens = Omit<CountedCall, "provider" | "model" | "costUsd" | "day">;

/** Model names stand in an index. */
const LONGEST_MODEL = 256;
/** No call has as many; sums of them fit into what the store counts with. */
const MOST_TOKENS = 1e12;

/** All of a call, in and out. */
export function tokensOf({ inputTokens, outputTokens }: Pick<Usage, "inputTokens" | "outputTokens">): number {
  return inputTokens + outputTokens;
}

/** Counts that no server could mean (negative, broken, no numbers) become ones that can be stored. */
export function countCall(
  provider: string,
  model: string,
  usage: Usage,
  day: string,
  prices: Prices = {},
): CountedCall {
  const inputTokens = whole(usage.inputTokens);
  const cachedInputTokens = Math.min(whole(usage.cachedInputTokens), inputTokens);
  const tokens = {
    inputTokens,
    cachedInputTokens,
    cacheWriteInputTokens: Math.min(whole(usage.cacheWriteInputTokens), inputTokens - cachedInputTokens),
    outputTokens: whole(usage.outputTokens),
  };
  return {
    provider,
    model: sanitize(model.slice(0, LONGEST_MODEL)),
    ...tokens,
    costUsd: costOf(tokens, prices),
    day,
  };
}

function costOf(tokens: Tokens, { input, output, cacheRead = input, cacheWrite = input }: Prices): number | null {
  const { inputTokens, cachedInputTokens, cacheWriteInputTokens, outputTokens } = tokens;
  const parts = [
    [inputTokens - cachedInputTokens - cacheWriteInputTokens, input],
    [cachedInputTokens, cacheRead],
    [cacheWriteInputTokens, cacheWrite],
    [outputTokens, output],
  ] as const;
  let millionths = 0;
  for (const [count, price] of parts) {
    if (count === 0) continue;
    if (price === undefined) return null;
    millionths += count * price;
  }
  return Number.isFinite(millionths) ? millionths / 1e6 : null;
}

/** The type says number, a server may have said anything. */
function whole(count: number | undefined): number {
  const given = Math.trunc(Number(count ?? 0));
  return Number.isNaN(given) ? 0 : Math.min(Math.max(given, 0), MOST_TOKENS);
}
