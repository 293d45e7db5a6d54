import { link, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSkillLibrary } from "../../../../runtime/app/skills/library.ts";
import { checkSkill } from "../../../../runtime/config/skills.ts";
import { createWorkspaceGate } from "../../../../runtime/plugins/tools/shared/locate.ts";
import { createSkillManageTool } from "../../../../runtime/plugins/tools/skill-manage/index.ts";
import { writeSkill } from "../../../support/skills.ts";
import { call, createPlace, newId, quietLogger, SECRET } from "./support.ts";

const text = (name: string, body = "Do it.") => `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`;

async function setUp() {
  const place = await createPlace();
  onTestFinished(() => place[Symbol.asyncDispose]());
  const shared = await mkdtemp(join(tmpdir(), "cairn-shared-"));
  onTestFinished(() => rm(shared, { recursive: true, force: true }));
  const library = createSkillLibrary({ skillDirs: [shared], workspaces: [place.workspace], logger: quietLogger });
  const tool = createSkillManageTool({ library, gate: createWorkspaceGate({ protectedPaths: [] }), newId });
  return {
    place,
    shared,
    skills: place.path("skills"),
    library,
    manage: (args: object, changes = {}) => call(tool, place, { ...args }, undefined, changes),
  };
}

it("creates, updates and deletes a skill, which is there for the next turn", async () => {
  const { place, skills, library, manage } = await setUp();
  const files = [{ path: "references/deep/a.md", content: "a" }];
  const created = await manage({
    action: "create",
    name: "ship",
    content: text("ship", "See references/deep/a.md."),
    files,
  });
  expect(created).toEqual({ content: "Created the skill ship." });
  expect(await checkSkill(join(skills, "ship"))).toMatchObject({ issues: [] });
  expect((await library.catalogue(place.workspace)).skills).toMatchObject([{ name: "ship", source: "workspace" }]);
  expect(await manage({ action: "create", name: "ship", content: text("ship") })).toMatchObject({
    content: 'TOOL_INVALID_ARGUMENTS: There is a skill "ship" already.',
  });
  const more = [{ path: "scripts/run.sh", content: "echo" }];
  expect(
    await manage({ action: "update", name: "ship", content: text("ship", "Run scripts/run.sh."), files: more }),
  ).toEqual({
    content: "Updated the skill ship: scripts/run.sh, SKILL.md.",
  });
  expect((await library.catalogue(place.workspace)).skills).toMatchObject([{ body: "Run scripts/run.sh.\n" }]);
  expect(await readdir(join(skills, "ship"))).toEqual(["SKILL.md", "references", "scripts"]);
  await symlink(place.outside, join(skills, "ship", "link"));
  expect(await manage({ action: "delete", name: "ship" })).toEqual({ content: "Deleted the skill ship." });
  expect(await readdir(skills)).toEqual([]);
  expect(await readdir(place.outside)).toEqual(["secret.txt"]);
  expect(await manage({ action: "delete", name: "ship" })).toMatchObject({
    content: 'TOOL_INVALID_ARGUMENTS: The workspace has no skill "ship".',
  });
  expect(await manage({ action: "update", name: "ship", content: text("ship") })).toMatchObject({
    content: 'TOOL_INVALID_ARGUMENTS: The workspace has no skill "ship".',
  });
});

