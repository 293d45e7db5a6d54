/** The skills that the configuration gives its agents, and one folder as `skill validate` sees it. Reads, and changes nothing. */

import { basename, dirname, resolve } from "node:path";
import { SKILL_FILE, type Skill, type SkillIssue, type SkippedSkill } from "../contracts/skill.ts";
import { codeOf } from "../contracts/system-errors.ts";
import { catalogueOf, type FoundSkill, issueWords, skillOf } from "../domain/skills/catalogue.ts";
import { checkSkillText } from "../domain/skills/check.ts";
import { selectTools } from "../domain/tool-selection.ts";
import { refusalOf } from "../files/refusal.ts";
import {
  listFolders,
  listSkillFiles,
  pathOfSkill,
  readSkill,
  type SkillDirectory,
  skillDirectories,
  skillDirectory,
} from "../files/skill-folders.ts";
import { agentWorkspace, type Config } from "./config.ts";

export { issueWords };

/** What an agent gets in its owner's turns. */
export interface SkillsOfAgent {
  readonly agent: string;
  /** Whether it has the tool by which skills are read; without it there are none for it. */
  readonly offered: boolean;
  readonly skills: readonly Skill[];
  readonly skipped: readonly SkippedSkill[];
}

/** In the order of the agents. Never rejects. */
export async function configuredSkills(config: Config): Promise<readonly SkillsOfAgent[]> {
  const cache = new Map<string, Promise<readonly FoundSkill[]>>();
  const cached = (directory: SkillDirectory) => {
    const path = pathOfSkill(directory, "");
    const found = cache.get(path) ?? foundIn(directory);
    cache.set(path, found);
    return found;
  };
  return Promise.all(
    Object.keys(config.agents).map(async (agent) => {
      const directories = await skillDirectories(config.skill_dirs, agentWorkspace(config, agent));
      const found = await Promise.all(directories.map(cached));
      return { agent, offered: hasSkills(config, agent), ...catalogueOf(found.flat()) };
    }),
  );
}

/** Whether an agent has the tool by which skills are read. */
export function hasSkills(config: Config, agent: string): boolean {
  const tools = config.tools.skill_list.enabled ? [{ name: "skill_list" }] : [];
  return selectTools(tools, config.agents[agent]?.tools).tools.length > 0;
}

export interface CheckedSkill {
  /** Absolute path of its folder. */
  readonly path: string;
  readonly name: string;
  readonly issues: readonly SkillIssue[];
}

/** `path` is a skill's folder, or its SKILL.md. Never rejects. */
export async function checkSkill(path: string): Promise<CheckedSkill> {
  const absolute = resolve(path);
  const folder = basename(absolute) === SKILL_FILE ? dirname(absolute) : absolute;
  const directory = skillDirectory(dirname(folder));
  const name = basename(folder);
  const failed = (message: string): CheckedSkill => ({
    path: folder,
    name,
    issues: [{ severity: "error", file: SKILL_FILE, key: null, line: null, message }],
  });
  try {
    const { files, isWhole } = await listSkillFiles(directory, name);
    const paths = files.map((file) => file.path);
    const read = await readSkill(directory, name);
    if (read === null || (!paths.includes(SKILL_FILE) && isWhole && read.stats !== null)) return failed("is not there");
    const { text, problem } = read.folder.content;
    if (text === null) return failed(problem.replace(`${SKILL_FILE} `, ""));
    const more: readonly SkillIssue[] = isWhole
      ? []
      : [
          {
            severity: "error",
            file: ".",
            key: null,
            line: null,
            message: "has more files, or lies deeper, than agents are shown",
          },
        ];
    return { path: folder, name, issues: [...checkSkillText(name, text, paths), ...more] };
  } catch (error) {
    return failed(codeOf(error) === "ENOENT" ? "is not there" : `is not read: ${refusalOf(error)}`);
  }
}

async function foundIn(directory: SkillDirectory): Promise<FoundSkill[]> {
  const { folders, skipped } = await listFolders(directory);
  const read = await Promise.all(folders.map((folder) => readSkill(directory, folder)));
  return [
    ...read.flatMap((one) => (one === null ? [] : [skillOf(one.folder)])),
    ...skipped.map((one) => ({ skill: null, skipped: one })),
  ];
}
