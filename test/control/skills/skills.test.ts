import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { listSkills } from "../../../control/skills/skills.ts";
import { inspectText, temporaryDirectory } from "../../support/deployment.ts";
import { PLANTED_SECRET, PLANTS, plantedPlace, plantFolder } from "../../support/planted-files.ts";

async function skill(dir: string, name: string, text: string): Promise<void> {
  await mkdir(join(dir, name), { recursive: true });
  await writeFile(join(dir, name, "SKILL.md"), text);
}

it("lists the skills of both places, once each, and what is wrong with the others", async () => {
  const root = await temporaryDirectory();
  const common = join(root, "common");
  const workspace = join(root, "workspace");
  await skill(common, "deploy", "---\nname: deploy\ndescription: Ships it\ntriggers: [ship, release]\n---\n# Deploy\n");
  await skill(common, "headless", "# No front matter\n");
  await skill(common, "nameless", "---\ndescription: x\n---\n");
  await skill(common, "badly", "---\nname: [\n---\n");
  await mkdir(join(common, "no-skill"));
  await skill(join(workspace, "skills"), "notes", "\uFEFF---\r\nname: notes\r\ndescription: Writes notes\r\n---\r\n");
  await symlink(common, join(root, "again"));
  const { loaded } = await inspectText(
    `version: 1\nruntime: { workspace: ${workspace}, default_agent: a }\nagents:\n  a: {}\n  b: {}\nproviders: { offline: {} }\nskill_dirs: [${common}, ${root}/again, ${root}/none]\n`,
  );
  if (loaded === null) throw new Error("the configuration of the test is not valid");
  expect(await listSkills(loaded.config)).toMatchObject([
    { name: "badly", problem: expect.stringContaining("not YAML") },
    { name: "deploy", description: "Ships it", triggers: ["ship", "release"], source: "skill_dirs", problem: null },
    { name: "headless", problem: expect.stringContaining("front matter") },
    { name: "nameless", problem: expect.stringContaining("name") },
    { name: "notes", source: "workspace", agents: ["a", "b"], problem: null },
  ]);
});

async function skillsOf(workspace: string) {
  const { loaded } = await inspectText(
    `version: 1\nruntime: { workspace: ${workspace}, default_agent: a }\nagents:\n  a: {}\nproviders: { offline: {} }\n`,
  );
  if (loaded === null) throw new Error("the configuration of the test is not valid");
  return listSkills(loaded.config);
}

it.each(Object.keys(PLANTS))("shows nothing of %s in the place of a skill in a workspace", async (kind) => {
  const place = await plantedPlace();
  const folder = join(place.workspace, "skills", "planted");
  await mkdir(folder, { recursive: true });
  // What the link leads to would pass for a skill.
  await writeFile(join(place.outside, "secret.md"), `---\nname: ${PLANTED_SECRET}\ndescription: x\n---\n`);
  await PLANTS[kind]?.(join(folder, "SKILL.md"), place);
  const skills = await skillsOf(place.workspace);
  expect(skills).toMatchObject([{ name: "planted", problem: expect.stringContaining("SKILL.md is not read") }]);
  expect(JSON.stringify(skills)).not.toContain(PLANTED_SECRET);
});

it("follows no folder of a workspace that is a link", async () => {
  const place = await plantedPlace();
  await mkdir(join(place.outside, "folder"));
  await skill(join(place.outside, "folder"), "planted", `---\nname: ${PLANTED_SECRET}\ndescription: x\n---\n`);
  await plantFolder(join(place.workspace, "skills"), "x", place);
  expect(await skillsOf(place.workspace)).toEqual([]);
  await rm(join(place.workspace, "skills"));
  await mkdir(join(place.workspace, "skills"));
  await symlink(join(place.outside, "folder", "planted"), join(place.workspace, "skills", "planted"));
  expect(await skillsOf(place.workspace)).toEqual([]);
});
