import { describe, expect, it } from "vitest";
import { renderDiff, renderProblems, renderReport } from "../../../control/doctor/render.ts";
import { type CheckReport, type Report, summarize } from "../../../control/doctor/report.ts";
import type { Mark } from "../../../control/output/terminal.ts";

const same = (text: string): string => text;
const PLAIN: Mark = { title: same, good: same, warn: same, error: same, dim: same, name: same };

describe("the report in words", () => {
  it("tells what is well in a line, and of the rest also what to do", () => {
    const text = renderReport(
      report([
        check({ id: "system.node", message: "Node 24." }),
        check({ id: "system.disk", status: "fail", message: "It is full.", detail: "a\nb", fix: "Free some." }),
      ]),
      PLAIN,
    );
    expect(text).toBe(
      [
        "system",
        "  pass  Node 24.",
        "  fail  It is full.",
        "        system.disk",
        "",
        "problems",
        "  fail  It is full.",
        "        - a",
        "        - b",
        "        Fix: Free some.",
        "        system.disk",
        "",
        "1 pass, 0 warn, 1 fail, 0 skip",
      ].join("\n"),
    );
  });

  it("lists failures before warnings, and below each what follows from it, which stands nowhere else", () => {
    const text = renderReport(
      report([
        check({ id: "system.x", status: "warn", message: "It is odd.", fix: "Look." }),
        check({
          id: "database.reachable",
          category: "database",
          status: "fail",
          message: "It is gone.",
          fix: "Start.",
        }),
        check({
          id: "memory.writes",
          category: "memory",
          status: "skip",
          message: "Not to be had.",
          follows_from: "database.reachable",
        }),
      ]),
      PLAIN,
    );
    expect(text.slice(text.indexOf("problems")).split("\n")).toEqual([
      "problems",
      "  fail  It is gone.",
      "        Fix: Start.",
      "        database.reachable",
      "        follows from database.reachable: memory.writes",
      "  warn  It is odd.",
      "        Fix: Look.",
      "        system.x",
      "",
      "0 pass, 1 warn, 1 fail, 1 skip",
    ]);
    expect(text).not.toContain("Not to be had");
  });

  it("has no list of problems where there is none", () => {
    expect(renderProblems(report([check({})]), PLAIN)).toBe("");
    expect(renderReport(report([check({})]), PLAIN)).not.toContain("problems");
  });

  it("tells neighbours that are skipped for the same reason once", () => {
    const skipped = ["a", "b", "c"].map((name) =>
      check({ id: `mesh.${name}`, category: "mesh", status: "skip", message: "No mesh." }),
    );
    expect(renderReport(report(skipped), PLAIN)).toContain("  skip  No mesh. (3 checks)\n\n0 pass");
  });

  it("stays within 40 columns, but for words that are longer", () => {
    const message = "The home directory cannot be written by this user, and nobody knows why that should be so.";
    const text = renderReport(report([check({ status: "warn", message, fix: message, detail: message })]), PLAIN, 40);
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(40);
    expect(text.replace(/\n {8}/g, " ")).toContain(message);
  });

  it("lets no message steer the terminal", () => {
    const text = renderReport(report([check({ status: "warn", message: "a\u001b[2Jb", fix: "c\u0007d" })]), PLAIN);
    for (const harmful of ["\u001b", "\u0007"]) expect(text).not.toContain(harmful);
    expect(text).toContain("\\u001b");
    expect(renderDiff([{ kind: "new", text: "\u001b]0;x" }], PLAIN)).not.toContain("\u001b");
  });

  it("tells what was repaired, and where the old file is", () => {
    const repaired = { check: "a.b", path: "/f", action: "change", outcome: "done", backup: "/f.bak" } as const;
    const failed = { ...repaired, outcome: "failed", backup: null, error: "EROFS" } as const;
    const text = renderReport({ ...report([]), repairs: [repaired, failed] }, PLAIN);
    expect(text).toContain("  done  /f changed (before: /f.bak)\n  fail  /f: not changed: EROFS");
  });
});

function check(parts: Partial<CheckReport>): CheckReport {
  return { id: "system.x", category: "system", status: "pass", message: "m", duration_ms: 1, ...parts };
}

function report(checks: readonly CheckReport[]): Report {
  return { schema: 1, version: "1.2.3", node: "box", ...summarize(checks), checks: [...checks] };
}
