/** What the ledger of usage says, as a table. */

import type { UsageCounts, UsageReport } from "../../runtime/client/index.ts";
import { columns, type Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";

export function renderUsage({ from, to, by, rows, total }: UsageReport, mark: Mark): string {
  if (rows.length === 0) return `No model was called between ${from} and ${to}.`;
  const head = [by, "calls", "input", "cached", "output", "cost"].map((name) => mark.dim(name));
  const lines = rows.map(({ key, ...counts }) => [visible(key), ...cells(counts)]);
  const table = columns([head, ...lines, ["total", ...cells(total)]]);
  if (total.unpriced_calls === 0) return table;
  const calls = total.unpriced_calls === 1 ? "1 call" : `${total.unpriced_calls} calls`;
  return `${table}\n\n${calls} without a price: providers.<id>.prices in cairn.yaml counts the next ones.`;
}

function cells({ calls, input_tokens, cached_input_tokens, output_tokens, cost_usd }: UsageCounts): string[] {
  return [...[calls, input_tokens, cached_input_tokens, output_tokens].map(String), money(cost_usd)];
}

/** Cents, and four digits for what is less than one. */
function money(usd: number | null): string {
  if (usd === null) return "-";
  if (usd > 0 && usd < 0.0001) return "<$0.0001";
  return `$${usd.toFixed(usd === 0 || usd >= 0.01 ? 2 : 4)}`;
}
