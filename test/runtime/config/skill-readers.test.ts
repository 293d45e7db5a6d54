import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { inspectText, temporaryDirectory } from "../../support/deployment.ts";
import { writeSkill } from "../../support/skills.ts";

const WITHOUT = "main: { tools: { exclude: [skill_list] } }, other: { tools: { include: [shell] } }";

async function warningsOf(agents: string, directory: string, more = ""): Promise<string[]> {
  const yaml = `version: 1\nruntime: { default_agent: main }\nagents: { ${agents} }\nproviders: { offline: {} }\nskill_dirs: [${directory}]\n${more}`;
  const { errors, warnings } = await inspectText(yaml);
  expect(errors).toEqual([]);
  return warnings.filter(({ path }) => path === "skill_dirs").map(({ code, message }) => `${code}: ${message}`);
}

it("warns of skills that no agent can read, those with triggers, too", async () => {
  const directory = await temporaryDirectory();
  await writeSkill(directory, "ship", { triggers: ["ship it"] });
  await writeSkill(directory, "land");
  const warning = [
    expect.stringMatching(/^no-effect: no agent has the tool skill_list: none can read the 2 skills there/),
  ];
  expect(await warningsOf(WITHOUT, directory)).toEqual(warning);
  expect(await warningsOf("main: {}", directory, "tools: { skill_list: { enabled: false } }\n")).toEqual(warning);
});

it("is silent while one agent can, and where there is none to read", async () => {
  const directory = await temporaryDirectory();
  await writeSkill(directory, "ship");
  expect(await warningsOf("main: { tools: { exclude: [skill_list] } }, other: {}", directory)).toEqual([]);
  const empty = join(directory, "empty");
  await mkdir(empty);
  expect(await warningsOf(WITHOUT, empty)).toEqual([]);
});
