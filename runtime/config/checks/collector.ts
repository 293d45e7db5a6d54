/** What a check is given, and how it gathers what it finds. */
import type { FoundPlugin } from "../../files/plugin-package.ts";
import type { FindingCode } from "../finding-codes.ts";
import type { Environment } from "../references.ts";
import type { Finding } from "../report.ts";
import { suggestion } from "../report.ts";
import type { ParsedConfig } from "../schema.ts";
import type { TreePath } from "../tree.ts";
import type { OptionalPart } from "../usage.ts";

/** Found where something is needed and not written. */
const NOTHING = "nothing";

export interface CheckInput {
  /** Sections that the schema refused are absent; what depends on them is not checked. */
  readonly config: Partial<ParsedConfig>;
  readonly env: Environment;
  /** Parts that were dropped because their references are unresolved. */
  readonly dropped: readonly OptionalPart[];
  /** Of `plugin_dirs`. */
  readonly plugins: readonly FoundPlugin[];
}

export interface Findings {
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
}

export interface Collector {
  readonly errors: Finding[];
  readonly warnings: Finding[];
  /** Without a code: `missing-value` where `found` is `nothing`, else `invalid-value`. */
  error(path: TreePath, found: string, allowed: string, hint?: string, code?: FindingCode): void;
  /** An error with a sentence of its own. */
  refuse(path: TreePath, code: FindingCode, message: string, hint?: string): void;
  warn(path: TreePath, code: FindingCode, message: string, hint?: string): void;
  /** An error unless the name is one of those known. */
  expectName(path: TreePath, name: string, names: readonly string[], what: string): void;
}

export function createCollector(): Collector {
  const errors: Finding[] = [];
  const warnings: Finding[] = [];
  const hinted = (hint: string | undefined) => (hint === undefined ? {} : { hint });
  return {
    errors,
    warnings,
    error: (path, found, allowed, hint, code = found === NOTHING ? "missing-value" : "invalid-value") => {
      errors.push({ path, code, found, allowed, ...hinted(hint) });
    },
    refuse: (path, code, message, hint) => {
      errors.push({ path, code, message, ...hinted(hint) });
    },
    warn: (path, code, message, hint) => {
      warnings.push({ path, code, message, ...hinted(hint) });
    },
    expectName: (path, name, names, what) => {
      if (names.includes(name)) return;
      const allowed = names.length === 0 ? `${what}, and there is none` : `${what}: ${names.join(", ")}`;
      const found = JSON.stringify(name);
      errors.push({ path, code: "unknown-name", found, allowed, ...hinted(suggestion(name, names)) });
    },
  };
}
