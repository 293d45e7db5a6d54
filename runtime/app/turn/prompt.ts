/**
 * The stable head of the system prompt: the workspace's files, in the order of the two lists of the specification. Agents can
 * write to the workspace, so a file is taken only where it is a regular one of the workspace itself: whatever it led to would
 * be shown to the model with the service's own rights.
 */

import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../contracts/ports.ts";
import { codeOf } from "../../contracts/system-errors.ts";
import { assertRegular } from "../../files/directory.ts";
import { assertOneName, isUnchanged, readBelow, textOf } from "../../files/read-file.ts";
import { refusalOf } from "../../files/refusal.ts";

/** Every file that exists is taken, in this order; today's notes come last because they change most often. */
export const PROMPT_FILES = [
  "CORE.md",
  "SOUL.md",
  "IDENTITY.md",
  "USER.md",
  "AGENTS.md",
  "TOOLS.md",
  "WORKSPACE.md",
  "MEMORY.md",
] as const;

/** Read by the agent when it needs it, not on every turn. */
const ON_DEMAND_FILE = "CAPABILITIES.md";

/** A file of the prompt is cut here: a runaway notes file must not push the conversation out of the window. */
const MAX_FILE_CHARACTERS = 64_000;
/** Of UTF-8, whatever the characters are, and room for what is trimmed. */
const MAX_FILE_BYTES = 3 * MAX_FILE_CHARACTERS + 8_192;

const NOTES_FOLDER = "memory";

/** What is written there is about the owner: left out of the prompts of other users' turns. */
const PRIVATE_FILES: ReadonlySet<string> = new Set(["USER.md", "MEMORY.md"]);

/** Whose turn the prompt is for. */
export type Audience = "owner" | "others";

export interface PromptBuilder {
  /** `workspace` is the agent's own; `today` a date of the runtime's timezone, YYYY-MM-DD. */
  build(agent: string, workspace: string, today: string, audience: Audience): Promise<string>;
}

interface CachedFile {
  readonly stats: Stats;
  readonly text: string;
}

/**
 * Files are read again only when they have changed. One that is refused (a link, a second name, a pipe, no text) is left out,
 * and logged once for each reason.
 */
export function createPromptBuilder({ logger }: { readonly logger: Pick<Logger, "warn"> }): PromptBuilder {
  const cache = new Map<string, CachedFile>();
  const logged = new Set<string>();

  function leaveOut(path: string, error: unknown): null {
    cache.delete(path);
    if (codeOf(error) === "ENOENT") return null;
    const reason = refusalOf(error);
    const key = `${path}: ${reason}`;
    if (!logged.has(key)) logger.warn({ path, reason }, "a workspace file is left out of the prompt");
    logged.add(key);
    return null;
  }

  /**
   * A name is first looked up by its path, which costs one call: a file that was read before is recognised by its inode and
   * times, wherever the path leads by now. Anything else is opened without following links.
   */
  async function read(workspace: string, components: readonly string[]): Promise<string | null> {
    const path = join(workspace, ...components);
    try {
      const stats = await lookUp(path);
      const cached = cache.get(path);
      if (cached && isUnchanged(cached.stats, stats)) return cached.text;
      const content = await readBelow(workspace, components, { maxBytes: MAX_FILE_BYTES, larger: "cut" });
      const text = cutText(textOf(content).trim(), content.cut);
      cache.set(path, { stats: content.stats, text });
      return text;
    } catch (error) {
      return leaveOut(path, error);
    }
  }

  async function isOffered(path: string): Promise<boolean> {
    try {
      await lookUp(path);
      return true;
    } catch (error) {
      leaveOut(path, error);
      return false;
    }
  }

  return {
    async build(agent, workspace, today, audience) {
      const names = promptFiles(today, audience);
      const [offered, ...texts] = await Promise.all([
        audience === "owner" ? isOffered(join(workspace, ON_DEMAND_FILE)) : false,
        ...names.map((name) => read(workspace, name.split("/"))),
      ]);
      const sections = names.flatMap((name, index) => {
        const text = texts[index];
        return text ? [section(name, text)] : [];
      });
      const hint = offered
        ? [`What else you can do is written in ${ON_DEMAND_FILE}; read it with file_read when you need it.`]
        : [];
      return [introduction(agent, audience), ...sections, ...hint].join("\n\n");
    },
  };
}

async function lookUp(path: string): Promise<Stats> {
  const stats = await lstat(path);
  assertRegular(stats);
  assertOneName(stats);
  return stats;
}

function cutText(text: string, cut: boolean): string {
  if (!cut && text.length <= MAX_FILE_CHARACTERS) return text;
  return `${text.slice(0, MAX_FILE_CHARACTERS).toWellFormed()}\n[cut: the file is longer]`;
}

function promptFiles(today: string, audience: Audience): readonly string[] {
  if (audience === "others") return PROMPT_FILES.filter((name) => !PRIVATE_FILES.has(name));
  return [...PROMPT_FILES, `${NOTES_FOLDER}/${today}.md`];
}

function introduction(agent: string, audience: Audience): string {
  if (audience === "owner")
    return `You are the agent "${agent}". Your workspace is the directory in which your file tools and your shell work.`;
  return (
    `You are the agent "${agent}". You are talking with a user who is not your owner. Where you have file tools or a ` +
    "shell, they work in a workspace of this user, which does not hold the files below."
  );
}

function section(name: string, text: string): string {
  return `<file name="${name}">\n${text}\n</file>`;
}
