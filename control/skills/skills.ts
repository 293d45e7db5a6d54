/** `skills list`: the skills of skill_dirs and of the workspaces, with what their front matter says. */

import { readdir, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { parseDocument } from "yaml";
import { z } from "zod";
import { agentWorkspace, type Config } from "../../runtime/config/index.ts";

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
const HEAD = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---(?:\r?\n|$)/;

/** Sorted by name; a folder that several agents share is listed once. A directory that is not there has no skills. */
export async function listSkills(config: Config): Promise<readonly SkillEntry[]> {
  const places = new Map<string, { source: SkillEntry["source"]; agents: string[] }>();
  for (const dir of config.skill_dirs) places.set(await real(dir), { source: "skill_dirs", agents: [] });
  for (const agent of Object.keys(config.agents)) {
    const dir = await real(join(agentWorkspace(config, agent), "skills"));
    const place = places.get(dir) ?? { source: "workspace" as const, agents: [] };
    if (place.source === "workspace") place.agents.push(agent);
    places.set(dir, place);
  }
  const found = await Promise.all(
    [...places].map(async ([dir, place]) =>
      Promise.all((await foldersOf(dir)).map((path) => readSkill(path, place.source, place.agents))),
    ),
  );
  return found
    .flat()
    .filter((skill) => skill !== null)
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.path < b.path ? -1 : 1));
}

async function foldersOf(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
    .map(({ name }) => join(dir, name));
}

/** Null for a folder that is no skill. */
async function readSkill(
  path: string,
  source: SkillEntry["source"],
  agents: readonly string[],
): Promise<SkillEntry | null> {
  const text = await readFile(join(path, FILE), "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    return error instanceof Error && "code" in error ? new Error(String(error.code)) : new Error("unknown error");
  });
  if (text === null) return null;
  const base = { name: path.split("/").at(-1) ?? path, description: "", triggers: [], path, source, agents };
  if (text instanceof Error) return { ...base, problem: `${FILE} cannot be read (${text.message})` };
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