describe("what would be no skill", () => {
  it.each<[string, object, RegExp]>([
    ["without front matter", { content: "Do it." }, /SKILL\.md, line 1: it does not begin with front matter/],
    ["with another name", { content: text("other") }, /line 2: name must be the name of its folder, which is "ship"/],
    [
      "that refers to nothing",
      { content: text("ship", "[a](references/a.md)") },
      /refers to references\/a\.md, which is not there/,
    ],
    [
      "with a file outside",
      { content: text("ship"), files: [{ path: "../x.md", content: "" }] },
      /\.\.\/x\.md: it leads out of/,
    ],
    ["with an absolute file", { content: text("ship"), files: [{ path: "/etc/x", content: "" }] }, /must be relative/],
    [
      "with a deep file",
      { content: text("ship"), files: [{ path: "a/b/c/d/e/f/x", content: "" }] },
      /lies in more than 5 folders/,
    ],
    ["with a hidden file", { content: text("ship"), files: [{ path: ".env", content: "" }] }, /is hidden/],
    [
      "with a file twice",
      {
        content: text("ship"),
        files: [
          { path: "a", content: "" },
          { path: "a", content: "" },
        ],
      },
      /given twice/,
    ],
    ["with SKILL.md twice", { content: text("ship"), files: [{ path: "SKILL.md", content: "" }] }, /is `content`/],
    ["that is too long in bytes", { content: text("ship", "\u20ac".repeat(30_000)) }, /more than 65536 bytes/],
    ["that says nothing", {}, /needs `content`/],
  ])("%s is not written", async (_, args, message) => {
    const { place, manage } = await setUp();
    const { content, isError } = await manage({ action: "create", name: "ship", ...args });
    expect(isError).toBe(true);
    expect(content).toMatch(message);
    expect(await readdir(place.workspace)).toEqual([]);
  });

  it("changes nothing of the one that is there", async () => {
    const { skills, manage } = await setUp();
    const path = await writeSkill(skills, "ship", {
      body: "As it was, with references/a.md",
      files: { "references/a.md": "a" },
    });
    const before = await readFile(join(path, "SKILL.md"), "utf8");
    const files = [{ path: "references/a.md", content: "b" }];
    expect(await manage({ action: "update", name: "ship", content: "no", files })).toMatchObject({ isError: true });
    expect(await manage({ action: "update", name: "ship" })).toMatchObject({ isError: true });
    expect(await readFile(join(path, "SKILL.md"), "utf8")).toBe(before);
    expect(await readFile(join(path, "references", "a.md"), "utf8")).toBe("a");
  });
});

describe("a place that is not the agent's own", () => {
  it("is refused: turns of others, and names of the operator's skills", async () => {
    const { place, shared, manage } = await setUp();
    expect(await manage({ action: "create", name: "ship", content: text("ship") }, { owner: false })).toMatchObject({
      content: "TOOL_REFUSED: Skills are written in turns of the owner only.",
    });
    await writeSkill(shared, "ship");
    for (const action of ["create", "update", "delete"]) {
      expect(await manage({ action, name: "ship", content: text("ship") })).toMatchObject({
        content: 'TOOL_REFUSED: The skill "ship" is the operator\'s, and cannot be changed.',
      });
    }
    expect(await readdir(join(shared, "ship"))).toEqual(["SKILL.md"]);
    expect(await readdir(place.workspace)).toEqual([]);
  });

  it.each(["skills", "skills/ship", "skills/ship/references"])("is not reached by a link at %s", async (at) => {
    const { place, manage } = await setUp();
    await writeSkill(place.outside, "ship");
    await mkdir(place.path(at, ".."), { recursive: true });
    if (at.endsWith("references")) await writeSkill(place.path("skills"), "ship");
    await symlink(at === "skills/ship" ? join(place.outside, "ship") : place.outside, place.path(at));
    const files = [{ path: "references/secret.txt", content: "x" }];
    for (const action of ["update", "create"]) {
      expect(await manage({ action, name: "ship", content: text("ship"), files })).toMatchObject({ isError: true });
    }
    if (at !== "skills/ship/references")
      expect(await manage({ action: "delete", name: "ship" })).toMatchObject({ isError: true });
    expect(await readFile(join(place.outside, "secret.txt"), "utf8")).toBe(SECRET);
    expect(await readdir(join(place.outside, "ship"))).toEqual(["SKILL.md"]);
  });

  it("is not reached by a link inside the workspace either", async () => {
    const { place, manage } = await setUp();
    await writeSkill(place.path("notes"), "ship");
    await symlink(place.path("notes"), place.path("skills"));
    for (const action of ["create", "update", "delete"]) {
      expect(await manage({ action, name: "ship", content: text("ship", "Other.") })).toMatchObject({ isError: true });
    }
    expect(await readFile(place.path("notes", "ship", "SKILL.md"), "utf8")).toContain("Steps of ship.");
  });

  it("keeps its content where a file of the skill is a second name of another one", async () => {
    const { place, skills, manage } = await setUp();
    const path = await writeSkill(skills, "ship");
    await link(join(place.outside, "secret.txt"), join(path, "a.md"));
    await writeFile(join(path, "b.md"), "b");
    await manage({ action: "update", name: "ship", files: [{ path: "a.md", content: "x" }] });
    expect(await readFile(join(place.outside, "secret.txt"), "utf8")).toBe(SECRET);
  });

  it("has a bound in skills", async () => {
    const { skills, manage } = await setUp();
    for (let n = 0; n < 100; n++) await mkdir(join(skills, `s${n}`), { recursive: true });
    expect(await manage({ action: "create", name: "ship", content: text("ship") })).toMatchObject({
      content: "TOOL_REFUSED: The workspace has 100 skills; no more are read.",
    });
  });
});
