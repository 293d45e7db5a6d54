import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { listSkills } from "../../../control/skills/skills.ts";
import { inspectText, temporaryDirectory } from "../../support/deployment.ts";

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
