/**
 * Folders of skills on the disk. Agents may write to some of them, and nothing of one may lead out of it: each directory is opened
 * by its handle, no link is followed, and only regular files with a single name are read, within a bound.
 */

import type { Stats } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { join } from "node:path";
import {
  MAX_SKILL_BYTES,
  MAX_SKILL_DEPTH,
  MAX_SKILL_FILES,
  MAX_SKILL_FOLDERS,
  SKILL_FILE,
  SKILLS_FOLDER,
  type SkillFolder,
  type SkillSource,
  type SkippedSkill,
} from "../contracts/skill.ts";
import { codeOf } from "../contracts/system-errors.ts";
import { assertRegular, listEntries, type OpenDirectory, openBelow, openRoot } from "./directory.ts";
import { assertOneName, type FileContent, readFileIn, textOf } from "./read-file.ts";
import { FileRefused, refusalOf } from "./refusal.ts";

/** Entries of a skill's folder that are looked at. */
const MAX_ENTRIES = 2_000;

/** Problem of an entry of `skill_dirs` that is not there. */
export const NO_DIRECTORY = "the directory is not there";

/** A directory with skills: `components` lie below `root`, which is the operator's. */
export interface SkillDirectory {
  readonly root: string;
  readonly components: readonly string[];
  readonly source: SkillSource;
}

export interface ListedFolders {
  /** Names of the folders, which need not hold a skill. */
  readonly folders: readonly string[];
  readonly skipped: readonly SkippedSkill[];
}

export interface SkillFile {
  /** Relative to the skill's folder. */
  readonly path: string;
  readonly bytes: number;
}

/** A folder with its SKILL.md, and the state of the file that it was read from. */
export interface ReadSkill {
  readonly folder: SkillFolder;
  /** Null where it could not be read. */
  readonly stats: Stats | null;
}

/** Those of `skill_dirs`, then the one of the workspace; each once, whatever links lead to it. */
export async function skillDirectories(
  skillDirs: readonly string[],
  workspace: string | null,
): Promise<readonly SkillDirectory[]> {
  const [roots, own] = await Promise.all([
    Promise.all(skillDirs.map(resolved)),
    workspace === null ? null : resolved(workspace),
  ]);
  const directories = [
    ...roots.map(skillDirectory),
    ...(own === null ? [] : [{ root: own, components: [SKILLS_FOLDER], source: "workspace" as const }]),
  ];
  return [...new Map(directories.toReversed().map((one) => [pathOfSkill(one, ""), one])).values()].toReversed();
}

export function skillDirectory(path: string): SkillDirectory {
  return { root: path, components: [], source: "skill_dirs" };
}

export function pathOfSkill({ root, components }: SkillDirectory, folder: string): string {
  return join(root, ...components, folder);
}

/** Never rejects. A workspace without the folder has no skills. */
export async function listFolders(directory: SkillDirectory): Promise<ListedFolders> {
  const { root, components, source } = directory;
  const path = join(root, ...components);
  const skip = (folder: string, problem: string) => ({ folder, path: join(path, folder), source, problem });
  try {
    await using opened = await openSkills(directory);
    const entries = (await listEntries(opened)).filter(({ name }) => !isHidden(name));
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    const links = entries.filter((entry) => entry.isSymbolicLink());
    const more = folders.length - MAX_SKILL_FOLDERS;
    return {
      folders: folders.slice(0, MAX_SKILL_FOLDERS),
      skipped: [
        ...links
          .slice(0, MAX_SKILL_FOLDERS)
          .map(({ name }) => skip(name, "it is a symbolic link: only folders are read")),
        ...(entries.some(({ name }) => name === SKILL_FILE)
          ? [skip(SKILL_FILE, `a skill is a folder with a ${SKILL_FILE}, and this one stands in no folder of its own`)]
          : []),
        ...(more > 0 ? [skip("", `of more than ${MAX_SKILL_FOLDERS} folders ${more} are not read`)] : []),
      ],
    };
  } catch (error) {
    const isAbsent = codeOf(error) === "ENOENT";
    if (isAbsent && source === "workspace") return { folders: [], skipped: [] };
    const problem = isAbsent ? NO_DIRECTORY : refusalOf(error);
    return { folders: [], skipped: [skip("", problem)] };
  }
}

