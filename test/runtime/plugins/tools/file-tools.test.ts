import { execFile } from "node:child_process";
import {
  chmod,
  link,
  mkdir,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { createFileEditTool } from "../../../../runtime/plugins/tools/file-edit/index.ts";
import { createFileReadTool } from "../../../../runtime/plugins/tools/file-read/index.ts";
import { createFileWriteTool } from "../../../../runtime/plugins/tools/file-write/index.ts";
import { createWorkspaceGate } from "../../../../runtime/plugins/tools/shared/locate.ts";
import { call, createPlace, newId, SECRET } from "./support.ts";

async function setUp() {
  const place = await createPlace();
  onTestFinished(() => place[Symbol.asyncDispose]());
  const gate = createWorkspaceGate({
    protectedPaths: [join(place.base, ".env"), place.path("service.env"), place.home],
  });
  const tools = {
    read: createFileReadTool({ gate }),
    write: createFileWriteTool({ gate, newId }),
    edit: createFileEditTool({ gate, newId }),
  };
  return {
    place,
    read: (args: object) => call(tools.read, place, { ...args }),
    write: (args: object) => call(tools.write, place, { ...args }),
    edit: (args: object) => call(tools.edit, place, { ...args }),
  };
}

describe("file_read", () => {
  it("numbers lines and says where to go on", async () => {
    const { place, read } = await setUp();
    await writeFile(place.path("a.txt"), "one\ntwo\r\nthree\nfour\n");
    expect((await read({ path: "a.txt" })).content).toBe("1\tone\n2\ttwo\n3\tthree\n4\tfour");
    expect((await read({ path: "a.txt", offset: 2, limit: 2 })).content).toBe(
      "2\ttwo\n3\tthree\n(1 more lines of 4; go on with offset 4)",
    );
    expect((await read({ path: place.path("a.txt"), offset: 9 })).content).toContain("no line 9");
  });

  it("bounds a file of many lines and a line of many characters", async () => {
    const { place, read } = await setUp();
    await writeFile(place.path("long.txt"), "x".repeat(10_000));
    await writeFile(place.path("many.txt"), "0123456789\n".repeat(50_000));
    expect((await read({ path: "long.txt" })).content).toContain("(8000 more characters in this line)");
    const many = await read({ path: "many.txt", limit: 50_000 });
    expect(many.content.length).toBeLessThan(61_000);
    expect(many.content).toMatch(/more lines of 50000; go on with offset \d+\)$/);
    expect((await read({ path: "many.txt" })).content).toContain("go on with offset 2001");
  });

  it("reads an empty file, UTF-16 and Latin-1", async () => {
    const { place, read } = await setUp();
    await writeFile(place.path("empty"), "");
    await writeFile(place.path("utf16"), Buffer.from("\ufeffgrüß", "utf16le"));
    await writeFile(place.path("latin"), Buffer.from("gr\u00fc\u00df", "latin1"));
    expect((await read({ path: "empty" })).content).toContain("empty");
    expect((await read({ path: "utf16" })).content).toContain("1\tgrüß");
    expect((await read({ path: "latin" })).content).toContain("1\tgrüß");
  });

  it("refuses binary content, directories (with what they hold) and files above the limit", async () => {
    const { place, read } = await setUp();
    await writeFile(place.path("b.bin"), Buffer.from([1, 0, 2]));
    await mkdir(place.path("dir", "sub"), { recursive: true });
    await writeFile(place.path("dir", "notes.md"), "");
    await writeFile(place.path("huge"), Buffer.alloc(17 * 1024 * 1024, 65));
    expect((await read({ path: "b.bin" })).content).toContain("binary file (3 bytes)");
    expect((await read({ path: "dir" })).content).toContain("It holds: notes.md, sub/.");
    expect((await read({ path: "." })).content).toContain("b.bin, dir/, huge");
    expect((await read({ path: "huge" })).content).toContain("at most");
  });

  it("suggests the nearest name for a missing file", async () => {
    const { place, read } = await setUp();
    await mkdir(place.path("docs"));
    await writeFile(place.path("docs", "README.md"), "");
    expect((await read({ path: "docs/readme.md" })).content).toContain("Did you mean docs/README.md?");
    expect((await read({ path: "docs/entirely-else.md" })).content).toMatch(/no such file\.$/);
    expect((await read({ path: "nowhere/x.md" })).content).toContain("no such file");
  });
});

