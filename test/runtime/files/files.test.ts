/** Reading and writing below a directory that somebody else may write to. */

import { appendFile, chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { codeOf } from "../../../runtime/contracts/system-errors.ts";
import { createAtomically, writeAtomically } from "../../../runtime/files/atomic-write.ts";
import { listEntries, type OpenDirectory, openBelow, openRoot } from "../../../runtime/files/directory.ts";
import { readBelow, readFileIn, readTextIn, textOf } from "../../../runtime/files/read-file.ts";
import { FileRefused, refusalOf } from "../../../runtime/files/refusal.ts";
import { PLANTED_SECRET, PLANTS, type PlantedPlace, plantedPlace } from "../../support/planted-files.ts";

async function opened(): Promise<PlantedPlace & { readonly root: OpenDirectory }> {
  const place = await plantedPlace();
  const root = await openRoot(place.workspace);
  onTestFinished(() => root[Symbol.asyncDispose]());
  return { ...place, root };
}

const LIMITS = { maxBytes: 1_000 };

describe("a directory that others may write to", () => {
  it.each(Object.keys(PLANTS))("gives nothing away by %s", async (kind) => {
    const { root, ...place } = await opened();
    await PLANTS[kind]?.(join(place.workspace, "name"), place);
    const refusal = await readFileIn(root, "name", LIMITS).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(FileRefused);
    expect(refusalOf(refusal)).not.toContain(PLANTED_SECRET);
    expect(await createAtomically(root, "name", "new", { temporary: "t", mode: 0o600 })).toBe(false);
    const written = await writeAtomically(root, "name", Buffer.from("new"), { temporary: "t" }).catch(() => null);
    // A second name and a file without content are replaced, and what they were linked from is not.
    expect(written === null).toBe(!/second name|sparse/.test(kind));
    expect(await readFile(join(place.outside, "secret.md"), "utf8")).toBe(PLANTED_SECRET);
    expect(await readFile(join(place.base, ".env"), "utf8")).toContain(PLANTED_SECRET);
    expect(await readdir(place.workspace)).not.toContain("t");
  });

  it("is not left through a link among its directories, and may be a link itself", async () => {
    const { root, workspace, outside, base } = await opened();
    await symlink(outside, join(workspace, "folder"));
    await symlink(workspace, join(base, "named"));
    for (const create of [false, true]) {
      const error = await openBelow(root, ["folder"], create).catch((reason: unknown) => reason);
      expect(["ELOOP", "ENOTDIR"]).toContain(codeOf(error));
    }
    await expect(readBelow(workspace, ["folder", "secret.md"], LIMITS)).rejects.toThrow();
    await writeFile(join(workspace, "a.md"), "text");
    expect(textOf(await readBelow(join(base, "named"), ["a.md"], LIMITS))).toBe("text");
    expect((await listEntries(root)).map(({ name }) => name)).toEqual(["a.md", "folder"]);
  });

  it("stays the same directory when its path leads elsewhere", async () => {
    const { root, workspace } = await opened();
    await using folder = await openBelow(root, ["a", "b"], true);
    await writeFile(join(workspace, "a", "b", "file"), "kept");
    await symlink("a", join(workspace, "c"));
    expect(await readTextIn(folder, "file", LIMITS)).toBe("kept");
    expect(await readTextIn(folder, "none", LIMITS)).toBeNull();
  });
});

describe("a file", () => {
  it("is read up to its bound, or refused", async () => {
    const { root, workspace } = await opened();
    await writeFile(join(workspace, "a.md"), "日".repeat(500));
    await expect(readFileIn(root, "a.md", LIMITS)).rejects.toMatchObject({ reason: "too_large" });
    const content = await readFileIn(root, "a.md", { ...LIMITS, larger: "cut" });
    expect([content.cut, content.bytes.byteLength, textOf(content)]).toEqual([true, 1_000, "日".repeat(333)]);
    await writeFile(join(workspace, "b.md"), "a\0b");
    await expect(readTextIn(root, "b.md", LIMITS)).rejects.toMatchObject({ reason: "not_text" });
  });

  it("that grows while it is read is read as it was", async () => {
    const { root, workspace } = await opened();
    const path = join(workspace, "a.md");
    await writeFile(path, "x".repeat(900));
    let growing = true;
    const growth = (async () => {
      while (growing) await appendFile(path, "y".repeat(10));
    })();
    const reads = Array.from({ length: 20 }, () => readFileIn(root, "a.md", { ...LIMITS, larger: "cut" }));
    for (const { bytes } of await Promise.all(reads)) expect(bytes.byteLength).toBeLessThanOrEqual(1_000);
    growing = false;
    await growth;
  });

  it("keeps its mode when it is replaced, but for the set-user-ID bit", async () => {
    const { root, workspace } = await opened();
    const path = join(workspace, "run.sh");
    await writeFile(path, "old");
    await chmod(path, 0o4755);
    expect(await writeAtomically(root, "run.sh", Buffer.from("new"), { temporary: "t" })).toMatchObject({
      created: false,
    });
    expect((await stat(path)).mode & 0o7777).toBe(0o755);
    await mkdir(join(workspace, "folder"));
    await expect(writeAtomically(root, "folder", Buffer.from("x"), { temporary: "t" })).rejects.toThrow("directory");
  });

  it("that is new is made once, whoever makes it", async () => {
    const { root, workspace } = await opened();
    const made = await Promise.all(
      [1, 2, 3, 4].map((n) => createAtomically(root, "one", `text ${n}`, { temporary: `t${n}`, mode: 0o640 })),
    );
    expect(made.filter((done) => done)).toHaveLength(1);
    expect(await readFile(join(workspace, "one"), "utf8")).toMatch(/^text \d$/);
    expect(await readdir(workspace)).toEqual(["one"]);
  });
});
