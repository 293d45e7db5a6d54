/** The wiki's folder as an agent may have left it: nothing is read or written through what it has put there. */

import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createWikiPages } from "../../../../runtime/app/wiki/pages.ts";
import { PLANTED_SECRET, PLANTS, plantedPlace, plantFolder } from "../../../support/planted-files.ts";

const signal = new AbortController().signal;
const NOW = new Date("2026-01-02T03:04:05Z");
const UPDATE = { title: "Backup", statements: ["It runs at noon."], source: "0197c0de", now: NOW, limit: 9_000 };
const PAGE = "---\ntitle: planted-secret-0123456789\n---\n";

function pagesOf(workspace: string) {
  return createWikiPages({ workspace, sleep: (ms, aborted) => sleep(ms, undefined, { signal: aborted }) });
}

/** Everything below a directory, as text. */
async function contents(directory: string): Promise<string> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const small = files.filter((path) => !path.endsWith("sparse.md"));
  return (await Promise.all(small.map((path) => readFile(path, "utf8")))).join("\n");
}

describe("what an agent puts in the place of a page", () => {
  describe.each(["backup.md", "index.md", ".lock"])("%s", (name) => {
    const kinds = Object.keys(PLANTS).filter((kind) => name !== ".lock" || !/second name|sparse|pipe/.test(kind));
    it.each(kinds)("%s is neither read nor written through", async (kind) => {
      const place = await plantedPlace();
      await mkdir(join(place.workspace, "wiki"));
      const path = join(place.workspace, "wiki", name);
      await PLANTS[kind]?.(path, place);
      const outside = await contents(place.outside);
      const pages = pagesOf(place.workspace);
      expect(await pages.titles()).toEqual([]);
      await expect(pages.write([UPDATE], signal)).rejects.toThrow();
      expect(await contents(place.outside)).toBe(outside);
      expect(await readdir(place.base)).toEqual([".env", "outside", "workspace"]);
    });
  });

  it("a folder that is a link is refused, and one that becomes a link is not followed", async () => {
    const place = await plantedPlace();
    await plantFolder(join(place.workspace, "wiki"), "backup.md", place);
    await writeFile(join(place.outside, "folder", "backup.md"), PAGE);
    const pages = pagesOf(place.workspace);
    await expect(pages.titles()).rejects.toMatchObject({ code: "TOOL_OUTSIDE_WORKSPACE" });
    await expect(pages.write([UPDATE], signal)).rejects.toMatchObject({ code: "TOOL_OUTSIDE_WORKSPACE" });
    expect(await readFile(join(place.outside, "folder", "backup.md"), "utf8")).toBe(PAGE);
    expect(await readdir(join(place.outside, "folder"))).toEqual(["backup.md"]);
  });

  it("a folder that is swapped for a link again and again gets nothing out, and nothing in", async () => {
    const { workspace, outside } = await plantedPlace();
    await writeFile(join(outside, "backup.md"), PAGE);
    const pages = pagesOf(workspace);
    const wiki = join(workspace, "wiki");
    let racing = true;
    const ignore = () => undefined;
    const race = (async () => {
      while (racing) {
        await mkdir(wiki).catch(ignore);
        await sleep(1);
        await rename(wiki, join(workspace, "aside")).catch(ignore);
        await symlink(outside, wiki).catch(ignore);
        await sleep(1);
        await rm(wiki).catch(ignore);
        await rm(join(workspace, "aside"), { recursive: true, force: true }).catch(ignore);
      }
    })();
    try {
      for (let round = 0; round < 150; round += 1) {
        expect(await pages.titles().catch(() => [])).not.toContain(PLANTED_SECRET);
        await pages.write([UPDATE], signal).catch(ignore);
      }
    } finally {
      racing = false;
      await race;
    }
    expect((await readdir(outside)).sort()).toEqual(["backup.md", "secret.md"]);
    expect(await readFile(join(outside, "backup.md"), "utf8")).toBe(PAGE);
  });
});
