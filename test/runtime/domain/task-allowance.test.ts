import { expect, it } from "vitest";
import { createAllowance, type TaskLimits } from "../../../runtime/domain/task-allowance.ts";

const TOOLS = new Set(["file_read", "shell"]);
const allowance = (limits: TaskLimits | null, spent = 0) => createAllowance({ limits, tools: TOOLS, spent });

it("gives a task what is asked for, and nothing where nothing is", () => {
  expect(allowance(null).grant({}, true)).toBeNull();
  expect(allowance(null).grant({ tools: ["shell"], maxTokens: 10 }, true)).toEqual({ tools: ["shell"], tokens: 10 });
  expect(allowance(null).grant({ tools: [] }, true)).toEqual({ tools: [], tokens: null });
});

it("never gives more than the turn has", () => {
  const limited = allowance({ tools: ["file_read"], tokens: 100 }, 40);
  expect(limited.grant({ maxTokens: 1_000 }, true)).toEqual({ tools: ["file_read"], tokens: 60 });
  expect(() => allowance(null).grant({ tools: ["shell", "web_fetch"] }, true)).toThrow(
    expect.objectContaining({ code: "TOOL_INVALID_ARGUMENTS", message: "This turn has no tool web_fetch." }),
  );
});

it("gives another agent its tokens alone: tools are its own", () => {
  expect(allowance({ tools: ["shell"], tokens: 100 }).grant({}, false)).toEqual({ tools: null, tokens: 100 });
  expect(allowance({ tools: ["shell"], tokens: null }).grant({}, false)).toBeNull();
});

it("divides what the turn has among tasks that run side by side", () => {
  const shared = allowance({ tools: null, tokens: 100 });
  shared.count(30);
  expect(shared.grant({ maxTokens: 1_000 }, true)).toMatchObject({ tokens: 70 });
  expect(shared.divide([70, 70, 70])).toEqual([23, 23, 24]);
  // What one does not need is for the others.
  expect(shared.divide([70, 10, 70])).toEqual([30, 10, 30]);
  expect(shared.divide([20, 50])).toEqual([20, 50]);
  expect(allowance(null).divide([1_000, 1_000])).toEqual([1_000, 1_000]);
  shared.count(70);
  expect(() => shared.grant({}, true)).toThrow(expect.objectContaining({ code: "DELEGATION_BUDGET_EXCEEDED" }));
});

it("leaves none of them without a token", () => {
  expect(allowance({ tools: null, tokens: 2 }).divide([2, 2, 2])).toEqual([1, 1, 1]);
});

it("refuses further calls of models when the tokens are used", () => {
  const task = allowance({ tools: null, tokens: 100 }, 60);
  task.check();
  task.count(40);
  expect(() => task.check()).toThrow(
    expect.objectContaining({
      code: "DELEGATION_BUDGET_EXCEEDED",
      message: "The task has used up its budget: 100 of 100 tokens.",
    }),
  );
  const free = allowance(null, 1e9);
  free.count(1e9);
  free.check();
});
