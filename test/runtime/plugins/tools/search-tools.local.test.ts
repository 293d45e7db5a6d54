/** search_glob and search_grep on real trees: what they find, what stays out, with ripgrep and without it. */

import { execFile } from "node:child_process";
import { chmod, copyFile, link, mkdir, readFile, rename, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { Tool } from "../../../../runtime/contracts/tool.ts";
import { createWorkspaceGate } from "../../../../runtime/plugins/tools/index.ts";
import { createSearchGlobTool } from "../../../../runtime/plugins/tools/search-glob/index.ts";
import { createSearchGrepTool } from "../../../../runtime/plugins/tools/search-grep/index.ts";
import { createFakeTools } from "../../../support/fake-tools.ts";
import { call, createPlace, SECRET, type ToolFixture } from "./support.ts";

const run = promisify(execFile);
const NO_PROGRAMS = "/nonexistent";

type Tree = Readonly<Record<string, string | Buffer>>;

async function write(place: ToolFixture, tree: Tree): Promise<void> {
  for (const [path, content] of Object.entries(tree)) {
    await mkdir(dirname(place.path(path)), { recursive: true });
    await writeFile(place.path(path), content);
  }
}

function tools(place: ToolFixture, searchPath: string | undefined = NO_PROGRAMS) {
  const gate = createWorkspaceGate({ protectedPaths: [join(place.base, ".env"), place.home, place.path("own")] });
  return { glob: createSearchGlobTool({ gate }), grep: createSearchGrepTool({ gate, searchPath }) };
}

const TREE: Tree = {
  "a.ts": "one needle\ntwo\nthree\n",
  "src/b.ts": "zero\nneedle needle\n",
  "src/deep/c.md": "no match\r\nNeedle\r\n",
  ".hidden/d.ts": "needle\n",
  "node_modules/e.ts": "needle\n",
  "logs/f.log": "needle\n",
  "logs/keep.log": "needle\n",
  ".gitignore": "node_modules/\n*.log\n!keep.log\n",
  ".git/config": "needle\n",
  "binary.dat": Buffer.from("needle\0needle\n"),
};

/** The lines of a result without its note. */
async function lines(tool: Tool, place: ToolFixture, args: Record<string, unknown>): Promise<string[]> {
  const { content, isError } = await call(tool, place, args);
  expect(isError, content).toBeUndefined();
  return content.split("\n").filter((line) => !/^\(.*\)$/.test(line));
}

describe("search_glob", () => {
  it("finds by names at any depth or by paths, the newest first, and skips what is hidden or ignored", async () => {
    await using place = await createPlace();
    await write(place, TREE);
    await utimes(place.path("a.ts"), 1, 1);
    await utimes(place.path("src/b.ts"), 2, 2);
    const { glob } = tools(place);
    expect(await call(glob, place, { pattern: "*.ts" })).toEqual({ content: "src/b.ts\na.ts\n(2 files)" });
    expect(await lines(glob, place, { pattern: "**/*.md" })).toEqual(["src/deep/c.md"]);
    expect(await lines(glob, place, { pattern: "src/*" })).toEqual(["src/b.ts"]);
    expect(await lines(glob, place, { pattern: "*.log" })).toEqual(["logs/keep.log"]);
    expect(await lines(glob, place, { pattern: "*", path: "src" })).toHaveLength(2);
    expect(await lines(glob, place, { pattern: "**/*.{ts,log}", all: true })).toHaveLength(6);
    expect(await call(glob, place, { pattern: "*.rs" })).toEqual({ content: "(no files match)" });
  });

  it("searches a path that is hidden or ignored when it is named", async () => {
    await using place = await createPlace();
    await write(place, TREE);
    const { glob } = tools(place);
    expect(await lines(glob, place, { pattern: "*", path: ".hidden" })).toEqual([".hidden/d.ts"]);
    expect(await lines(glob, place, { pattern: "*", path: "node_modules" })).toEqual(["node_modules/e.ts"]);
  });

  it("says how many there are when it shows fewer", async () => {
    await using place = await createPlace();
    await write(place, Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${n}.txt`, ""])));
    const { glob } = tools(place);
    const { content } = await call(glob, place, { pattern: "*", limit: 7 });
    expect(content.split("\n")).toHaveLength(8);
    expect(content).toMatch(/\(the newest 7 of 30 files; use a narrower glob or path\)$/);
  });

  it.each([
    [{ pattern: "/etc/*" }, /^TOOL_INVALID_ARGUMENTS: /],
    [{ pattern: "../*" }, /^TOOL_INVALID_ARGUMENTS: /],
    [{ pattern: "*", path: ".." }, /^TOOL_OUTSIDE_WORKSPACE: /],
    [{ pattern: "*", path: "/etc" }, /^TOOL_OUTSIDE_WORKSPACE: /],
    [{ pattern: "*", path: "nowhere" }, /^TOOL_INVALID_ARGUMENTS: nowhere: no such file/],
    [{ pattern: "*", path: "own" }, /^TOOL_REFUSED: /],
  ])("refuses %j", async (args, expected) => {
    await using place = await createPlace();
    await write(place, { "own/x": "x" });
    expect((await call(tools(place).glob, place, args)).content).toMatch(expected);
  });
});

describe.each(["without ripgrep", "with ripgrep"])("search_grep %s", (kind) => {
  const searchPath = kind === "with ripgrep" ? process.env["PATH"] : NO_PROGRAMS;
  let hasRipgrep = true;
  beforeAll(async () => {
    hasRipgrep = await run("rg", ["--version"]).then(
      () => true,
      () => false,
    );
  });
  const grepIn = (place: ToolFixture) => tools(place, searchPath).grep;

  it("shows matching lines by file, with the lines around them", async ({ skip }) => {
    if (kind === "with ripgrep" && !hasRipgrep) skip("ripgrep is not installed");
    await using place = await createPlace();
    await write(place, TREE);
    const grep = grepIn(place);
    expect(await call(grep, place, { pattern: "needle" })).toEqual({
      content: "a.ts\n1: one needle\nlogs/keep.log\n1: needle\nsrc/b.ts\n2: needle needle",
    });
    expect(await lines(grep, place, { pattern: "needle", context: 1, glob: "*.ts" })).toEqual([
      "a.ts",
      "1: one needle",
      "2- two",
      "src/b.ts",
      "1- zero",
      "2: needle needle",
    ]);
    expect(await lines(grep, place, { pattern: "^needle$", ignore_case: true })).toEqual([
      "logs/keep.log",
      "1: needle",
      "src/deep/c.md",
      "2: Needle",
    ]);
    expect(await lines(grep, place, { pattern: "needle", files_only: true, all: true })).toEqual([
      ".hidden/d.ts",
      "a.ts",
      "logs/f.log",
      "logs/keep.log",
      "node_modules/e.ts",
      "src/b.ts",
    ]);
    expect(await lines(grep, place, { pattern: "needle", path: "src/b.ts" })).toEqual(["src/b.ts", "2: needle needle"]);
    expect(await lines(grep, place, { pattern: "needle", path: "node_modules" })).toHaveLength(2);
    expect(await call(grep, place, { pattern: "nothing like it" })).toEqual({ content: "(no matches)" });
  });

  it("takes a pattern as text, and never as an option", async () => {
    await using place = await createPlace();
    await write(place, { a: "x (a+b)* --files -e y\n" });
    const grep = grepIn(place);
    expect(await lines(grep, place, { pattern: "(a+b)*", literal: true })).toHaveLength(2);
    expect(await lines(grep, place, { pattern: "--files -e" })).toHaveLength(2);
    expect(await lines(grep, place, { pattern: "--pre=/bin/sh" })).toEqual([]);
  });

  it("bounds matches, lines and text, and says so", async () => {
    await using place = await createPlace();
    await write(place, {
      "many.txt": "needle\n".repeat(50),
      "wide.txt": `${"x".repeat(5_000)}needle${"y".repeat(5_000)}\n`,
    });
    const grep = grepIn(place);
    const { content } = await call(grep, place, { pattern: "needle", limit: 5 });
    expect(content.split("\n")).toHaveLength(7);
    expect(content).toMatch(/\(there are more: use a narrower pattern, path or glob\)$/);
    expect((await call(grep, place, { pattern: "needle", limit: 50, path: "many.txt" })).content).not.toContain("more");
    const wide = await call(grep, place, { pattern: "needle", path: "wide.txt" });
    expect(wide.content).toMatch(/^wide\.txt\n1: \.\.\.x+needley+\.\.\. \(10006 characters\)$/);
    expect(wide.content.length).toBeLessThan(500);
    await write(
      place,
      Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`d/${n}`, `${"needle ".repeat(60)}\n`])),
    );
    const long = await call(grep, place, { pattern: "needle", limit: 1_000 });
    expect(long.content.length).toBeLessThan(41_000);
    expect(long.content).toMatch(/there are more/);
  });

  it("reads other encodings, and says which files were too large", async () => {
    await using place = await createPlace();
    const large = Buffer.alloc(16 * 1024 * 1024 + 1, "needle ");
    await write(place, {
      "latin1.txt": Buffer.from("caf\xe9 needle\n", "latin1"),
      "utf16.txt": Buffer.from("\ufeffcafé needle\n", "utf16le"),
      "utf8.txt": "\ufeffcafé needle\n",
      "large.txt": large,
    });
    const { content } = await call(grepIn(place), place, { pattern: "^café needle$" });
    expect(content).toMatch(/^latin1\.txt\n1: café needle\nutf16\.txt\n1: .*\nutf8\.txt\n1: café needle/);
    expect((await call(grepIn(place), place, { pattern: "[c-n]+ n" })).content).toMatch(
      /^\(no matches; 1 file of more than 16 MiB not searched\)$/,
    );
  });

  it("reads nothing outside of the workspace, nor the service's files under any name", async () => {
    await using place = await createPlace();
    await write(place, { "own/key": SECRET, "fine.txt": `${SECRET} in my own notes\n` });
    await symlink(place.outside, place.path("out"));
    await symlink(join(place.base, ".env"), place.path("env.txt"));
    await link(join(place.base, ".env"), place.path("linked.txt"));
    await link(join(place.home, "node.key"), place.path("key.txt"));
    await link(place.path("fine.txt"), place.path("second.txt"));
    await run("mkfifo", [place.path("pipe")]);
    const grep = grepIn(place);
    expect(await lines(grep, place, { pattern: SECRET, all: true, files_only: true })).toEqual([
      "fine.txt",
      "second.txt",
    ]);
    expect((await call(grep, place, { pattern: SECRET, path: "out" })).content).toMatch(/^TOOL_OUTSIDE_WORKSPACE/);
    expect((await call(grep, place, { pattern: SECRET, path: "own" })).content).toMatch(/^TOOL_REFUSED/);
    expect((await call(grep, place, { pattern: SECRET, path: "linked.txt" })).content).toMatch(/^TOOL_REFUSED/);
  });

  it("goes on over what cannot be read", async () => {
    await using place = await createPlace();
    await write(place, { "a/x": "needle\n", "b/x": "needle\n" });
    await chmod(place.path("a"), 0o000);
    try {
      const found = await lines(grepIn(place), place, { pattern: "needle", files_only: true });
      expect(found).toContain("b/x");
    } finally {
      await chmod(place.path("a"), 0o700);
    }
  });

  it("ends a pattern that takes forever with the signal, at once, while the process goes on", async () => {
    await using place = await createPlace();
    await write(place, { a: `${"a".repeat(60)}!\n` });
    const controller = new AbortController();
    const searching = call(grepIn(place), place, { pattern: "^(a+)+$" }, controller.signal);
    let ticks = 0;
    const ticking = setInterval(() => ticks++, 5);
    await sleep(300);
    clearInterval(ticking);
    expect(ticks).toBeGreaterThan(3);
    controller.abort(new Error("stopped"));
    await expect(searching).rejects.toThrow("stopped");
  });

  it.each(["(?i)x", "(", "a**", "\\h", "[[:alpha:]]"])("says what is wrong with %s", async (pattern) => {
    await using place = await createPlace();
    expect((await call(grepIn(place), place, { pattern })).content).toMatch(
      /^TOOL_INVALID_ARGUMENTS: pattern is no JavaScript regular expression: /,
    );
  });
});

it("uses ripgrep without a shell, its configuration file and its preprocessors, and does without one that fails", async () => {
  await using place = await createPlace();
  await write(place, TREE);
  const programs = await createFakeTools();
  try {
    await programs.add("rg", "printf 'a.ts\\0../outside\\0/etc/passwd\\0nowhere\\0'");
    const { grep } = tools(place, `${programs.directory}:/usr/bin:/bin`);
    const found = await lines(grep, place, { pattern: "needle$(touch x)|;needle", literal: true });
    expect(found).toEqual([]);
    expect(await lines(grep, place, { pattern: "needle", files_only: true })).toEqual(["a.ts"]);
    const [first = []] = await programs.calls();
    expect(first).toContain("--no-config");
    expect(first.slice(-4)).toEqual(["-e", "needle$(touch x)|;needle", "--", "."]);
    expect(first.filter((argument) => argument.startsWith("--pre"))).toEqual([]);
    await programs.add("rg", "printf 'a.ts\\0'; exit 2");
    expect(await lines(grep, place, { pattern: "needle", files_only: true })).toHaveLength(3);
  } finally {
    await programs.remove();
  }
});

it("asks ripgrep for no rules outside of repositories, which newer ones keep in repositories inside, too", async () => {
  await using place = await createPlace();
  await write(place, { ".gitignore": "*.log\n", "a.ts": "needle", "inner/.git/HEAD": "x", "inner/b.log": "needle" });
  const programs = await createFakeTools();
  try {
    await programs.add(
      "rg",
      `case "$*" in *--no-require-git*) ;; *) printf 'inner/b.log\\0' ;; esac; printf 'a.ts\\0'`,
    );
    for (const path of [`${programs.directory}:/usr/bin:/bin`, process.env["PATH"], NO_PROGRAMS]) {
      const found = await lines(tools(place, path).grep, place, { pattern: "needle", files_only: true });
      expect(found).toEqual(["a.ts", "inner/b.log"]);
    }
  } finally {
    await programs.remove();
  }
});

it("runs two of ripgrep at once, however many calls there are", async () => {
  await using place = await createPlace();
  await write(place, TREE);
  const programs = await createFakeTools();
  try {
    const at = (name: string) => join(place.base, name);
    const count = `touch ${at("running.$$")}; ls ${at("running.*")} | wc -l >> ${at("counts")}`;
    await programs.add("rg", `${count}; sleep 0.3; rm ${at("running.$$")}; printf 'a.ts\\0'`);
    const { grep } = tools(place, `${programs.directory}:/usr/bin:/bin`);
    const calls = Array.from({ length: 6 }, () => lines(grep, place, { pattern: "needle", files_only: true }));
    expect(await Promise.all(calls)).toEqual(Array(6).fill(["a.ts"]));
    const counts = (await readFile(at("counts"), "utf8")).trim().split("\n").map(Number);
    expect(counts).toHaveLength(6);
    expect(Math.max(...counts)).toBeLessThanOrEqual(2);
  } finally {
    await programs.remove();
  }
});

it("runs no program of the workspace in place of ripgrep, wherever the search path leads", async () => {
  await using place = await createPlace();
  await write(place, TREE);
  const programs = await createFakeTools();
  try {
    await programs.add("rg", "printf 'a.ts\\0'");
    await mkdir(place.path("bin"), { recursive: true });
    await copyFile(join(programs.directory, "rg"), place.path("bin", "rg"));
    for (const path of [".", "", "bin:./bin", place.path("bin"), `${place.path("sub")}/../bin`]) {
      const { grep } = tools(place, path);
      expect(await lines(grep, place, { pattern: "needle", files_only: true })).not.toEqual([]);
    }
    expect(await programs.calls()).toEqual([]);
  } finally {
    await programs.remove();
  }
});

it("shows nothing of a directory that became a link while ripgrep ran", async () => {
  await using place = await createPlace();
  await write(place, { "sub/secret.txt": "nothing\n" });
  const programs = await createFakeTools();
  try {
    const swap = `mv ${place.path("sub")} ${place.path("was")}; ln -s ${place.outside} ${place.path("sub")}`;
    await programs.add("rg", `${swap}; printf 'sub/secret.txt\\0'`);
    const { grep } = tools(place, `${programs.directory}:/usr/bin:/bin`);
    expect(await call(grep, place, { pattern: SECRET })).toEqual({ content: "(no matches)" });
    await rename(place.path("was"), place.path("again"));
  } finally {
    await programs.remove();
  }
});

describe("the rules of .gitignore", () => {
  const NAMES = ["a", "b", "x.log", "keep.log", "d"];
  const name = fc.constantFrom(...NAMES);
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
  const rule = fc
    .tuple(
      fc.constantFrom("", "", "!", "/"),
      fc.constantFrom(...NAMES, "*.log", "a/b", "a/*", "**/d", "d/**", "x?log", "[ab]", "*"),
      fc.constantFrom("", "", "/"),
    )
    .map(([before, body, after]) => `${before}${body}${after}`);
  const rules = fc.array(rule, { maxLength: 4 }).map((all) => all.join("\n"));
  const tree = fc.record({
    files: fc.uniqueArray(path, { maxLength: 12 }),
    ignores: fc.dictionary(fc.constantFrom("", "a/", "a/b/", "d/"), rules),
  });

  /** Of files and folders with one name the folder wins. */
  async function plant(place: ToolFixture, given: { files: string[]; ignores: Record<string, string> }) {
    const all = [
      ...given.files.map((file): [string, string] => [file, "needle\n"]),
      ...Object.entries(given.ignores).map(([folder, text]): [string, string] => [`${folder}.gitignore`, `${text}\n`]),
    ];
    const folders = new Set(
      all.flatMap(([file]) =>
        file
          .split("/")
          .slice(0, -1)
          .map((_, n, parts) => parts.slice(0, n + 1).join("/")),
      ),
    );
    await write(place, Object.fromEntries(all.filter(([file]) => !folders.has(file))));
  }

  it("are those of git, and the results are the same with and without ripgrep", async ({ skip }) => {
    const hasRipgrep = await run("rg", ["--version"]).then(
      () => true,
      () => false,
    );
    if (!hasRipgrep) skip("ripgrep is not installed");
    await fc.assert(
      fc.asyncProperty(tree, async (given) => {
        await using place = await createPlace();
        await plant(place, given);
        await run("git", ["init", "-q", place.workspace]);
        const { stdout } = await run("git", [
          "-C",
          place.workspace,
          "ls-files",
          "-oz",
          "--exclude-per-directory=.gitignore",
        ]);
        const expected = stdout
          .split("\0")
          .filter((file) => file !== "" && !file.endsWith(".gitignore"))
          .sort();
        const found = async (searchPath: string | undefined) =>
          (
            await lines(tools(place, searchPath).grep, place, { pattern: "needle", files_only: true, limit: 100 })
          ).sort();
        expect(await found(NO_PROGRAMS)).toEqual(expected);
        expect(await found(process.env["PATH"])).toEqual(expected);
      }),
      { numRuns: 40 },
    );
  }, 120_000);

  it("of a repository around another one do not reach into it", async () => {
    await using place = await createPlace();
    await write(place, { ".gitignore": "*.log\n", "a.log": "x", "inner/.git/HEAD": "x", "inner/b.log": "x" });
    expect(await lines(tools(place).glob, place, { pattern: "*" })).toEqual(["inner/b.log"]);
  });
});
