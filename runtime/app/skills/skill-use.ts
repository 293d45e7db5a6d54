/** The use of a skill in a turn: its text or one of its files, past the hooks that may refuse it. */

import { CairnError, ToolError } from "../../contracts/errors.ts";
import type { TurnInfo } from "../../contracts/hooks.ts";
import type { Logger } from "../../contracts/ports.ts";
import { MAX_SKILL_FILE_BYTES, SKILL_FILE, type Skill } from "../../contracts/skill.ts";
import { boundedList, fileText, skillBlock, skillsPrompt } from "../../domain/skills/skill-text.ts";
import { triggeredBy } from "../../domain/skills/triggers.ts";
import { textOf } from "../../files/read-file.ts";
import { refusalOf } from "../../files/refusal.ts";
import { listSkillFiles, readSkillFile, type SkillDirectory, type SkillFile } from "../../files/skill-folders.ts";
import type { HookPipeline } from "../hooks.ts";
import type { SkillLibrary } from "./library.ts";

/** Whose turn: of others than the owner's the skills of the workspace are no part. */
type Reader = Pick<TurnInfo, "workspace" | "owner">;

export interface SkillUse {
  /** A line for each skill of the turn. */
  list(turn: Reader): Promise<string>;
  /** The skill's text and the names of its files. TOOL_INVALID_ARGUMENTS where there is none; TOOL_REFUSED by a hook. */
  load(name: string, turn: TurnInfo, signal?: AbortSignal): Promise<string>;
  /** The text of one of its files. The same errors. */
  read(name: string, file: string, turn: TurnInfo, signal?: AbortSignal): Promise<string>;
  /** For the prompt of a turn: the list for its stable head, and the skills that the message calls for. */
  prompt(message: string, turn: TurnInfo, signal: AbortSignal): Promise<SkillPrompt>;
}

export interface SkillPrompt {
  readonly list: string;
  /** Empty where no trigger is in the message. */
  readonly triggered: string;
}

export interface SkillUseDeps {
  readonly library: SkillLibrary;
  readonly hooks: () => HookPipeline;
  readonly logger: Logger;
}

/** Skills that one message has loaded, and the characters of all of them; further ones are named. */
const MAX_TRIGGERED = 3;
const MAX_TRIGGERED_TEXT = 60_000;
const NAMED = 50;

export function createSkillUse({ library, hooks, logger }: SkillUseDeps): SkillUse {
  const skillsOf = async ({ workspace, owner }: Reader) => (await library.catalogue(owner ? workspace : null)).skills;

  async function find(name: string, turn: Reader): Promise<Skill> {
    const skills = await skillsOf(turn);
    const skill = skills.find((one) => one.name === name);
    if (skill) return skill;
    const names = skills.slice(0, NAMED).map((one) => one.name);
    throw new ToolError("TOOL_INVALID_ARGUMENTS", `There is no skill "${name}".`, {
      hint: names.length === 0 ? "There are none." : `Skills: ${names.join(", ")}.`,
    });
  }

  /** `work` between the hooks of the skill. */
  async function used(name: string, turn: TurnInfo, signal: AbortSignal | undefined, work: () => Promise<string>) {
    const { turnId, agent, sessionKey, conversationId, channel, user, owner, workspace } = turn;
    const context = { turnId, agent, sessionKey, conversationId, channel, user, owner, workspace, skill: name };
    try {
      await hooks().run("skill:before", context, signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof CairnError)) logger.error({ err: error, skill: name }, "a hook of skills failed");
      const reason = error instanceof CairnError ? error.message : "a hook failed, and the log has the details.";
      throw new ToolError("TOOL_REFUSED", `The skill "${name}" may not be used: ${reason}`, { cause: error });
    }
    const text = await work();
    await hooks().run("skill:after", context, signal);
    return text;
  }

  async function load(skill: Skill, turn: TurnInfo, signal?: AbortSignal): Promise<string> {
    return used(skill.name, turn, signal, async () => {
      const { files, isWhole } = await listSkillFiles(directoryOf(skill), skill.name).catch(() => NO_FILES);
      const others = files
        .filter(({ path }) => path !== SKILL_FILE)
        .map(({ path, bytes }) => `${path} (${bytes} bytes)`);
      const words = `Files of the skill ${skill.name}, which skill_list reads by \`file\`: ${others.join(", ")}${isWhole ? "" : ", and more"}.`;
      return [skillBlock(skill), ...(others.length === 0 ? [] : [words])].join("\n");
    });
  }

  return {
    async list(turn) {
      const skills = await skillsOf(turn);
      return skills.length === 0 ? "There are no skills." : boundedList(skills);
    },
    async load(name, turn, signal) {
      return load(await find(name, turn), turn, signal);
    },
    async read(name, file, turn, signal) {
      const skill = await find(name, turn);
      return used(name, turn, signal, async () => {
        const directory = directoryOf(skill);
        const { files } = await listSkillFiles(directory, name).catch(() => NO_FILES);
        // By the very names that the folder has: no other spelling leads anywhere.
        const path = file.replace(/^(?:\.\/)+/, "");
        if (!files.some((one) => one.path === path)) throw noFile(name, file, files);
        try {
          const content = await readSkillFile(directory, name, path, { maxBytes: MAX_SKILL_FILE_BYTES, signal });
          return fileText(textOf(content));
        } catch (error) {
          signal?.throwIfAborted();
          throw new ToolError("TOOL_INVALID_ARGUMENTS", `${file}: ${refusalOf(error)}.`, { cause: error });
        }
      });
    },
    async prompt(message, turn, signal) {
      const skills = await skillsOf(turn);
      const parts: string[] = [];
      const named: string[] = [];
      let length = 0;
      for (const [index, skill] of triggeredBy(message, skills).entries()) {
        length += skill.body.length;
        if (index >= MAX_TRIGGERED || (index > 0 && length > MAX_TRIGGERED_TEXT)) {
          named.push(skill.name);
          continue;
        }
        try {
          parts.push(await load(skill, turn, signal));
        } catch (error) {
          if (!(error instanceof ToolError)) throw error;
          parts.push(error.message);
        }
      }
      if (named.length > 0) parts.push(`The message calls for these skills, too: ${named.slice(0, NAMED).join(", ")}.`);
      const head = "The message of this turn calls for what follows by its words:";
      return { list: skillsPrompt(skills), triggered: parts.length === 0 ? "" : [head, ...parts].join("\n") };
    },
  };
}

const NO_FILES: { readonly files: readonly SkillFile[]; readonly isWhole: boolean } = { files: [], isWhole: true };

/** As it was found, so that a folder that became a link meanwhile is not followed. */
function directoryOf({ path, name, source }: Skill): SkillDirectory {
  const parent = path.slice(0, -name.length - 1);
  if (source === "skill_dirs") return { root: parent, components: [], source };
  return {
    root: parent.slice(0, parent.lastIndexOf("/")),
    components: [parent.slice(parent.lastIndexOf("/") + 1)],
    source,
  };
}

function noFile(skill: string, file: string, files: readonly SkillFile[]): ToolError {
  const names = files.slice(0, NAMED).map(({ path }) => path);
  return new ToolError("TOOL_INVALID_ARGUMENTS", `The skill "${skill}" has no file "${file}".`, {
    hint: names.length === 0 ? "It has none." : `Files: ${names.join(", ")}.`,
  });
}
