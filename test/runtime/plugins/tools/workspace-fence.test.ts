import { mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createFileEditTool } from "../../../../runtime/plugins/tools/file-edit/index.ts";
import { createFileReadTool } from "../../../../runtime/plugins/tools/file-read/index.ts";
import { createFileWriteTool } from "../../../../runtime/plugins/tools/file-write/index.ts";
import { createWorkspaceGate } from "../../../../runtime/plugins/tools/shared/locate.ts";
import { call, createPlace, newId, SECRET, type ToolFixture } from "./support.ts";

const NAMES = ["a", "b", "c"] as const;
const component = fc.constantFrom(...NAMES, "..", ".", "", "ws", "ws-evil", "secret.txt", "link");
const path = fc.array(component, { minLength: 1, maxLength: 6 }).map((parts) => parts.join("/"));

/** What to put into the workspace: files, directories and links to anywhere, by name and place. */
const entry = fc.record({
  at: fc.array(fc.constantFrom(...NAMES, "link"), { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/")),
  kind: fc.constantFrom("file", "directory", "link", "link"),
  target: fc.oneof(
    path,
    fc.constantFrom(
      "..",
      "../..",
      "../ws-evil",
      "../ws-evil/secret.txt",
      "../ws-evil/new.txt",
      "/",
      "$OUTSIDE",
      "$OUTSIDE/secret.txt",
      "$WS",
      "$WS/a",
    ),
  ),
});

async function build(
  place: ToolFixture,
  entries: readonly { at: string; kind: string; target: string }[],
): Promise<void> {
  await rm(place.workspace, { recursive: true, force: true });
  await mkdir(place.workspace);
  for (const { at, kind, target } of entries) {
    const where = place.path(at);
    // An entry that does not fit what is there already (or would go through a link) is left out.
    const fits = await pathIsPlain(place, at);
    if (!fits) continue;
    // Never through a link that stands there already.
    if (kind === "file") await writeFile(where, "inside\n", { flag: "wx" }).catch(() => undefined);
    else if (kind === "directory") await mkdir(where).catch(() => undefined);
    else
      await symlink(target.replace("$OUTSIDE", place.outside).replace("$WS", place.workspace), where).catch(
        () => undefined,
      );
  }
}

async function pathIsPlain(place: ToolFixture, at: string): Promise<boolean> {
  const parts = at.split("/");
  for (let depth = 1; depth < parts.length; depth += 1) {
    const parent = place.path(...parts.slice(0, depth));
    if (
      await readlink(parent).then(
        () => true,
        () => false,
      )
    )
      return false;
    await mkdir(parent, { recursive: true }).catch(() => undefined);
  }
  return true;
}

/** Everything outside the workspace: names and contents. */
async function outsideOf(place: ToolFixture): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of await readdir(place.base)) if (name !== "ws") found[name] = "";
  for (const directory of [place.outside, place.home]) {
    for (const name of await readdir(directory))
      found[join(directory, name)] = await readFile(join(directory, name), "utf8");
  }
  found[".env"] = await readFile(join(place.base, ".env"), "utf8");
  return found;
}

it("reads and writes nothing outside the workspace, whatever links stand in it and whatever path is asked for", async () => {
  await using place = await createPlace();
  const gate = createWorkspaceGate({ protectedPaths: [place.home] });
  const read = createFileReadTool({ gate });
  const write = createFileWriteTool({ gate, newId });
  const edit = createFileEditTool({ gate, newId });
  const before = await outsideOf(place);
  let inside = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(entry, { maxLength: 8 }),
      fc.array(fc.tuple(path, fc.constantFrom("", "./", "/", "$WS/", "$OUTSIDE/", "$WS/../")), {
        minLength: 3,
        maxLength: 8,
      }),
      async (entries, paths) => {
        await build(place, entries);
        for (const [text, prefix] of paths) {
          const asked = prefix.replace("$WS", place.workspace).replace("$OUTSIDE", place.outside) + text;
          const results = [
            await call(read, place, { path: asked }),
            await call(edit, place, { path: asked, old_string: "inside", new_string: "still inside" }),
            await call(edit, place, { path: asked, old_string: SECRET, new_string: "gone" }),
            await call(write, place, { path: asked, content: "inside\n" }),
          ];
          for (const { content } of results) expect(content).not.toContain(SECRET);
          if (results.some(({ isError }) => !isError)) inside += 1;
          else refused += 1;
        }
        expect(await outsideOf(place)).toEqual(before);
      },
    ),
    { numRuns: 80 },
  );
  // The property would hold for tools that refuse everything, too.
  expect(inside).toBeGreaterThan(30);
  expect(refused).toBeGreaterThan(30);
});
