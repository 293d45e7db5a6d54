/** Commands by which a project checks itself, as the files that describe it say. Pure. */

import { isRecord } from "../contracts/values.ts";

/** What is read of a project, in its topmost directory. */
export const PROJECT_FILES = [
  "package.json",
  "pnpm-lock.yaml",
  "yarn.lock",
  "Makefile",
  "Cargo.toml",
  "go.mod",
  "pyproject.toml",
  "pytest.ini",
] as const;

export type ProjectFile = (typeof PROJECT_FILES)[number];

/** In this order: what is quick and precise comes first. */
const SCRIPTS = ["typecheck", "lint", "test"] as const;
/** What `npm init` writes where there are no tests. */
const NO_TESTS = "no test specified";

/** `files`: those that are there, by name, with their text. Of several kinds of project the first one in the order above. */
export function projectChecks(files: ReadonlyMap<ProjectFile, string>): readonly string[] {
  const found = [scriptsOf(files), targetsOf(files.get("Makefile") ?? ""), toolsOf(files)];
  return found.find((commands) => commands.length > 0) ?? [];
}

function scriptsOf(files: ReadonlyMap<ProjectFile, string>): readonly string[] {
  const manager = files.has("pnpm-lock.yaml") ? "pnpm" : files.has("yarn.lock") ? "yarn" : "npm";
  const scripts = scriptsIn(files.get("package.json") ?? "");
  return SCRIPTS.filter((name) => {
    const script = scripts[name];
    return typeof script === "string" && script.trim() !== "" && !script.includes(NO_TESTS);
  }).map((name) => `${manager} run ${name}`);
}

function scriptsIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text);
    const scripts = isRecord(parsed) ? parsed["scripts"] : null;
    return isRecord(scripts) ? scripts : {};
  } catch {
    return {};
  }
}

function targetsOf(makefile: string): readonly string[] {
  const targets = new Set([...makefile.matchAll(/^(check|lint|test)[ \t]*:(?!=)/gm)].map(([, name]) => name));
  return targets.has("check")
    ? ["make check"]
    : ["lint", "test"].filter((name) => targets.has(name)).map((name) => `make ${name}`);
}

function toolsOf(files: ReadonlyMap<ProjectFile, string>): readonly string[] {
  if (files.has("Cargo.toml")) return ["cargo test"];
  if (files.has("go.mod")) return ["go vet ./...", "go test ./..."];
  const isPytest = files.has("pytest.ini") || (files.get("pyproject.toml") ?? "").includes("pytest");
  return isPytest ? ["python3 -m pytest"] : [];
}
