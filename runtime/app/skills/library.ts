/**
 * The skills that there are by now, of `skill_dirs` and of a workspace. The disk is asked at each turn, since people and agents
 * change skills while a node runs; a file is read again only when it has changed.
 */

import type { Stats } from "node:fs";
import type { Logger } from "../../contracts/ports.ts";
import type { SkippedSkill } from "../../contracts/skill.ts";
import { catalogueOf, type FoundSkill, type SkillCatalogue, skillOf } from "../../domain/skills/catalogue.ts";
import { isUnchanged } from "../../files/read-file.ts";
import {
  listFolders,
  pathOfSkill,
  readSkill,
  type SkillDirectory,
  skillDirectories,
  statSkill,
} from "../../files/skill-folders.ts";

export interface SkillLibrary {
  /** Of a workspace, or with null of `skill_dirs` only. Never rejects; what cannot be read is among `skipped`. */
  catalogue(workspace: string | null): Promise<SkillCatalogue>;
  /** What agents do not get, each folder once. */
  report(): Promise<SkillReport>;
}

export interface SkillReport {
  readonly usable: number;
  readonly skipped: readonly SkippedSkill[];
}

export interface SkillLibraryDeps {
  readonly skillDirs: readonly string[];
  /** Of the agents that get skills, for the report. */
  readonly workspaces: readonly string[];
  readonly logger: Pick<Logger, "warn">;
}

interface CachedSkill {
  readonly stats: Stats;
  readonly found: FoundSkill;
}

export function createSkillLibrary({ skillDirs, workspaces, logger }: SkillLibraryDeps): SkillLibrary {
  const cache = new Map<string, CachedSkill>();
  const logged = new Set<string>();

  async function foundIn(directory: SkillDirectory): Promise<readonly FoundSkill[]> {
    const { folders, skipped } = await listFolders(directory);
    const found = await Promise.all(folders.map((folder) => read(directory, folder)));
    const paths = new Set(folders.map((folder) => pathOfSkill(directory, folder)));
    const parent = `${pathOfSkill(directory, "")}/`;
    for (const path of cache.keys()) if (path.startsWith(parent) && !paths.has(path)) cache.delete(path);
    return [...found.filter((one) => one !== null), ...skipped.map((one) => ({ skill: null, skipped: one }))];
  }

  /** Null where the folder is none of a skill. */
  async function read(directory: SkillDirectory, folder: string): Promise<FoundSkill | null> {
    const path = pathOfSkill(directory, folder);
    const cached = cache.get(path);
    const now = cached && (await statSkill(directory, folder).catch(() => null));
    if (cached && now && isUnchanged(cached.stats, now)) return cached.found;
    const content = await readSkill(directory, folder);
    const found = content && skillOf(content.folder);
    if (found && content?.stats) cache.set(path, { stats: content.stats, found });
    else cache.delete(path);
    return found;
  }

  function warnOnce({ path, problem }: SkippedSkill): void {
    const key = `${path}: ${problem}`;
    if (logged.has(key)) return;
    logged.add(key);
    logger.warn({ path, problem }, "a skill is skipped");
  }

  async function catalogue(workspace: string | null): Promise<SkillCatalogue> {
    const directories = await skillDirectories(skillDirs, workspace);
    const found = await Promise.all(directories.map(foundIn));
    const chosen = catalogueOf(found.flat());
    for (const skipped of chosen.skipped) warnOnce(skipped);
    return chosen;
  }

  return {
    catalogue,
    async report() {
      const of = await Promise.all([...new Set(workspaces)].map(catalogue));
      const skipped = new Map(
        of.flatMap((one) => one.skipped.map((entry) => [`${entry.path}: ${entry.problem}`, entry])),
      );
      const usable = new Set(of.flatMap(({ skills }) => skills.map(({ path }) => path)));
      return { usable: usable.size, skipped: [...skipped.values()] };
    },
  };
}
