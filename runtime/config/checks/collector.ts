/** What a check is given, and how it gathers what it finds. */
import type { Environment } from "../references.ts";
import type { Finding } from "../report.ts";
import { suggestion } from "../report.ts";
import type { ParsedConfig } from "../schema.ts";
import type { TreePath } from "../tree.ts";
import type { OptionalPart } from "../usage.ts";

export interface CheckInput {
  /** Sections that the schema refused are absent; what depends on them is not checked. */
  readonly config: Partial<ParsedConfig>;
  readonly env: Environment;
  /** Parts that were left out, their references being unresolved. */
  readonly dropped: readonly OptionalPart[];
}

export interface Findings {
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
}

export interface Collector {
  readonly errors: Finding[];
  readonly warnings: Finding[];
  error(path: TreePath, found: string, allowed: string, hint?: string): void;
  /** An error that a sentence says better. */
  refuse(path: TreePath, message: string, hint?: string, code?: string): void;
  warn(path: TreePath, message: string, hint?: string, code?: string): void;
  /** An error unless the name is one of those known. */
  expectName(path: TreePath, name: string, known: readonly string[], what: string): void;
}

export function createCollector(): Collector {
  const errors: Finding[] = [];
  const warnings: Finding[] = [];
  const hinted = (hint: string | undefined, code?: string) => ({
    ...(hint === undefined ? {} : { hint }),
    ...(code === undefined ? {} : { code }),
  });
  const error: Collector["error"] = (path, found, allowed, hint) => {
    errors.push({ path, found, allowed, ...hinted(hint) });
  };
  return {
    errors,
    warnings,
    error,
    refuse: (path, message, hint, code) => {
      errors.push({ path, message, ...hinted(hint, code) });
    },
    warn: (path, message, hint, code) => {
      warnings.push({ path, message, ...hinted(hint, code) });
    },
    expectName: (path, name, known, what) => {
      if (known.includes(name)) return;
      const allowed = known.length === 0 ? `${what}, and there is none` : `${what}: ${known.join(", ")}`;
      error(path, JSON.stringify(name), allowed, suggestion(name, known));
    },
  };
}
