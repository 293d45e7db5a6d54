/** Every hook of Cairn passes the checks of a hook, and each check finds the hook that breaks its rule. */

import { describe, expect, it } from "vitest";
import type { AnyHook, HookContexts, HookEvent } from "../../../runtime/contracts/hooks.ts";
import { safety } from "../../../runtime/plugins/hooks/safety/manifest.ts";
import { hookConformance } from "../../../runtime/testing/hook/index.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

const refused = async (): Promise<never> => {
  throw new Error("no hook asks here");
};
const TURN = {
  ...{ agent: "main", sessionKey: "s", conversationId: "c", turnId: "t", toolCallId: "k", tools: [], workspace: "/w" },
  ...{ channel: "agent", user: "u", owner: true, ask: refused, delegate: refused, spawn: refused, once: refused },
  ...{ progress: () => undefined, deliver: refused, sendFile: refused },
};
const call = { id: "k", name: "shell", arguments: { command: "ls" } };
const CONTEXTS: { readonly [E in "tool:before" | "tool:after"]: HookContexts[E] } = {
  "tool:before": { ...TURN, call, pathArguments: [], approve: refused },
  "tool:after": { ...TURN, call, result: { content: "a" }, durationMs: 1, changedFiles: [] },
};

/** New at each call: a check may freeze it. */
function contextOf(event: HookEvent): HookContexts[HookEvent] {
  if (event !== "tool:before" && event !== "tool:after") throw new Error(`the test has no context of ${event}`);
  const context: Record<string, unknown> = { ...CONTEXTS[event] };
  const copied = Object.entries(context).map(([key, value]) => [
    key,
    typeof value === "function" ? value : structuredClone(value),
  ]);
  return Object.fromEntries(copied) as HookContexts[typeof event];
}

function hooksOfCairn(): Promise<readonly AnyHook[]> {
  return safety.create({
    settings: {
      shell_danger: true,
      workspace_fence: true,
      audit: true,
      rules: [{ name: "r", pattern: "x", action: "warn" }],
    },
    gate: { locate: async () => undefined },
    auditFile: { append: async () => undefined, status: () => ({ failing: null, lost: 0 }) },
    redact: (text) => text,
    logger: quietLogger,
  });
}

describe.each((await hooksOfCairn()).map(({ name, event }, index) => [`${name} at ${event}`, index] as const))(
  "%s",
  (_, index) => {
    const open = async () => {
      const hook = (await hooksOfCairn())[index];
      if (!hook) throw new Error("there is no such hook");
      return { hook, context: contextOf(hook.event) };
    };
    for (const check of hookConformance({ open })) it(check.name, () => check.run());
  },
);

const RIGHT: AnyHook = {
  name: "mark",
  event: "tool:after",
  priority: 50,
  deadlineMs: 500,
  run: async (context) => ({ ...context, result: { content: `${context.result.content}.` } }),
};

const BROKEN: readonly [name: string, change: object, says: RegExp][] = [
  ["has a name, and an event that there is", { name: "" }, /has to have a name/],
  ["has a name, and an event that there is", { event: "tool:never" }, /there is no event tool:never/],
  ["has a priority, a policy and a deadline that its event allows", { priority: 100 }, /from 0 to 99/],
  ["has a priority, a policy and a deadline that its event allows", { policy: "maybe" }, /open or closed/],
  [
    "has a priority, a policy and a deadline that its event allows",
    { event: "session:end", policy: "closed" },
    /too late to stop/,
  ],
  ["has a priority, a policy and a deadline that its event allows", { deadlineMs: 0 }, /that a timer can keep/],
  ["gives back nothing, or the whole context of its event", { run: async () => ({ result: 1 }) }, /all of it/],
  [
    "changes nothing of the context that it is given",
    { run: async (context: { result: unknown }) => Object.assign(context, { result: 1 }) },
    /read only|Cannot assign/,
  ],
  ["ends within its deadline", { run: () => new Promise(() => undefined) }, /longer than its deadline/],
  ["ends where its signal has aborted before", { run: () => new Promise(() => undefined) }, /after its signal/],
];

describe("the checks", () => {
  const harness = (change: object = {}) => ({
    open: async () => ({ hook: { ...RIGHT, ...change } as AnyHook, context: contextOf("tool:after") }),
  });

  it.each(hookConformance(harness()).map(({ name, run }) => [name, run] as const))("pass a right one: %s", (_, run) =>
    run(),
  );

  it.each(BROKEN)("find what breaks: %s %o", async (name, change, says) => {
    const check = hookConformance(harness(change)).find((one) => one.name === name);
    await expect(check?.run()).rejects.toThrow(says);
  });

  it("are each broken by one of these", () => {
    expect(new Set(BROKEN.map(([name]) => name))).toEqual(new Set(hookConformance(harness()).map(({ name }) => name)));
  });
});
