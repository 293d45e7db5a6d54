import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";
import { coverage, isSlow, mergePage, neededTools, type Proof, renderCoverage } from "./proofs.ts";
import { PROVED } from "./proved.ts";

const SLOW = globSync("test/**/*.test.ts", { cwd: ROOT }).filter(isSlow).sort();
const [A, B] = ["test/control/deploy/up.engine.test.ts", "test/e2e/deployment.docker.test.ts"] as const;
const NIGHT = { date: "2026-11-23", versionOf: (tool: string) => (tool === "node" ? ["Node 24"] : [`${tool} 1`]) };

function proof(file: string, changes: Partial<Proof> = {}): Proof {
  return { file, title: "x", passed: 2, failed: 0, skipped: 0, duration: 2_000, tools: [], lacks: [], ...changes };
}

describe("docs/proofs.md", () => {
  it("says of every slow suite what it proves, and of no other", () => {
    expect(Object.keys(PROVED).sort()).toEqual(SLOW);
  });

  it("is what the command writes, with a row for each", () => {
    const page = readFileSync(join(ROOT, "docs", "proofs.md"), "utf8");
    expect(page).toBe(mergePage(page, SLOW, [], NIGHT));
  });

  it("gets the rows of what ran, and keeps the others", () => {
    const first = mergePage("", [A, B], [proof(A, { tools: ["pulumi"] })], NIGHT);
    expect(first).toContain("| 2 passed, 2 s | 2026-11-23 | Node 24, pulumi 1 |");
    expect(first).toContain(`| \`${B}\` | ${PROVED[B]} | not yet | - | - |`);
    const second = mergePage(first, [A, B], [proof(B, { failed: 1 })], { ...NIGHT, date: "2026-11-24" });
    expect(second).toContain("| 2 passed, 2 s | 2026-11-23 | Node 24, pulumi 1 |");
    expect(second).toContain("| 2 passed, **1 failed**, 2 s | 2026-11-24 | Node 24 |");
  });

  it("keeps the last result of what was skipped, and says what it needs where there is none", () => {
    const skipped = { passed: 0, skipped: 2, lacks: ["docker"] } as const;
    const page = mergePage("", [A, B], [proof(A), proof(B, skipped)], NIGHT);
    expect(page).toContain("| not yet (needs docker) | - | - |");
    expect(mergePage(page, [A, B], [proof(A, skipped)], { ...NIGHT, date: "later" })).toBe(page);
  });
});

describe("the end of a night", () => {
  it("names what was covered and what was skipped for which reason, and counts quick suites", () => {
    const quick = "test/runtime/domain/scoring.test.ts";
    const needs = (file: string) => ({ tools: [], lacks: file === B ? (["docker"] as const) : [] });
    const ran = [A, quick].map((file) => ({
      file,
      title: "a stack",
      passed: 3,
      failed: 0,
      skipped: 0,
      duration: 61_000,
    }));
    const proofs = coverage([A, B, quick], ran, needs);
    const how = { date: "2026-11-23", versions: ["Node 24", "Node 24"], reason: () => "docker: not installed" };
    expect(renderCoverage(proofs, how).split("\n")).toEqual([
      "Covered on 2026-11-23 with Node 24:",
      `  ${A}: a stack: 3 passed in 61 s`,
      `  ${B}: ${B}: 0 passed, 1 skipped in 1 s (docker: not installed)`,
      "  quick suites that passed: 1",
    ]);
  });

  it("finds the tools of a file where it names them", () => {
    expect(neededTools(B, 'describe.skipIf(lacks("pulumi-docker", "root"))')).toEqual([
      "docker",
      "docker-images",
      "pulumi-docker",
      "root",
    ]);
  });
});