describe("file_write", () => {
  it("creates parents, reports bytes and leaves no temporary file", async () => {
    const { place, write } = await setUp();
    expect(await write({ path: "a/b/c.txt", content: "grüß" })).toEqual({ content: "Created a/b/c.txt (6 bytes)." });
    expect(await readFile(place.path("a/b/c.txt"), "utf8")).toBe("grüß");
    expect(await readdir(place.path("a/b"))).toEqual(["c.txt"]);
  });

  it("replaces a file in one step and keeps its mode", async () => {
    const { place, write } = await setUp();
    await writeFile(place.path("run.sh"), "old");
    await chmod(place.path("run.sh"), 0o750);
    const before = await stat(place.path("run.sh"));
    expect((await write({ path: "run.sh", content: "new" })).content).toBe("Replaced run.sh (3 bytes).");
    const after = await stat(place.path("run.sh"));
    expect(after.mode & 0o7777).toBe(0o750);
    expect(after.ino).not.toBe(before.ino);
  });

  it("writes through a link that stays inside, and refuses a directory, a pipe and a slash at the end", async () => {
    const { place, write } = await setUp();
    await writeFile(place.path("target"), "old");
    await symlink("target", place.path("alias"));
    await mkdir(place.path("dir"));
    await promisify(execFile)("mkfifo", [place.path("pipe")]);
    expect((await write({ path: "alias", content: "new" })).content).toContain("Replaced target");
    expect(await readFile(place.path("target"), "utf8")).toBe("new");
    expect((await write({ path: "dir", content: "x" })).content).toContain(
      "TOOL_INVALID_ARGUMENTS: dir: it is a directory",
    );
    expect((await write({ path: "pipe", content: "x" })).content).toContain("TOOL_REFUSED");
    expect((await write({ path: "new/", content: "x" })).content).toContain("slash");
    expect((await write({ path: "target/x", content: "x" })).content).toContain("a part of the path is a file");
  });

  it("changes nothing when the call was aborted", async () => {
    const { place } = await setUp();
    await writeFile(place.path("a.txt"), "old");
    const tool = createFileWriteTool({ gate: createWorkspaceGate({ protectedPaths: [] }), newId });
    await call(tool, place, { path: "a.txt", content: "new" }, AbortSignal.abort());
    expect(await readFile(place.path("a.txt"), "utf8")).toBe("old");
    expect(await readdir(place.workspace)).toEqual(["a.txt"]);
  });
});

describe("file_edit", () => {
  it("refuses a replacement that would make a file larger than one that can be written", async () => {
    const { place, edit } = await setUp();
    await writeFile(place.path("a.txt"), "a".repeat(1_000_000));
    const grown = await edit({ path: "a.txt", old_string: "a", new_string: "b".repeat(20), replace_all: true });
    expect(grown).toMatchObject({ isError: true });
    expect(grown.content).toContain("20000000 characters, at most 16777216 can be written");
    expect(await readFile(place.path("a.txt"), "utf8")).toHaveLength(1_000_000);
  });

  it("replaces the one occurrence and says where", async () => {
    const { place, edit } = await setUp();
    await writeFile(place.path("a.ts"), "one\ntwo $& $1\nthree\n");
    const result = await edit({ path: "a.ts", old_string: "two $& $1", new_string: "2 $& $$" });
    expect(result).toEqual({ content: "Replaced 1 occurrence in a.ts (line 2)." });
    expect(await readFile(place.path("a.ts"), "utf8")).toBe("one\n2 $& $$\nthree\n");
  });

  it("asks for more text when there are several matches, or replaces them all when told so", async () => {
    const { place, edit } = await setUp();
    await writeFile(place.path("a.ts"), "x\ny\nx\n");
    expect((await edit({ path: "a.ts", old_string: "x", new_string: "z" })).content).toContain("2 times (lines 1, 3)");
    expect((await edit({ path: "a.ts", old_string: "x", new_string: "z", replace_all: true })).content).toContain(
      "2 occurrences in a.ts (line 1, 3)",
    );
    expect(await readFile(place.path("a.ts"), "utf8")).toBe("z\ny\nz\n");
  });

  it("tells what comes nearest when nothing matches", async () => {
    const { place, edit } = await setUp();
    await writeFile(place.path("a.ts"), "function add(a, b) {\n\treturn a + b;\n}\n");
    const white = await edit({ path: "a.ts", old_string: "add(a, b) {\n  return a + b;\n}", new_string: "" });
    expect(white.content).toContain("does not occur");
    expect((await edit({ path: "a.ts", old_string: "  return a + b;", new_string: "" })).content).toContain(
      "Lines 2 to 2 differ from it only in white space",
    );
    expect((await edit({ path: "a.ts", old_string: "return a - b;", new_string: "" })).content).toContain(
      "The nearest line is 2: return a + b;",
    );
    expect((await edit({ path: "a.ts", old_string: "x", new_string: "x" })).content).toContain("nothing to change");
    expect((await edit({ path: "none.ts", old_string: "x", new_string: "y" })).content).toContain("no such file");
  });

  it("keeps Windows line endings, the byte order mark, the encoding and the mode", async () => {
    const { place, edit } = await setUp();
    await writeFile(place.path("win.txt"), "\ufeffone\r\ntwo\r\nthree\r\n");
    await chmod(place.path("win.txt"), 0o640);
    await edit({ path: "win.txt", old_string: "one\ntwo", new_string: "1\n2" });
    expect(await readFile(place.path("win.txt"), "utf8")).toBe("\ufeff1\r\n2\r\nthree\r\n");
    expect((await stat(place.path("win.txt"))).mode & 0o777).toBe(0o640);

    await writeFile(place.path("latin.txt"), Buffer.from("gr\u00fc\u00df", "latin1"));
    await edit({ path: "latin.txt", old_string: "ß", new_string: "ss" });
    expect(await readFile(place.path("latin.txt"), "latin1")).toBe("grüss");
    expect((await edit({ path: "latin.txt", old_string: "ss", new_string: "€" })).content).toContain("cannot hold");
  });

  it("leaves a mixture of line endings alone", async () => {
    const { place, edit } = await setUp();
    await writeFile(place.path("mixed.txt"), "a\r\nb\nc\n");
    await edit({ path: "mixed.txt", old_string: "b\nc", new_string: "B\nC" });
    expect(await readFile(place.path("mixed.txt"), "utf8")).toBe("a\r\nB\nC\n");
  });
});

