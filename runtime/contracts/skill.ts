/** A skill: a folder with a SKILL.md, in the public layout of Agent Skills (https://agentskills.io/specification). */

/** What every skill has: front matter in YAML, then what an agent is to do, as Markdown. */
export const SKILL_FILE = "SKILL.md";

/** Folder of the skills in a workspace. */
export const SKILLS_FOLDER = "skills";

/** Folders of one directory that are read, by their names; files of one skill that are listed, and folders in which they lie. */
export const MAX_SKILL_FOLDERS = 100;
export const MAX_SKILL_FILES = 200;
export const MAX_SKILL_DEPTH = 5;
/** Bytes of SKILL.md, and of another file of a skill. */
export const MAX_SKILL_BYTES = 65_536;
export const MAX_SKILL_FILE_BYTES = 262_144;

export type SkillSource = "skill_dirs" | "workspace";

/** A folder with a SKILL.md, as the file system has it. */
export interface SkillFolder {
  /** Its own name, which the skill has, too. */
  readonly folder: string;
  /** Absolute. */
  readonly path: string;
  readonly source: SkillSource;
  readonly content:
    | { readonly text: string; readonly problem: null }
    /** `problem` is why it cannot be read, as a sentence without its end. */
    | { readonly text: null; readonly problem: string };
}

/** What the front matter says. */
export interface SkillHead {
  /** Lowercase letters, digits and hyphens. */
  readonly name: string;
  readonly description: string;
  /** A message that holds one of these texts has the skill loaded. */
  readonly triggers: readonly string[];
  readonly license: string | null;
  readonly compatibility: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** As written: they give no rights. */
  readonly allowedTools: readonly string[];
}

export interface Skill extends SkillHead {
  readonly path: string;
  readonly source: SkillSource;
  /** Markdown, as it was written. */
  readonly body: string;
}

/** A folder that agents do not get. */
export interface SkippedSkill {
  readonly folder: string;
  readonly path: string;
  readonly source: SkillSource;
  /** Why, as a sentence without its end. */
  readonly problem: string;
}

export interface SkillIssue {
  readonly severity: "error" | "warning";
  /** Of the skill's folder. */
  readonly file: string;
  /** Of the front matter, such as `triggers[1]`; null where it is about the file. */
  readonly key: string | null;
  /** From 1; null where it is about no line. */
  readonly line: number | null;
  /** As the end of a sentence that begins with the key. */
  readonly message: string;
}
