/** What the files of the suite must keep to, read from their sources. */

import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";
import { laneOf } from "./lanes.ts";

const FILES = globSync("test/**/*.test.ts", { cwd: ROOT }).sort();
const IMPORT = /^\s*(?:import|export)\s+(?!type\b)(?:[^;"]*?\sfrom\s+)?"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/gm;

/** What starts processes, stores or servers. */
const FORBIDDEN =
  /^(node:(child_process|cluster|worker_threads|http|https|http2|net|tls)|execa|pg|pg-boss|@electric-sql\/.*)$/;
/** Beside test/lanes, which looks for tools, and what plays a service. */
const FORBIDDEN_FILES = /^test\/(support\/(databases|memory)\.ts|fakes\/.*\/(server|index)\.ts)$/;

describe("a test file", () => {
  it("belongs to a lane", () => {
    expect(FILES.filter((file) => laneOf(file) === undefined)).toEqual([]);
  });

  it("of the lane pure imports nothing that starts a process, a store or a server", () => {
    const pure = FILES.filter((file) => laneOf(file)?.name === "pure");
    expect(pure.length).toBeGreaterThan(50);
    expect(pure.flatMap((file) => forbiddenIn(file).map((what) => `${file}: ${what}`))).toEqual([]);
  });

  it("skips for want of a tool only by `lacks`, so that the end of a run can name it", () => {
    const skips = FILES.flatMap((file) =>
      sourceOf(file)
        .split("\n")
        .filter((line) => /\.(skipIf|runIf)\(/.test(line) && !allowed(line))
        .map((line) => `${file}: ${line.trim()}`),
    );
    expect(skips).toEqual([]);
  });
});

/** A suite on each store knows on which one it is; that is no tool. */
function allowed(line: string): boolean {
  return /\.skipIf\(lacks\(/.test(line) || /\.(skipIf|runIf)\(backend === "/.test(line);
}

/** Everything forbidden that a test imports, itself or through the support of tests. */
function forbiddenIn(start: string): string[] {
  const found: string[] = [];
  const seen = new Set([start]);
  for (const file of seen) {
    for (const target of importsOf(file)) {
      if (!target.startsWith(".")) {
        if (FORBIDDEN.test(target)) found.push(`${file} imports ${target}`);
        continue;
      }
      const path = relative(ROOT, resolve(ROOT, dirname(file), target));
      if (FORBIDDEN_FILES.test(path)) found.push(`${file} imports ${path}`);
      else if (/^test\/(?!lanes\/).*\.ts$/.test(path) && existsSync(join(ROOT, path))) seen.add(path);
    }
  }
  return found;
}

function importsOf(file: string): string[] {
  return [...sourceOf(file).matchAll(IMPORT)].map(([, named, late]) => named ?? late ?? "");
}

function sourceOf(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}
