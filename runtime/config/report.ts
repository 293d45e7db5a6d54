/** What is wrong with a configuration, in words: path, what was found, what is allowed. */
import type { z } from "zod";
import { ConfigValidationError, type Issue } from "../contracts/errors.ts";
import type { FindingCode } from "./finding-codes.ts";
import { nearest } from "./nearest.ts";
import { isSecretPath, looksLikeSecret } from "./secret-values.ts";
import { formatPath, type Tree, type TreeMap, type TreePath, valueAt } from "./tree.ts";
import type { Position } from "./yaml-source.ts";

/** An issue before it has a place in a file. */
export interface Finding {
  readonly path: TreePath;
  /** The whole finding as one sentence, where found and allowed are not enough. */
  readonly message?: string;
  readonly found?: string;
  readonly allowed?: string;
  readonly hint?: string;
  readonly code: FindingCode;
}

export interface ConfigIssue extends Issue {
  readonly found?: string;
  readonly allowed?: string;
  readonly hint?: string;
  readonly code: FindingCode;
  /** Counted from 1; absent where the issue is not about a place in the file. */
  readonly line?: number;
  readonly column?: number;
}

export type Locate = (path: TreePath) => Position | null;

export function toIssue(finding: Finding, locate: Locate): ConfigIssue {
  const { found, allowed, hint, code } = finding;
  const position = locate(finding.path);
  const message = finding.message ?? `found ${found ?? "nothing"}; allowed: ${allowed ?? "something else"}`;
  return {
    path: formatPath(finding.path),
    message: hint === undefined ? message : `${message} (${hint})`,
    ...(found === undefined ? {} : { found }),
    ...(allowed === undefined ? {} : { allowed }),
    ...(hint === undefined ? {} : { hint }),
    code,
    ...(position ?? {}),
  };
}

/** Findings of the schema. `written` is the tree as the file has it: resolved values are never repeated in a report. */
export function schemaFindings(issues: readonly z.core.$ZodIssue[], written: TreeMap): Finding[] {
  return issues.map((issue): Finding => {
    const path = issue.path.map((key) => (typeof key === "symbol" ? String(key) : key));
    if (issue.code === "invalid_key") {
      const allowed = issue.issues[0]?.message ?? issue.message;
      return { path, code: "invalid-value", found: JSON.stringify(path.at(-1)), allowed };
    }
    const value = valueAt(written, path);
    const hint = issue.code === "invalid_value" ? suggestion(value, issue.values.map(String)) : undefined;
    const code = value === undefined || value === null ? "missing-value" : "invalid-value";
    const found = describe(value, path);
    return { path, code, found, allowed: issue.message, ...(hint === undefined ? {} : { hint }) };
  });
}

/** "did you mean ...", where something known is near. */
export function suggestion(found: unknown, candidates: Iterable<string>): string | undefined {
  const match = typeof found === "string" ? nearest(found, candidates) : undefined;
  return match === undefined ? undefined : `did you mean ${match}?`;
}

/** A value as a report may show it: short, and never a secret. */
export function describe(value: Tree | undefined, path: TreePath): string {
  if (value === undefined || value === null) return "nothing";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object") return "a mapping";
  if (
    typeof value === "string" &&
    (isSecretPath(path) || looksLikeSecret(value)) &&
    !/^(?:\$\{[^}]*\}|op:\/\/.*)$/.test(value)
  ) {
    return "a value that is not shown";
  }
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

export function formatReport(file: string, errors: readonly ConfigIssue[]): string {
  const count = errors.length === 1 ? "1 error" : `${errors.length} errors`;
  return [`${file} is not valid: ${count}`, ...errors.map(formatIssue)].join("\n");
}

/** One issue as two indented lines: where, and what was found and is allowed. */
export function formatIssue(issue: ConfigIssue): string {
  const place = issue.line === undefined ? "" : ` (line ${issue.line}, column ${issue.column ?? 1})`;
  return `  ${issue.path}${place}\n    ${issue.message}`;
}

export function validationError(file: string, errors: readonly ConfigIssue[]): ConfigValidationError {
  return new ConfigValidationError(formatReport(file, errors), errors);
}
