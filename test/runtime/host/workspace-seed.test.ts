import { chmod, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type SeedVolume, seedWorkspaces } from "../../../runtime/host/workspace-seed.ts";
import { temporaryDirectory } from "../../support/deployment.ts";
import { PLANTED_SECRET, PLANTS, plantedPlace } from "../../support/planted-files.ts";

interface SeedFixture {
  readonly seed: string;
  readonly root: string;
  readonly warnings: object[];
  start(volume?: SeedVolume): Promise<void>;
  /** The operator's file; null removes it. */
  offer(path: string, content: string): Promise<void>;
  write(path: string, content: string): Promise<void>;
  read(path: string): Promise<string | null>;
}

async function place(): Promise<SeedFixture> {
  const dir = await temporaryDirectory();
  const [seed, root] = [join(dir, "seed"), join(dir, "volume")];
  const warnings: object[] = [];
  const write = async (path: string, content: string): Promise<void> => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  };
  return {
    seed,
    root,
    warnings,
    start: (volume) =>
      seedWorkspaces({
        seed,
        root,
        workspaces: [join(root, "workspace"), "/etc"],
        logger: { info: () => undefined, warn: (fields) => warnings.push(fields as object) },
        ...(volume ? { volume } : {}),
      }),
    offer: (path, content) => write(join(seed, path), content),
    write: (path, content) => write(join(root, path), content),
    read: (path) => readFile(join(root, path), "utf8").catch(() => null),
  };
}

/** Places files as the real one does, and dies at the given call: before it did anything, or right after. */
function dying(root: string, at: number, after: boolean): SeedVolume {
  let calls = 0;
  return {
    async place(path, content) {
      calls++;
      if (calls === at && !after) throw new Killed();
      await writeFile(join(root, ".other.tmp"), content);
      await rename(join(root, ".other.tmp"), join(root, path));
      if (calls === at) throw new Killed();
    },
  };
}

class Killed extends Error {}

const A = "workspace/AGENTS.md";

