/** `skills list`: the skills of skill_dirs and of the workspaces, with what their front matter says. */

import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { parseDocument } from "yaml";
import { z } from "zod";
import { agentWorkspace, type Config } from "../../runtime/config/index.ts";
import { listEntries, type OpenDirectory, openBelow, openRoot } from "../../runtime/files/directory.ts";
import { readTextIn } from "../../runtime/files/read-file.ts";
import { refusalOf } from "../../runtime/files/refusal.ts";

export interface SkillEntry {
  /** As its front matter says, else the folder's name. */
  readonly name: string;
  readonly description: string;
  readonly triggers: readonly string[];
  /** Folder of the skill. */
  readonly path: string;
  /** `skill_dirs`, or the agents whose workspace it stands in. */
  readonly source: "skill_dirs" | "workspace";
  readonly agents: readonly string[];
  /** What is wrong with it; null when nothing is. */
  readonly problem: string | null;
}

const frontMatter = z.looseObject({
  name: z.string().min(1),
  description: z.string().min(1),
  triggers: z.array(z.string()).default([]),
});

const FILE = "SKILL.md";
/** Folder of the skills in a workspace. */
const FOLDER = "skills";
const LARGEST_BYTES = 1024 * 1024;
const HEAD = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---(?:\r?\n|$)/;

/** A directory with skills: `components` lie below `root`, and agents may have made them. */
interface SkillsPlace {
  readonly root: string;
  readonly components: readonly string[];
  readonly source: SkillEntry["source"];
  readonly agents: string[];
}

/** Sorted by name; a folder that several agents share is listed once. A directory that is not there has no skills. */
export async function listSkills(config: Config): Promise<readonly SkillEntry[]> {
  const places = new Map<string, SkillsPlace>();
  for (const dir of config.skill_dirs) {
    const root = await real(dir);
    places.set(root, { root, components: [], source: "skill_dirs", agents: [] });
  }
  for (const agent of Object.keys(config.agents)) {
    const root = await real(agentWorkspace(config, agent));
    const path = join(root, FOLDER);
    const place = places.get(path) ?? { root, components: [FOLDER], source: "workspace" as const, agents: [] };
    if (place.source === "workspace") place.agents.push(agent);
    places.set(path, place);
  }
  const found = await Promise.all([...places.values()].map(skillsIn));
  return found
    .flat()
    .filter((skill) => skill !== null)
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.path < b.path ? -1 : 1));
}

/** Agents can write to a workspace: folders are opened one by one, and no link is followed. */
async function skillsIn(place: SkillsPlace): Promise<(SkillEntry | null)[]> {
  try {
    await using root = await openRoot(place.root);
    if (place.components.length === 0) return await foldersIn(root, place);
    await using folder = await openBelow(root, place.components);
    return await foldersIn(folder, place);
  } catch {
    return [];
  }
}

async function foldersIn(directory: OpenDirectory, place: SkillsPlace): Promise<(SkillEntry | null)[]> {
  const entries = await listEntries(directory);
  const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith("."));
  return Promise.all(folders.map(({ name }) => readSkill(directory, name, place)));
}

async function textOfSkill(directory: OpenDirectory, name: string): Promise<string | null | Error> {
  try {
    await using folder = await openBelow(directory, [name]);
    return await readTextIn(folder, FILE, { maxBytes: LARGEST_BYTES });
  } catch (error) {
    return new Error(refusalOf(error));
  }
}

/** Null for a folder that is no skill. */
async function readSkill(
  directory: OpenDirectory,
  folder: string,
  { root, components, source, agents }: SkillsPlace,
): Promise<SkillEntry | null> {
  const path = join(root, ...components, folder);
  const text = await textOfSkill(directory, folder);
  if (text === null) return null;
  const base = { name: folder, description: "", triggers: [], path, source, agents };
  if (text instanceof Error) return { ...base, problem: `${FILE} is not read: ${text.message}` };
  const [, head] = HEAD.exec(text) ?? [];
  if (head === undefined)
    return { ...base, problem: `${FILE} does not begin with front matter between two lines of ---` };
  const document = parseDocument(head);
  const [broken] = document.errors;
  if (broken) return { ...base, problem: `its front matter is not YAML: ${broken.message.split("\n", 1)[0]}` };
  const parsed = frontMatter.safeParse(document.toJS());
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { ...base, problem: `its front matter: ${issue?.path.join(".") || "it"}: ${issue?.message ?? "not valid"}` };
  }
  const { name, description, triggers } = parsed.data;
  return { ...base, name, description, triggers, problem: null };
}

function real(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}
