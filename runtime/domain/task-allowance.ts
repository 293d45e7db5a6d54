/** What a turn may use that does a task of another one, and what it may give to its own tasks: never more than it has. Pure. */

import { DelegationError, ToolError } from "../contracts/errors.ts";

export interface TaskLimits {
  /** Names of the tools that it may have; null: all of its agent's. */
  readonly tools: readonly string[] | null;
  /** Tokens, in and out, for itself and for what it hands on; null: only its agent's budget counts. */
  readonly tokens: number | null;
}

/** What is asked for a task. */
export interface TaskRequest {
  readonly tools?: readonly string[] | undefined;
  readonly maxTokens?: number | undefined;
}

export interface Allowance {
  /** Of a model's call. */
  count(tokens: number): void;
  /** Before a call of a model. DELEGATION_BUDGET_EXCEEDED. */
  check(): void;
  /**
   * Limits of a task that is handed on now; null where there are none. `isOwn`: to the same agent. TOOL_INVALID_ARGUMENTS for tools that
   * the turn has not, DELEGATION_BUDGET_EXCEEDED where nothing is left.
   */
  grant(asked: TaskRequest, isOwn: boolean): TaskLimits | null;
  /**
   * Tokens of tasks that run side by side, of what was granted to each: what is left to the turn is divided, and a task that needs less
   * than its part leaves the rest to the others.
   */
  divide(granted: readonly number[]): readonly number[];
}

export interface AllowanceState {
  /** Of the turn itself; null: it has none. */
  readonly limits: TaskLimits | null;
  /** Names of the tools that it has. */
  readonly tools: ReadonlySet<string>;
  /** Tokens that it and its tasks have used before. */
  readonly spent: number;
}

export function createAllowance({ limits, tools, spent }: AllowanceState): Allowance {
  const most = limits?.tokens ?? null;
  let used = spent;

  function check(): void {
    if (most === null || used < most) return;
    throw new DelegationError(
      "DELEGATION_BUDGET_EXCEEDED",
      `The task has used up its budget: ${used.toLocaleString("en-US")} of ${most.toLocaleString("en-US")} tokens.`,
      { hint: "Give it more tokens, or a smaller task." },
    );
  }

  return {
    count(tokens) {
      used += tokens;
    },
    check,
    grant({ tools: asked, maxTokens }, isOwn) {
      const missing = (asked ?? []).filter((name) => !tools.has(name));
      if (missing.length > 0) {
        throw new ToolError("TOOL_INVALID_ARGUMENTS", `This turn has no tool ${missing.slice(0, 10).join(", ")}.`, {
          hint: `It has: ${[...tools].join(", ") || "none"}.`,
        });
      }
      check();
      const given = [maxTokens ?? null, most === null ? null : most - used].filter((tokens) => tokens !== null);
      const tokens = given.length === 0 ? null : Math.min(...given);
      const granted = { tools: isOwn ? (asked ?? limits?.tools ?? null) : null, tokens };
      return granted.tools === null && tokens === null ? null : granted;
    },
    divide(granted) {
      if (most === null) return granted;
      const given = [...granted];
      let remaining = most - used;
      for (const [before, [index, tokens]] of [...granted.entries()].sort(([, a], [, b]) => a - b).entries()) {
        const part = Math.max(1, Math.min(tokens, Math.floor(remaining / (granted.length - before))));
        given[index] = part;
        remaining -= part;
      }
      return given;
    },
  };
}
