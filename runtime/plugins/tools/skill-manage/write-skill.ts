/** A skill of a workspace on the disk: checked as `skill validate` does, before anything is written. */

import { ToolError } from "../../../contracts/errors.ts";
import type { NewId } from "../../../contracts/ports.ts";
import {
  MAX_SKILL_BYTES,
  MAX_SKILL_FOLDERS,
  SKILL_FILE,
  SKILLS_FOLDER,
  type SkillIssue,
} from "../../../contracts/skill.ts";
import { issueWords } from "../../../domain/skills/catalogue.ts";
import { checkNewSkill } from "../../../domain/skills/check.ts";
import { temporaryName, writeAtomically } from "../../../files/atomic-write.ts";
import { openBelow, openDirectory } from "../../../files/directory.ts";
import { createFolder, type NewFile, removeFolder } from "../../../files/folder-write.ts";
import { textOf } from "../../../files/read-file.ts";
import { listFolders, listSkillFiles, readSkillFile, type SkillDirectory } from "../../../files/skill-folders.ts";
import { fileError } from "../shared/file-errors.ts";

export interface SkillTarget {
  /** The workspace, resolved. */
  readonly root: string;
  readonly name: string;
  readonly newId: NewId;
  readonly signal: AbortSignal | undefined;
}

export async function createSkill(target: SkillTarget, content: string, files: readonly NewFile[]): Promise<string> {
  const { root, name, newId, signal } = target;
  const warnings = assertValid(name, content, [SKILL_FILE, ...files.map(({ path }) => path)]);
  return onDisk(target, async () => {
    const { folders } = await listFolders(directoryOf(root));
    if (!folders.includes(name) && folders.length >= MAX_SKILL_FOLDERS) {
      throw new ToolError("TOOL_REFUSED", `The workspace has ${folders.length} skills; no more are read.`);
    }
    await using skills = await openDirectory(root, [SKILLS_FOLDER], true);
    const all = [{ path: SKILL_FILE, data: Buffer.from(content, "utf8") }, ...files];
    if (!(await createFolder(skills, name, all, { temporary: temporaryName(newId()), signal }))) {
      throw new ToolError("TOOL_INVALID_ARGUMENTS", `There is a skill "${name}" already.`, {
        hint: "Use the action update.",
      });
    }
    return `Created the skill ${name}.${warnings}`;
  });
}

/** Each file is replaced whole; SKILL.md last, so that it never refers to one that is not there yet. */
export async function updateSkill(
  target: SkillTarget,
  content: string | null,
  files: readonly NewFile[],
): Promise<string> {
  const { root, name, newId, signal } = target;
  if (content === null && files.length === 0) {
    throw new ToolError("TOOL_INVALID_ARGUMENTS", "There is nothing to update: neither `content` nor `files`.");
  }
  return onDisk(target, async () => {
    const directory = directoryOf(root);
    const present = await listSkillFiles(directory, name);
    const paths = [...present.files.map(({ path }) => path), SKILL_FILE, ...files.map(({ path }) => path)];
    const text =
      content ?? textOf(await readSkillFile(directory, name, SKILL_FILE, { maxBytes: MAX_SKILL_BYTES, signal }));
    const warnings = assertValid(name, text, [...new Set(paths)]);
    const written = [...files, ...(content === null ? [] : [{ path: SKILL_FILE, data: Buffer.from(content, "utf8") }])];
    await using folder = await openDirectory(root, [SKILLS_FOLDER, name]);
    for (const { path, data } of written) {
      const parts = path.split("/");
      const file = parts.at(-1) ?? "";
      const options = { temporary: temporaryName(newId()), ...(signal ? { signal } : {}) };
      if (parts.length === 1) {
        await writeAtomically(folder, file, data, options);
        continue;
      }
      await using inner = await openBelow(folder, parts.slice(0, -1), true);
      await writeAtomically(inner, file, data, options);
    }
    return `Updated the skill ${name}: ${written.map(({ path }) => path).join(", ")}.${warnings}`;
  });
}

export async function deleteSkill(target: SkillTarget): Promise<string> {
  const { root, name, newId } = target;
  return onDisk(target, async () => {
    await using skills = await openDirectory(root, [SKILLS_FOLDER]);
    if (!(await removeFolder(skills, name, temporaryName(newId())))) throw noSkill(name);
    return `Deleted the skill ${name}.`;
  });
}

/** The warnings, as sentences. TOOL_INVALID_ARGUMENTS for a skill that agents could not use. */
function assertValid(name: string, text: string, files: readonly string[]): string {
  const issues = checkNewSkill(name, text, files);
  const of = (wanted: SkillIssue["severity"]) => issues.filter(({ severity }) => severity === wanted).map(issueWords);
  const errors = of("error");
  if (errors.length > 0) {
    throw new ToolError("TOOL_INVALID_ARGUMENTS", `Nothing was written: ${errors.slice(0, MAX_ERRORS).join("; ")}.`);
  }
  return of("warning")
    .map((words) => ` ${words}.`)
    .join("");
}

const MAX_ERRORS = 10;

async function onDisk(target: SkillTarget, work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (error) {
    target.signal?.throwIfAborted();
    if (isAbsent(error)) throw noSkill(target.name);
    throw fileError(`${SKILLS_FOLDER}/${target.name}`, error);
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function noSkill(name: string): ToolError {
  return new ToolError("TOOL_INVALID_ARGUMENTS", `The workspace has no skill "${name}".`);
}

function directoryOf(root: string): SkillDirectory {
  return { root, components: [SKILLS_FOLDER], source: "workspace" };
}
