/** Folders with skills. */

import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface WrittenSkill {
  readonly description?: string;
  readonly triggers?: readonly string[];
  readonly body?: string;
  /** By their paths in the skill's folder. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A valid skill below `directory`; what was there is written over. */
export async function writeSkill(directory: string, name: string, skill: WrittenSkill = {}): Promise<string> {
  const { description = `How to do ${name}.`, triggers = [], body = `Steps of ${name}.`, files = {} } = skill;
  const head = `name: ${name}\ndescription: ${description}\ntriggers: ${JSON.stringify(triggers)}`;
  const path = join(directory, name);
  for (const [file, text] of Object.entries({ "SKILL.md": `---\n${head}\n---\n${body}\n`, ...files })) {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), text);
  }
  return path;
}
