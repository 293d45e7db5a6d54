import { expect, it } from "vitest";
import { type ProjectFile, projectChecks } from "../../../runtime/domain/project-checks.ts";

const scripts = (value: object) => JSON.stringify({ scripts: value });

it.each<[string, Partial<Record<ProjectFile, string>>, readonly string[]]>([
  ["nothing", {}, []],
  [
    "scripts, in their order",
    { "package.json": scripts({ test: "vitest", build: "tsc", lint: "biome check", typecheck: "tsc" }) },
    ["npm run typecheck", "npm run lint", "npm run test"],
  ],
  ["scripts of pnpm", { "package.json": scripts({ test: "vitest" }), "pnpm-lock.yaml": "" }, ["pnpm run test"]],
  ["scripts of yarn", { "package.json": scripts({ test: "vitest" }), "yarn.lock": "" }, ["yarn run test"]],
  [
    "no tests of a new package, but a Makefile",
    { "package.json": scripts({ test: 'echo "Error: no test specified" && exit 1' }), Makefile: "test:\n\tgo\n" },
    ["make test"],
  ],
  ["a package.json that is none", { "package.json": "{", Makefile: "lint: x\ntest:\n" }, ["make lint", "make test"]],
  ["scripts that are no texts", { "package.json": scripts({ test: { a: 1 }, lint: " " }) }, []],
  ["the target check alone", { Makefile: "all: check\ncheck : lint test\nlint:\ntest:\n" }, ["make check"]],
  ["no variable for a target", { Makefile: "test := x\nlint:=y\n" }, []],
  ["Rust", { "Cargo.toml": "" }, ["cargo test"]],
  ["Go", { "go.mod": "" }, ["go vet ./...", "go test ./..."]],
  ["Python", { "pyproject.toml": "[tool.pytest.ini_options]" }, ["python3 -m pytest"]],
  ["Python without tests", { "pyproject.toml": "[project]" }, []],
])("finds %s", (_name, files, expected) => {
  expect(projectChecks(new Map(Object.entries(files) as [ProjectFile, string][]))).toEqual(expected);
});