describe("workspace files at the start of a node", () => {
  test("arrive, with the directories that agents work in", async () => {
    const { seed, root, start, offer, read } = await place();
    await start();
    expect(await readdir(root)).toEqual(["workspace"]);
    await offer(A, "one");
    await offer("agents/writer/deep/down/SOUL.md", "soul");
    await start();
    expect([await read(A), await read("agents/writer/deep/down/SOUL.md")]).toEqual(["one", "soul"]);
    expect(await readdir(root)).toEqual([".workspace-seed.json", "agents", "workspace"]);
    expect(await readdir(seed)).toEqual(["agents", "workspace"]);
  });

  test("whatever happens, an agent's work is never lost and the operator's news arrive", async () => {
    const PATHS = ["workspace/a.md", "workspace/sub/b.md"] as const;
    const step = fc.oneof(
      fc.record({ kind: fc.constant("offer" as const), path: fc.constantFrom(...PATHS), version: fc.nat({ max: 3 }) }),
      fc.record({ kind: fc.constant("edit" as const), path: fc.constantFrom(...PATHS) }),
      fc.record({ kind: fc.constant("delete" as const), path: fc.constantFrom(...PATHS) }),
      fc.constant({ kind: "start" as const }),
      fc.record({ kind: fc.constant("killed" as const), at: fc.integer({ min: 1, max: 4 }), after: fc.boolean() }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        const { root, start, offer, write, read } = await place();
        const offered = new Map<string, string>();
        /** Last word of the agent on a file since the last whole start: its text, or null for deleted. */
        const touched = new Map<string, string | null>();
        let edits = 0;
        const check = async (whole: boolean): Promise<void> => {
          for (const path of PATHS) {
            const now = await read(path);
            const agent = touched.get(path);
            // What an agent wrote is there, word for word, after any start.
            if (typeof agent === "string") expect(now).toBe(agent);
            else if (whole && agent === undefined && offered.has(path)) expect(now).toBe(offered.get(path));
          }
        };
        for (const action of steps) {
          if (action.kind === "offer") {
            offered.set(action.path, `operator's version ${action.version}`);
            await offer(action.path, `operator's version ${action.version}`);
          } else if (action.kind === "edit") {
            const text = `agent's own words ${edits++}`;
            touched.set(action.path, text);
            await write(action.path, text);
          } else if (action.kind === "delete") {
            await rm(join(root, action.path), { force: true });
            touched.set(action.path, null);
          } else if (action.kind === "killed") {
            await mkdir(root, { recursive: true });
            await start(dying(root, action.at, action.after)).catch((error: unknown) => {
              if (!(error instanceof Killed)) throw error;
            });
            await check(false);
          } else {
            await start();
            await check(true);
          }
        }
        await start();
        await check(true);
      }),
      { numRuns: 60 },
    );
  });

  test("arrive after a start that was cut off at any point, even when there is a newer version by then", async () => {
    for (const after of [false, true]) {
      for (const at of [1, 2, 3]) {
        const { root, start, offer, read } = await place();
        await offer(A, "one");
        await start();
        await offer(A, "two");
        await expect(start(dying(root, at, after))).rejects.toBeInstanceOf(Killed);
        await offer(A, "three");
        await start();
        expect(await read(A)).toBe("three");
      }
    }
  });

  test("that were deleted come back with a newer version alone", async () => {
    const { root, start, offer, read } = await place();
    await offer(A, "one");
    await start();
    await rm(join(root, A));
    await start();
    expect(await read(A)).toBeNull();
    await offer(A, "two");
    await start();
    expect(await read(A)).toBe("two");
  });

  test("that both have changed are told, at each start until somebody has looked", async () => {
    const { warnings, start, offer, write, read } = await place();
    await offer(A, "one");
    await start();
    await write(A, "mine");
    await start();
    expect(warnings).toEqual([]);
    await offer(A, "two");
    await start();
    await start();
    expect(warnings).toEqual([{ path: A }, { path: A }]);
    expect(await read(A)).toBe("mine");
    await write(A, "two");
    await start();
    expect(warnings).toHaveLength(2);
  });

  test("never leave the volume: links are not followed, in files nor in folders", async () => {
    const { root, warnings, start, offer } = await place();
    const outside = await temporaryDirectory();
    await writeFile(join(outside, "file"), "outside");
    await mkdir(join(root, "workspace"), { recursive: true });
    await symlink(join(outside, "file"), join(root, "workspace", "link.md"));
    await symlink(outside, join(root, "workspace", "folder"));
    await symlink(join(outside, "made"), join(root, ".workspace-seed.tmp"));
    for (const path of ["workspace/link.md", "workspace/folder/file", "workspace/folder/new", "workspace/ok.md"])
      await offer(path, "seed");
    await start();
    expect(await readFile(join(outside, "file"), "utf8")).toBe("outside");
    expect(await readdir(outside)).toEqual(["file"]);
    expect(await readFile(join(root, "workspace", "ok.md"), "utf8")).toBe("seed");
    expect(warnings).toHaveLength(3);
  });

  describe.each(["workspace/AGENTS.md", "workspace/memory/notes.md", ".workspace-seed.json"])("%s", (name) => {
    test.each(Object.keys(PLANTS))("in whose place %s stands changes nothing outside", async (kind) => {
      const { base, workspace, outside } = await plantedPlace();
      const { start, offer, warnings, root, seed } = await place();
      await mkdir(dirname(join(root, name)), { recursive: true });
      await offer(A, "the operator's");
      await offer("workspace/memory/notes.md", "the operator's");
      await PLANTS[kind]?.(join(root, name), { base, workspace, outside });
      await start();
      expect(await readFile(join(outside, "secret.md"), "utf8")).toBe(PLANTED_SECRET);
      expect(await readFile(join(base, ".env"), "utf8")).toContain(PLANTED_SECRET);
      expect((await readdir(base)).sort()).toEqual([".env", "outside", "workspace"]);
      expect((await readdir(seed)).sort()).toEqual(["workspace"]);
      expect(JSON.stringify(warnings)).not.toContain(PLANTED_SECRET);
    });
  });

  test("are not written through a folder that is swapped for a link meanwhile", async () => {
    const { outside } = await plantedPlace();
    const { start, offer, root } = await place();
    await mkdir(join(root, "workspace"), { recursive: true });
    const folder = join(root, "workspace", "sub");
    let racing = true;
    const ignore = () => undefined;
    const race = (async () => {
      while (racing) {
        await rm(folder, { recursive: true, force: true }).catch(ignore);
        await symlink(outside, folder).catch(ignore);
        await rm(folder, { force: true }).catch(ignore);
        await mkdir(folder).catch(ignore);
      }
    })();
    try {
      for (let version = 0; version < 60; version += 1) {
        await offer("workspace/sub/new.md", `version ${version}`);
        await start();
      }
    } finally {
      racing = false;
      await race;
    }
    expect(await readdir(outside)).toEqual(["secret.md"]);
  });

  test("are found where a cluster mounts them as links into a hidden folder", async () => {
    const { seed, start, read } = await place();
    await mkdir(join(seed, "..2026", "workspace"), { recursive: true });
    await writeFile(join(seed, "..2026", "workspace", "A.md"), "mounted");
    await symlink("..2026", join(seed, "..data"));
    await symlink("..data/workspace", join(seed, "workspace"));
    await start();
    expect(await read("workspace/A.md")).toBe("mounted");
  });

  test("that cannot be written hold nothing else up", async () => {
    const { root, warnings, start, offer, write, read } = await place();
    await offer("workspace/blocked/inner.md", "x");
    await offer("workspace/fine.md", "y");
    await write("workspace/blocked", "a file where a folder is wanted");
    await start();
    expect(await read("workspace/fine.md")).toBe("y");
    expect(warnings).toHaveLength(1);
    await chmod(root, 0o755);
  });

  test("are compared anew when the record is broken, and no agent's work is taken for the operator's", async () => {
    const { root, start, offer, write, read } = await place();
    await offer(A, "one");
    await start();
    await write(A, "mine");
    await writeFile(join(root, ".workspace-seed.json"), '{"schema":1,"files":{');
    await offer(A, "two");
    await start();
    expect(await read(A)).toBe("mine");
  });
});
