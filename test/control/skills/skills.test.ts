import { link, mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { scaffoldSkill } from "../../../control/skills/scaffold.ts";
import { listSkills } from "../../../control/skills/skills.ts";
import { checkSkill } from "../../../runtime/config/skills.ts";
import { inspectText, temporaryDirectory } from "../../support/deployment.ts";
import { PLANTED_SECRET, PLANTS, plantedPlace, plantFolder } from "../../support/planted-files.ts";

async function skill(dir: string, name: string, text: string): Promise<void> {
  await mkdir(join(dir, name), { recursive: true });
  await writeFile(join(dir, name, "SKILL.md"), text);
}

const valid = (name: string, description = "Does it") =>
  `---\nname: ${name}\ndescription: ${description}\n---\nDo it.\n`;

async function listed(yaml: string) {
  const { loaded } = await inspectText(
    `version: 1\nproviders: { offline: {} }\n${yaml.includes("agents:") ? "" : "agents: { main: {} }\n"}${yaml}`,
  );
  if (loaded === null) throw new Error("the configuration of the test is not valid");
  return listSkills(loaded.config);
}

it("lists the skills of both places, once each, who gets them, and what is wrong with the others", async () => {
  const root = await temporaryDirectory();
  const common = join(root, "common");
  const workspace = join(root, "workspace");
  await skill(common, "deploy", "---\nname: deploy\ndescription: Ships it\ntriggers: [ship, release]\n---\n# Deploy\n");
  await skill(common, "headless", "# No front matter\n");
  await skill(common, "nameless", "---\ndescription: x\n---\n");
  await skill(common, "badly", "---\nname: [\n---\n");
  await mkdir(join(common, "no-skill"));
  await skill(join(workspace, "skills"), "notes", "\uFEFF---\r\nname: notes\r\ndescription: Writes notes\r\n---\r\n");
  await skill(join(workspace, "skills"), "deploy", valid("deploy", "Ships it elsewhere"));
  await symlink(common, join(root, "again"));
  const skills = await listed(
    `runtime: { workspace: ${workspace}, default_agent: a }\nagents:\n  a: {}\n  b: {}\n  c: { workspace: ${root}/other }\n  d: { tools: { exclude: [skill_list] } }\nskill_dirs: [${common}, ${root}/again, ${root}/none]\n`,
  );
  expect(skills).toMatchObject([
    { name: join(root, "none"), problem: "the directory is not there" },
    { name: "badly", problem: expect.stringContaining("not YAML") },
    {
      name: "deploy",
      description: "Ships it",
      triggers: ["ship", "release"],
      source: "skill_dirs",
      agents: ["a", "b", "c"],
      problem: null,
    },
    {
      name: "deploy",
      source: "workspace",
      agents: [],
      problem: `another skill has this name and comes first: ${join(common, "deploy")}`,
    },
    { name: "headless", problem: expect.stringContaining("front matter") },
    { name: "nameless", problem: expect.stringContaining("name") },
    { name: "notes", source: "workspace", agents: ["a", "b"], problem: null },
  ]);
});

it("says that a folder with too many skills is not read whole, and that a SKILL.md needs a folder", async () => {
  const root = await temporaryDirectory();
  for (let n = 100; n < 202; n++) await skill(root, `s${n}`, valid(`s${n}`));
  await writeFile(join(root, "SKILL.md"), valid("x"));
  const skills = await listed(`skill_dirs: [${root}]\n`);
  expect(skills.filter(({ problem }) => problem === null)).toHaveLength(100);
  expect(skills.flatMap(({ problem }) => problem ?? [])).toEqual([
    "of more than 100 folders 2 are not read",
    "a skill is a folder with a SKILL.md, and this one stands in no folder of its own",
  ]);
});

const skillsOf = (workspace: string) => listed(`runtime: { workspace: ${workspace} }\n`);

it.each(Object.keys(PLANTS))("shows nothing of %s in the place of a skill in a workspace", async (kind) => {
  const place = await plantedPlace();
  const folder = join(place.workspace, "skills", "planted");
  await mkdir(folder, { recursive: true });
  // What the link leads to would pass for a skill.
  await writeFile(join(place.outside, "secret.md"), `---\nname: planted\ndescription: ${PLANTED_SECRET}\n---\n`);
  await PLANTS[kind]?.(join(folder, "SKILL.md"), place);
  const skills = await skillsOf(place.workspace);
  expect(skills).toMatchObject([{ name: "planted", problem: expect.stringContaining("SKILL.md is not read") }]);
  expect(JSON.stringify(skills)).not.toContain(PLANTED_SECRET);
  expect(JSON.stringify(await checkSkill(folder))).not.toContain(PLANTED_SECRET);
});

it("follows no link to a folder of skills, or to a skill", async () => {
  const place = await plantedPlace();
  await skill(join(place.outside, "folder"), "planted", `---\nname: planted\ndescription: ${PLANTED_SECRET}\n---\n`);
  await plantFolder(join(place.workspace, "skills"), "x", place);
  expect(await skillsOf(place.workspace)).toMatchObject([
    { problem: "a part of its path is a symbolic link or no directory" },
  ]);
  await rm(join(place.workspace, "skills"));
  await mkdir(join(place.workspace, "skills"));
  await symlink(join(place.outside, "folder", "planted"), join(place.workspace, "skills", "planted"));
  const skills = await skillsOf(place.workspace);
  expect(skills).toMatchObject([{ name: "planted", problem: "it is a symbolic link: only folders are read" }]);
  expect(JSON.stringify(skills)).not.toContain(PLANTED_SECRET);
});

describe("a new skill", () => {
  it("is valid, is written once, and never over something", async () => {
    const directory = join(await temporaryDirectory(), "skills");
    const { path, files } = await scaffoldSkill(directory, "release-notes");
    expect(await checkSkill(path)).toEqual({ path, name: "release-notes", issues: [] });
    expect(files).toEqual(["SKILL.md", "references/details.md"]);
    await expect(scaffoldSkill(directory, "release-notes")).rejects.toMatchObject({ code: "RUNTIME_CONFLICT" });
    for (const name of ["../x", "Release", "", "a/b"]) {
      await expect(scaffoldSkill(directory, name)).rejects.toMatchObject({ code: "RUNTIME_INVALID_REQUEST" });
    }
    expect(await readdir(directory)).toEqual(["release-notes"]);
  });
});

describe("a skill that is checked", () => {
  it("is named by its folder or its file, and its references are checked against the disk", async () => {
    const root = await temporaryDirectory();
    await skill(
      root,
      "pdf",
      `${valid("pdf")}\nSee [a](references/a.md) and [b](references/link.md),\nand references/second.md.\n`,
    );
    await mkdir(join(root, "pdf", "references"));
    await writeFile(join(root, "pdf", "references", "a.md"), "a");
    await writeFile(join(root, "elsewhere.md"), "b");
    await symlink(join(root, "elsewhere.md"), join(root, "pdf", "references", "link.md"));
    await link(join(root, "elsewhere.md"), join(root, "pdf", "references", "second.md"));
    const found = await checkSkill(join(root, "pdf", "SKILL.md"));
    expect(found).toMatchObject({
      path: join(root, "pdf"),
      issues: [
        { severity: "error", line: 7, message: "refers to references/link.md, which is not there" },
        { severity: "error", line: 8, message: "refers to references/second.md, which is not there" },
      ],
    });
    expect((await checkSkill(join(root, "nothing"))).issues).toMatchObject([{ message: "is not there" }]);
    expect((await checkSkill(join(root, "elsewhere.md"))).issues).toMatchObject([{ severity: "error" }]);
  });

  it("has a bound in files and in bytes", async () => {
    const root = await temporaryDirectory();
    await skill(root, "big", `${valid("big")}${"x".repeat(70_000)}`);
    expect((await checkSkill(join(root, "big"))).issues).toMatchObject([
      { message: expect.stringMatching(/at most 65536/) },
    ]);
    await skill(root, "deep", valid("deep"));
    await mkdir(join(root, "deep", "a/b/c/d/e/f"), { recursive: true });
    await writeFile(join(root, "deep", "a/b/c/d/e/x"), "x");
    expect((await checkSkill(join(root, "deep"))).issues).toEqual([]);
    await writeFile(join(root, "deep", "a/b/c/d/e/f/x"), "x");
    const more = [{ message: "has more files, or lies deeper, than agents are shown" }];
    expect((await checkSkill(join(root, "deep"))).issues).toMatchObject(more);
    await skill(root, "empty", valid("empty"));
    for (let n = 0; n < 2_000; n++) await mkdir(join(root, "empty", `d${n}`));
    expect((await checkSkill(join(root, "empty"))).issues).toMatchObject(more);
    await skill(root, "many", valid("many"));
    for (let n = 0; n < 205; n++) await writeFile(join(root, "many", `${n}.txt`), "x");
    expect((await checkSkill(join(root, "many"))).issues).toMatchObject(more);
  });
});
