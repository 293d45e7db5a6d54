/** The head of the prompt: what is taken from a workspace, and what an agent may have put there is not. */

import { appendFile, link, mkdir, rename, rm, symlink, unlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPromptBuilder } from "../../../../runtime/app/turn/prompt.ts";
import { PLANTED_SECRET, PLANTS, plantedPlace, plantFolder } from "../../../support/planted-files.ts";

const TODAY = "2026-01-02";
const NAMES = [
  ...["CORE.md", "SOUL.md", "IDENTITY.md", "USER.md", "AGENTS.md", "TOOLS.md", "WORKSPACE.md", "MEMORY.md"],
  ...["CAPABILITIES.md", `memory/${TODAY}.md`],
];

function builder() {
  const warnings: { path?: string; reason?: string }[] = [];
  const prompts = createPromptBuilder({ logger: { warn: (fields) => void warnings.push(fields as object) } });
  return { warnings, build: (workspace: string) => prompts.build("main", workspace, TODAY, "owner") };
}

async function write(workspace: string, name: string, text: string): Promise<void> {
  await mkdir(dirname(join(workspace, name)), { recursive: true });
  await writeFile(join(workspace, name), text);
}

describe("the files of a prompt", () => {
  it("are taken in their order, and again when they have changed", async () => {
    const { workspace } = await plantedPlace();
    const { build, warnings } = builder();
    expect(await build(workspace)).not.toContain("<file");
    for (const name of NAMES) await write(workspace, name, `text of ${name}\n`);
    const prompt = await build(workspace);
    const sections = [...prompt.matchAll(/<file name="(.+)">\ntext of (.+)\n<\/file>/g)].map(([, name]) => name);
    expect(sections).toEqual(NAMES.filter((name) => name !== "CAPABILITIES.md"));
    expect(prompt).toMatch(/written in CAPABILITIES.md/);
    expect(prompt).not.toContain("text of CAPABILITIES.md");
    // The same size and times: only the change time tells.
    const at = new Date(1_700_000_000_000);
    await utimes(join(workspace, "CORE.md"), at, at);
    await build(workspace);
    await write(workspace, "CORE.md", "TEXT of CORE.md\n");
    await utimes(join(workspace, "CORE.md"), at, at);
    expect(await build(workspace)).toContain("TEXT of CORE.md");
    await rm(join(workspace, "CORE.md"));
    expect(await build(workspace)).not.toContain("CORE.md");
    expect(warnings).toEqual([]);
  });

  it("are cut at 64,000 characters, whatever these take", async () => {
    const { workspace } = await plantedPlace();
    const { build } = builder();
    await write(workspace, "CORE.md", `${"日".repeat(64_000)}END`);
    const prompt = await build(workspace);
    expect(prompt).toContain(`${"日".repeat(64_000)}\n[cut: the file is longer]`);
    await write(workspace, "CORE.md", `${"😀".repeat(500_000)}`);
    expect(await build(workspace)).toContain(`${"😀".repeat(32_000)}\n[cut: the file is longer]`);
    await write(workspace, "CORE.md", "x".repeat(64_000));
    expect(await build(workspace)).not.toContain("[cut");
  });

  it("may be in a workspace that the operator has linked", async () => {
    const { base, workspace } = await plantedPlace();
    await write(workspace, "CORE.md", "linked by the operator");
    await symlink(workspace, join(base, "named"));
    expect(await builder().build(join(base, "named"))).toContain("linked by the operator");
  });
});

describe("what an agent puts in the place of a prompt's file", () => {
  describe.each(NAMES)("%s", (name) => {
    it.each(Object.keys(PLANTS))("%s is left out, and logged once without its content", async (kind) => {
      const place = await plantedPlace();
      const { build, warnings } = builder();
      await write(place.workspace, "CORE.md", "kept");
      await write(place.workspace, "SOUL.md", "kept");
      const path = join(place.workspace, name);
      await mkdir(dirname(path), { recursive: true });
      await rm(path, { force: true });
      await PLANTS[kind]?.(path, place);
      for (const prompt of [await build(place.workspace), await build(place.workspace)]) {
        expect(prompt).not.toContain(PLANTED_SECRET);
        expect(prompt).not.toContain("PATH=");
        expect(prompt).not.toContain("\0");
        expect(prompt).not.toContain(name === "CAPABILITIES.md" && !kind.startsWith("a sparse") ? name : `"${name}"`);
        expect(prompt).toContain("kept");
      }
      // Of a file that is only pointed to, the size is no matter.
      const expected = name === "CAPABILITIES.md" && kind.startsWith("a sparse") ? [] : [path];
      expect(warnings.map((one) => one.path)).toEqual(expected);
      expect(JSON.stringify(warnings)).not.toContain(PLANTED_SECRET);
    });
  });

  it("a folder of notes that is a link is left out", async () => {
    const place = await plantedPlace();
    const { build, warnings } = builder();
    await plantFolder(join(place.workspace, "memory"), `${TODAY}.md`, place);
    expect(await build(place.workspace)).not.toContain(PLANTED_SECRET);
    expect(warnings).toHaveLength(1);
  });

  it("a file that gets a second name later, or is swapped for a link, is not taken from the cache", async () => {
    const { workspace, outside } = await plantedPlace();
    const { build, warnings } = builder();
    await write(workspace, "CORE.md", "first text");
    expect(await build(workspace)).toContain("first text");
    await link(join(workspace, "CORE.md"), join(workspace, "other name"));
    expect(await build(workspace)).not.toContain("first text");
    await unlink(join(workspace, "other name"));
    expect(await build(workspace)).toContain("first text");
    await rename(join(workspace, "CORE.md"), join(workspace, "away"));
    await symlink(join(outside, "secret.md"), join(workspace, "CORE.md"));
    expect(await build(workspace)).not.toMatch(/first text|planted-secret/);
    expect(warnings).toHaveLength(2);
  });

  it("whatever stands under whatever name, nothing from outside gets in", async () => {
    const step = fc.record({
      name: fc.oneof(
        fc.constantFrom(...NAMES, "memory", "memory/x", "core.md"),
        fc.string({ maxLength: 8 }).map((text) => text.replaceAll(/[\0/.]/g, "_") || "x"),
      ),
      kind: fc.constantFrom(...Object.keys(PLANTS).filter((kind) => kind !== "a socket"), "a file", "a folder link"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        const place = await plantedPlace();
        const { build } = builder();
        for (const { name, kind } of steps) {
          const path = join(place.workspace, name);
          await rm(path, { recursive: true, force: true }).catch(() => undefined);
          await mkdir(dirname(path), { recursive: true }).catch(() => undefined);
          // A name below what is no folder cannot be made.
          await (kind === "a file"
            ? appendFile(path, "an own file")
            : kind === "a folder link"
              ? plantFolder(path, `${TODAY}.md`, place)
              : (PLANTS[kind]?.(path, place) ?? Promise.resolve())
          ).catch(() => undefined);
          expect(await build(place.workspace)).not.toMatch(/planted-secret|PATH=|\0/);
        }
      }),
      { numRuns: 60 },
    );
  });
});