/** SKILL.md of a folder; null where there is none. Rejects with nothing but an abort. */
export async function readSkill(
  directory: SkillDirectory,
  folder: string,
  signal?: AbortSignal,
): Promise<ReadSkill | null> {
  const base = { folder, path: pathOfSkill(directory, folder), source: directory.source };
  try {
    await using opened = await openSkills(directory);
    await using own = await openBelow(opened, [folder]);
    const content = await readFileIn(own, SKILL_FILE, { maxBytes: MAX_SKILL_BYTES, signal });
    return { folder: { ...base, content: { text: textOf(content), problem: null } }, stats: content.stats };
  } catch (error) {
    if (signal?.aborted) throw error;
    if (codeOf(error) === "ENOENT") return null;
    const problem = `${SKILL_FILE} is not read: ${refusalOf(error)}`;
    return { folder: { ...base, content: { text: null, problem } }, stats: null };
  }
}

/** What the file is by its path, in one call: enough to see that it is still the one that was read. Rejects as `lstat`. */
export async function statSkill(directory: SkillDirectory, folder: string): Promise<Stats> {
  const stats = await lstat(join(pathOfSkill(directory, folder), SKILL_FILE));
  assertRegular(stats);
  assertOneName(stats);
  return stats;
}

/** The files of a skill but hidden ones, sorted; not `isWhole` where there are more than are listed. Rejects where its folder cannot be opened. */
export async function listSkillFiles(
  directory: SkillDirectory,
  folder: string,
): Promise<{ readonly files: readonly SkillFile[]; readonly isWhole: boolean }> {
  await using opened = await openSkills(directory);
  await using own = await openBelow(opened, [folder]);
  const found: Collected = { files: [], isWhole: true, entries: 0 };
  await collect(own, "", 0, found);
  return found;
}

/** A file that `listSkillFiles` has listed. FileRefused, or the file system's own error. */
export async function readSkillFile(
  directory: SkillDirectory,
  folder: string,
  path: string,
  limits: { readonly maxBytes: number; readonly signal?: AbortSignal | undefined },
): Promise<FileContent> {
  const parts = path.split("/");
  if (parts.some((part) => isHidden(part) || part === "")) throw new FileRefused("special", "it is hidden");
  await using opened = await openSkills(directory);
  await using own = await openBelow(opened, [folder, ...parts.slice(0, -1)]);
  return await readFileIn(own, parts.at(-1) ?? "", limits);
}

/** Of tools, histories and secrets, or installed: no part of a skill. */
function isHidden(name: string): boolean {
  return name.startsWith(".") || name === "node_modules";
}

function resolved(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

async function openSkills({ root, components }: SkillDirectory): Promise<OpenDirectory> {
  const start = await openRoot(root);
  if (components.length === 0) return start;
  await using _ = start;
  return await openBelow(start, components);
}

interface Collected {
  readonly files: SkillFile[];
  isWhole: boolean;
  /** Seen so far: empty folders are no files, and cost time all the same. */
  entries: number;
}

async function collect(directory: OpenDirectory, prefix: string, depth: number, found: Collected): Promise<void> {
  for (const entry of await listEntries(directory)) {
    if (isHidden(entry.name)) continue;
    found.entries += 1;
    if (found.files.length >= MAX_SKILL_FILES || depth > MAX_SKILL_DEPTH || found.entries > MAX_ENTRIES) {
      found.isWhole = false;
      return;
    }
    const path = `${prefix}${entry.name}`;
    if (entry.isDirectory()) {
      // What was replaced by a link meanwhile is no part of the skill.
      const inner = await openBelow(directory, [entry.name]).catch(() => null);
      if (inner === null) continue;
      await using _ = inner;
      await collect(inner, `${path}/`, depth + 1, found);
    } else if (entry.isFile()) {
      const stats = await lstat(directory.at(entry.name)).catch(() => null);
      if (stats?.isFile() && stats.nlink === 1) found.files.push({ path, bytes: stats.size });
    }
  }
}
