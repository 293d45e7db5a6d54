import { describe, expect, it } from "vitest";
import { planThinking } from "../../../../../runtime/plugins/providers/gemini/thinking.ts";

/** The table of docs/providers.md. */

const LEVELS = ["off", "low", "medium", "high"] as const;
const plans = (model: string) => LEVELS.map((level) => planThinking(level, model).config);

describe("thinking levels", () => {
  it.each(["gemini-2.0-flash", "gemini-1.5-pro", "gemma-3-27b-it"])("mean nothing to %s", (model) => {
    expect(plans(model)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it.each([
    ["gemini-2.5-flash", 0],
    ["models/gemini-2.5-pro", 128],
  ])("are token budgets for %s", (model, off) => {
    expect(plans(model)).toEqual([
      { thinkingBudget: off },
      ...[2_048, 8_192, 24_576].map((thinkingBudget) => ({ thinkingBudget, includeThoughts: true })),
    ]);
  });

  it.each([
    ["gemini-3.5-flash", "MINIMAL", "MEDIUM"],
    ["gemini-flash-latest", "MINIMAL", "MEDIUM"],
    ["gemini-3.1-pro", "LOW", "MEDIUM"],
    ["gemini-3-pro-preview", "LOW", "HIGH"],
  ])("are levels for %s", (model, off, medium) => {
    expect(plans(model)).toEqual([
      { thinkingLevel: off },
      ...["LOW", medium, "HIGH"].map((thinkingLevel) => ({ thinkingLevel, includeThoughts: true })),
    ]);
  });

  it("are the model's own default where none is chosen", () => {
    expect(planThinking(undefined, "gemini-3.5-flash").config).toBeUndefined();
  });
});
