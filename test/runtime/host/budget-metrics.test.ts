import { expect, it } from "vitest";
import { createMetrics } from "../../../runtime/host/metrics.ts";

it("shows what agents have used of their budgets, and what they may use", async () => {
  const use = { used: 90, max: 100, share: 0.9, resets_at: "2030-02-01T00:00:00.000Z" };
  const report = {
    on_limit: "stop",
    state: "near",
    limits: [
      { limit: "daily_tokens", ...use },
      { limit: "monthly_usd", ...use, used: 1.5 },
    ],
  } as const;
  let stored = true;
  const { registry } = createMetrics({
    openTurns: async () => [],
    jobs: { states: async () => [] },
    embeddings: async () => [],
    compaction: async () => ({ due: 0, failing: 0, given_up: 0 }),
    budgets: { report: async () => (stored ? new Map([["main", report]]) : Promise.reject(new Error("no store"))) },
  });
  const lines = async () => (await registry.metrics()).split("\n").filter((line) => /^cairn_budget/.test(line));
  expect(await lines()).toEqual([
    'cairn_budget_used{agent="main",limit="daily_tokens"} 90',
    'cairn_budget_used{agent="main",limit="monthly_usd"} 1.5',
    'cairn_budget_limit{agent="main",limit="daily_tokens"} 100',
    'cairn_budget_limit{agent="main",limit="monthly_usd"} 100',
  ]);
  stored = false;
  expect(await lines()).toEqual([]);
});
