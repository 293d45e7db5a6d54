/** Everything that is wrong with a plan, gathered for one report. */
import { InfraError, type Issue } from "../../runtime/contracts/errors.ts";

export interface Problems {
  /** Warnings: they stop nothing. */
  readonly warnings: readonly Issue[];
  refuse(path: string, message: string): void;
  warn(path: string, message: string): void;
  /** Throws INFRA_PLAN_INVALID with every problem in it, if there is one. */
  throwIfAny(): void;
}

export function createProblems(): Problems {
  const errors: Issue[] = [];
  const warnings: Issue[] = [];
  return {
    warnings,
    refuse: (path, message) => {
      errors.push({ path, message });
    },
    warn: (path, message) => {
      warnings.push({ path, message });
    },
    throwIfAny() {
      if (errors.length === 0) return;
      const count = errors.length === 1 ? "1 problem" : `${errors.length} problems`;
      const lines = errors.map(({ path, message }) => `  ${path}\n    ${message}`);
      throw new InfraError("INFRA_PLAN_INVALID", [`The deployment cannot be planned: ${count}`, ...lines].join("\n"), {
        issues: errors,
        hint: "Change cairn.yaml, and look at the result with `cairn infra preview`.",
      });
    },
  };
}
