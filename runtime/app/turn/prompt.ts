/** The stable head of the system prompt: the workspace's files, in the order of the two lists of the specification. */

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";

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

export interface PromptBuilder {
  /** `today` is a date of the runtime's timezone, YYYY-MM-DD. */
  build(agent: string, workspace: string, today: string): Promise<string>;
}

interface CachedFile {
  readonly mtimeMs: number;
  readonly size: number;
  readonly text: string;
}

/** Files are read again only when their time or size has changed. */
export function createPromptBuilder(): PromptBuilder {
  const cache = new Map<string, CachedFile>();

  async function read(path: string): Promise<string | null> {
    const info = await stat(path).catch(() => null);
    if (!info?.isFile()) {
      cache.delete(path);
      return null;
    }
    const cached = cache.get(path);
    if (cached && cached.mtimeMs === info.mtimeMs && cached.size === info.size) return cached.text;
    const text = (await readFile(path, "utf8")).trim();
    cache.set(path, { mtimeMs: info.mtimeMs, size: info.size, text });
    return text;
  }

  return {
    async build(agent, workspace, today) {
      const notes = join("memory", `${today}.md`);
      const names = [...PROMPT_FILES, notes];
      const texts = await Promise.all(names.map((name) => read(join(workspace, name))));
      const sections = names.flatMap((name, index) => {
        const text = texts[index];
        return text ? [section(name, text)] : [];
      });
      const capabilities = await stat(join(workspace, ON_DEMAND_FILE)).catch(() => null);
      const hint = capabilities?.isFile()
        ? [`What else you can do is written in ${ON_DEMAND_FILE}; read it with file_read when you need it.`]
        : [];
      return [
        `You are the agent "${agent}". Your workspace is the directory in which your file tools and your shell work.`,
        ...sections,
        ...hint,
      ].join("\n\n");
    },
  };
}

function section(name: string, text: string): string {
  const cut =
    text.length > MAX_FILE_CHARACTERS
      ? `${text.slice(0, MAX_FILE_CHARACTERS).toWellFormed()}\n[cut: the file is longer]`
      : text;
  return `<file name="${name}">\n${cut}\n</file>`;
}
