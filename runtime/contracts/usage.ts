/** What models have used, as GET /api/usage reports it and clients read it. */

export const USAGE_KEYS = ["day", "agent", "provider", "model"] as const;
export type UsageKey = (typeof USAGE_KEYS)[number];

export interface UsageQuery {
  /** First and last day, of runtime.timezone, `2030-01-31`. Default: from 30 days before the last one to today. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Default: `day`. */
  readonly by?: UsageKey | undefined;
}

export interface UsageCounts {
  readonly calls: number;
  readonly input_tokens: number;
  /** Part of input_tokens, as is cache_write_input_tokens. */
  readonly cached_input_tokens: number;
  readonly cache_write_input_tokens: number;
  readonly output_tokens: number;
  /** Of the calls that had a price; null where none had one. */
  readonly cost_usd: number | null;
  readonly unpriced_calls: number;
}

export interface UsageReport {
  readonly from: string;
  readonly to: string;
  readonly by: UsageKey;
  /** In the order of `key`: a day, an agent, a provider, or `provider:model`. */
  readonly rows: readonly (UsageCounts & { readonly key: string })[];
  readonly total: UsageCounts;
}
