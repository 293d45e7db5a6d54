/** What the files of the suite must keep to, read from their sources. */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";
import { importReader, reachOf } from "./imports.ts";
import { laneOf } from "./lanes.ts";

const FILES = globSync("test/**/*.test.ts", { cwd: ROOT }).sort();
const read = importReader();

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

  it("that mocks a module drops what is loaded before and after it, since files share a process's modules", () => {
    const drops = ["vi.hoisted(() => vi.resetModules());", "afterAll(() => void vi.resetModules());"];
    const mocks = FILES.filter(
      (file) => file !== "test/lanes/rules.test.ts" && /\bvi\.(do)?mock\(/i.test(sourceOf(file)),
    );
    expect(mocks.filter((file) => drops.some((drop) => !sourceOf(file).includes(drop)))).toEqual([]);
  });

  it("gets no hook from an import, which only the first of the files that share it would have", () => {
    const support = globSync("test/{support,fakes}/**/*.ts", { cwd: ROOT });
    const hook = /^(before|after)(All|Each)\(/m;
    expect(support.filter((file) => !file.endsWith(".test.ts") && hook.test(sourceOf(file)))).toEqual([]);
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

/** A suite on each store knows on which one it is, and what Linux alone does is tried there; these are no tools. */
function allowed(line: string): boolean {
  return /\.(skipIf\(lacks\(|(skipIf|runIf)\(backend === "|runIf\(process\.platform === "linux"\))/.test(line);
}

/** Everything forbidden that a test imports, itself or through the support of tests. */
function forbiddenIn(test: string): string[] {
  const isSupport = (file: string): boolean => /^test\/(?!lanes\/)/.test(file) && !FORBIDDEN_FILES.test(file);
  return [...reachOf(test, read, isSupport)].flatMap((file) => {
    if (FORBIDDEN_FILES.test(file)) return [file];
    if (file !== test && !isSupport(file)) return [];
    return read(file)
      .packages.filter((name) => FORBIDDEN.test(name))
      .map((name) => `${file} imports ${name}`);
  });
}

function sourceOf(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}