describe("the fence around the file tools", () => {
  it.each(["../ws-evil/secret.txt", "/etc/passwd", "a/../../ws-evil/secret.txt", "~/x"])("refuses %s", async (path) => {
    const { read, write, edit } = await setUp();
    for (const result of [
      await read({ path }),
      await write({ path, content: "x" }),
      await edit({ path, old_string: "a", new_string: "b" }),
    ]) {
      expect(result).toMatchObject({ isError: true, content: expect.stringMatching(/^TOOL_OUTSIDE_WORKSPACE/) });
      expect(result.content).not.toContain(SECRET);
    }
  });

  it("refuses links that lead out, in any component, and dangling ones", async () => {
    const { place, read, write } = await setUp();
    await symlink(join(place.outside, "secret.txt"), place.path("file-link"));
    await symlink(place.outside, place.path("dir-link"));
    await symlink("../ws-evil", place.path("relative-link"));
    await symlink(join(place.outside, "new.txt"), place.path("dangling"));
    await symlink("loop", place.path("loop"));
    for (const path of ["file-link", "dir-link/secret.txt", "relative-link/secret.txt", "dangling", "dir-link/new/x"]) {
      expect((await read({ path })).content, path).toMatch(/^TOOL_OUTSIDE_WORKSPACE/);
      expect((await write({ path, content: "x" })).content, path).toMatch(/^TOOL_OUTSIDE_WORKSPACE/);
    }
    expect((await read({ path: "loop" })).isError).toBe(true);
    expect(await readdir(place.outside)).toEqual(["secret.txt"]);
    expect(await readFile(join(place.outside, "secret.txt"), "utf8")).toBe(SECRET);
  });

  it("works in a workspace that is itself reached through a link", async () => {
    const { place } = await setUp();
    const named = join(place.base, "named");
    await symlink(place.workspace, named);
    const tool = createFileWriteTool({ gate: createWorkspaceGate({ protectedPaths: [] }), newId });
    expect((await call(tool, { workspace: named }, { path: join(named, "a.txt"), content: "x" })).content).toContain(
      "Created",
    );
    expect((await call(tool, { workspace: named }, { path: place.path("b.txt"), content: "x" })).content).toContain(
      "Created",
    );
    expect((await readdir(place.workspace)).sort()).toEqual(["a.txt", "b.txt"]);
  });

  it("refuses pipes and devices instead of waiting for them", async () => {
    const { place, read, edit } = await setUp();
    await promisify(execFile)("mkfifo", [place.path("pipe")]);
    expect((await read({ path: "pipe" })).content).toMatch(/^TOOL_REFUSED/);
    expect((await edit({ path: "pipe", old_string: "a", new_string: "b" })).content).toMatch(/^TOOL_REFUSED/);
  });

  it("does not write what git is configured by, in any repository and through no link", async () => {
    const { place, read, write, edit } = await setUp();
    for (const path of [".git/info", "sub/.GIT"]) await mkdir(place.path(path), { recursive: true });
    await writeFile(place.path(".git/config"), "[core]\n");
    await symlink(".git", place.path("alias"));
    for (const path of [".git/config", "alias/config", ".git/info/new/exclude", "sub/.GIT/config", "new/.git"]) {
      expect((await write({ path, content: "x" })).content).toMatch(/^TOOL_REFUSED: .*below \.git/);
    }
    expect((await edit({ path: "alias/config", old_string: "core", new_string: "x" })).content).toMatch(
      /^TOOL_REFUSED/,
    );
    expect((await read({ path: ".git/config" })).content).toBe("1\t[core]");
    for (const path of [".gitignore", ".github/ci.yml"]) {
      expect((await write({ path, content: "x" })).content).toMatch(/^Created/);
    }
  });

  it("does not open the service's own files, under their name or another", async () => {
    const { place, read, write } = await setUp();
    await writeFile(place.path("service.env"), SECRET);
    await link(place.path("service.env"), place.path("innocent.txt"));
    for (const path of ["service.env", "innocent.txt"]) {
      expect((await read({ path })).content).toMatch(/^TOOL_REFUSED/);
      expect((await write({ path, content: "x" })).content).toMatch(/^TOOL_REFUSED/);
    }
  });

  it("does not show or edit what is in the service's home under another name, and reads other files with two names", async () => {
    const { place, read, edit } = await setUp();
    await mkdir(join(place.home, "logs", "audit"), { recursive: true });
    await writeFile(join(place.home, "logs", "audit", "today.jsonl"), SECRET);
    await link(join(place.home, "node.key"), place.path("key.txt"));
    await link(join(place.home, "logs", "audit", "today.jsonl"), place.path("log.txt"));
    for (const path of ["key.txt", "log.txt"]) {
      for (const result of [await read({ path }), await edit({ path, old_string: SECRET, new_string: "x" })]) {
        expect(result.content).toMatch(/^TOOL_REFUSED/);
        expect(result.content).not.toContain(SECRET);
      }
    }
    // As package managers install: a second name outside of the workspace, in a store.
    await writeFile(join(place.base, "store.js"), "installed");
    await link(join(place.base, "store.js"), place.path("module.js"));
    expect((await read({ path: "module.js" })).content).toContain("installed");
    // Known from now on by their inodes: a file that comes later is found all the same.
    await writeFile(join(place.home, "logs", "later.txt"), SECRET);
    await link(join(place.home, "logs", "later.txt"), place.path("later.txt"));
    expect((await read({ path: "later.txt" })).content).toMatch(/^TOOL_REFUSED/);
  });

  it("does not follow a link that another agent has put in the place of a workspace inside its own", async () => {
    const { place } = await setUp();
    const inner = { workspace: place.path("inner") };
    const gate = createWorkspaceGate({ protectedPaths: [], workspaces: [place.workspace, inner.workspace] });
    const read = createFileReadTool({ gate });
    await mkdir(inner.workspace);
    await writeFile(join(inner.workspace, "secret.txt"), "an own file");
    expect((await call(read, inner, { path: "secret.txt" })).content).toContain("an own file");
    await rm(inner.workspace, { recursive: true });
    await symlink(place.outside, inner.workspace);
    expect((await call(read, inner, { path: "secret.txt" })).content).toMatch(/^TOOL_OUTSIDE_WORKSPACE/);
    // The outer one may be a link: that is the operator's.
    await rm(inner.workspace);
    await mkdir(inner.workspace);
    await writeFile(join(inner.workspace, "a.txt"), "reached");
    await symlink(place.workspace, join(place.base, "named"));
    const named = [join(place.base, "named"), join(place.base, "named", "inner")] as const;
    const other = createFileReadTool({ gate: createWorkspaceGate({ protectedPaths: [], workspaces: named }) });
    expect((await call(other, { workspace: named[1] }, { path: "a.txt" })).content).toContain("reached");
  });

  it("is not fooled by a directory that turns into a link while files are opened", async () => {
    const { place, read, write } = await setUp();
    const ignore = () => undefined;
    let racing = true;
    const race = (async () => {
      // Any step may fail because a tool made the directory meanwhile; the next round starts from a clean place.
      while (racing) {
        await rm(place.path("d"), { recursive: true, force: true }).catch(ignore);
        await symlink(place.outside, place.path("d")).catch(ignore);
        await unlink(place.path("d")).catch(ignore);
        await mkdir(place.path("d")).catch(ignore);
        await writeFile(place.path("d", "secret.txt"), "harmless").catch(ignore);
      }
    })();
    try {
      for (let round = 0; round < 300; round += 1) {
        expect((await read({ path: "d/secret.txt" })).content).not.toContain(SECRET);
        await write({ path: `d/new-${round}.txt`, content: "x" });
      }
    } finally {
      racing = false;
      await race;
    }
    expect(await readdir(await realpath(place.outside))).toEqual(["secret.txt"]);
  });
});
