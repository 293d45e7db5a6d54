import { describe, expect, it } from "vitest";
import { planThinking } from "../../../../../runtime/plugins/providers/anthropic/thinking.ts";

/** The table of docs/providers.md. */

const params = (level: "off" | "low" | "medium" | "high" | undefined, model: string, answer?: number) =>
  planThinking(level, model, answer).params;

describe("thinking levels", () => {
  it.each(["claude-3-haiku-20240307", "claude-3-5-sonnet-20241022", "claude-2.1"])("mean nothing to %s", (model) => {
    expect(params("high", model)).toEqual({});
  });

  it.each([
    "claude-3-7-sonnet-20250219",
    "claude-sonnet-4-20250514",
    "claude-opus-4-1",
    "claude-haiku-4-5-20251001",
    "MiniMax-M2",
  ])("are token budgets for %s", (model) => {
    expect(params("off", model)).toEqual({});
    expect(params("low", model)).toEqual({ thinking: { type: "enabled", budget_tokens: 2_048 } });
    expect(params("medium", model)).toEqual({ thinking: { type: "enabled", budget_tokens: 8_192 } });
  });

  it("are efforts for Claude 4.6", () => {
    expect(params("off", "claude-sonnet-4-6")).toEqual({});
    expect(params("medium", "claude-sonnet-4-6")).toEqual({
      thinking: { type: "adaptive" },
      output_config: { effort: "medium" },
    });
  });

  it.each([
    "claude-opus-4-7",
    "claude-opus-5",
    "claude-sonnet-5-5",
    "claude-mythos-preview",
    "claude-fable-6",
    "anthropic/claude-opus-4.8",
  ])("are efforts for %s, with the text of its thinking", (model) => {
    expect(params("high", model)).toEqual({
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "high" },
    });
  });

  it.each([
    ["claude-opus-4-8", {}],
    ["claude-opus-5", { thinking: { type: "disabled" } }],
    ["claude-sonnet-5", { thinking: { type: "disabled" } }],
    ["claude-haiku-5-5", { thinking: { type: "disabled" } }],
    ["claude-sonnet-5-5", { thinking: { type: "between_tools" } }],
    ["claude-opus-5-5", { output_config: { effort: "low" } }],
    ["claude-fable-5", { output_config: { effort: "low" } }],
    ["claude-mythos-preview", { output_config: { effort: "low" } }],
  ])("switch thinking off as %s takes it", (model, expected) => {
    expect(params("off", model)).toEqual(expected);
  });
});

describe("the limit of a reply", () => {
  it("holds the thinking beside the room for the answer", () => {
    expect(planThinking("medium", "claude-sonnet-4-5", 1_000).maxTokens).toBe(9_192);
    expect(planThinking("off", "claude-sonnet-4-5", 1_000).maxTokens).toBe(1_000);
  });

  it("never exceeds what the model can write, and always exceeds the budget", () => {
    for (const answer of [1, 1_000, 20_000, 31_500, 200_000]) {
      for (const model of ["claude-opus-4-1", "claude-sonnet-4-5"]) {
        const { params: given, maxTokens } = planThinking("high", model, answer);
        const budget = given.thinking?.type === "enabled" ? given.thinking.budget_tokens : 0;
        expect(maxTokens).toBeLessThanOrEqual(model === "claude-opus-4-1" ? 32_000 : 64_000);
        expect(budget).toBeLessThan(maxTokens);
      }
    }
  });
});

describe("temperature", () => {
  it("is taken where the model takes it: not beside thinking, and not since Claude 4.7", () => {
    expect(planThinking("off", "claude-sonnet-4-6", undefined).takesTemperature).toBe(true);
    expect(planThinking(undefined, "claude-haiku-4-5", undefined).takesTemperature).toBe(true);
    expect(planThinking("low", "claude-sonnet-4-6", undefined).takesTemperature).toBe(false);
    expect(planThinking("low", "claude-sonnet-4-5", undefined).takesTemperature).toBe(false);
    expect(planThinking("off", "claude-opus-4-7", undefined).takesTemperature).toBe(false);
    expect(planThinking(undefined, "claude-fable-5", undefined).takesTemperature).toBe(false);
  });
});
