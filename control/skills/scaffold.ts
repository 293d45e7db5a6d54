/** `skill init`: a new skill from the template, which passes `skill validate`. */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RuntimeError } from "../../runtime/contracts/errors.ts";
import { SKILL_FILE } from "../../runtime/contracts/skill.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import { templateDirectory } from "../wizard/templates.ts";

export interface ScaffoldedSkill {
  readonly name: string;
  /** Absolute path of its folder. */
  readonly path: string;
  /** Relative to it. */
  readonly files: readonly string[];
}

const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const FILES = [SKILL_FILE, "references/details.md"];

/** `directory` is made where it is missing. RUNTIME_INVALID_REQUEST for a name that no skill may have; RUNTIME_CONFLICT where something is there. */
export async function scaffoldSkill(directory: string, name: string): Promise<ScaffoldedSkill> {
  if (!NAME.test(name) || name.length > 64) {
    throw new RuntimeError("RUNTIME_INVALID_REQUEST", `${name} is no name of a skill.`, {
      hint: "A name has 1 to 64 lowercase letters, digits and single hyphens between them.",
    });
  }
  const path = join(directory, name);
  const template = join(templateDirectory(), "skill");
  const files = await Promise.all(
    FILES.map(async (file) => [file, await readFile(join(template, file), "utf8")] as const),
  );
  await mkdir(directory, { recursive: true });
  await mkdir(path).catch((cause: unknown) => {
    if (codeOf(cause) !== "EEXIST") throw cause;
    throw new RuntimeError("RUNTIME_CONFLICT", `${path} is there already.`, { hint: "Choose another name.", cause });
  });
  await mkdir(join(path, "references"));
  for (const [file, text] of files) await writeFile(join(path, file), text.replaceAll("NAME", name), { flag: "wx" });
  return { name, path, files: FILES };
}
