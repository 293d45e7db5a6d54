/** Reads a located file whole, within a size limit, as text: what reading and editing have in common. */

import type { Stats } from "node:fs";
import { readdir } from "node:fs/promises";
import { distance } from "fastest-levenshtein";
import { ToolError } from "../../../contracts/errors.ts";
import { type OpenDirectory, openDirectory, openRegularFile } from "./directory.ts";
import { errnoOf, fileError } from "./file-errors.ts";
import type { Located } from "./locate.ts";
import { type DecodedText, decodeText } from "./text-format.ts";

export interface TextFile extends DecodedText {
  readonly stats: Stats;
}

const LISTED_ENTRIES = 40;

/**
 * Opens the file's directory, calls `use` with it and the file's name, and closes it.
 * The workspace itself, and every other directory, is refused with what it holds.
 */
export async function withParent<T>(
  located: Located,
  create: boolean,
  use: (directory: OpenDirectory, name: string) => Promise<T>,
): Promise<T> {
  const name = located.components.at(-1);
  if (name === undefined) throw await directoryRefusal(located, []);
  try {
    await using directory = await openDirectory(located.root, located.components.slice(0, -1), create);
    return await use(directory, name);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") throw await missingFile(located, error);
    throw fileError(located.display, error);
  }
}

/** TOOL_INVALID_ARGUMENTS for a directory, binary content or a file above `maxBytes`; TOOL_REFUSED for a special file. */
export async function readText(
  directory: OpenDirectory,
  name: string,
  located: Located,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<TextFile> {
  const handle = await openRegularFile(directory, name, located.display).catch(async (error: unknown) => {
    const isDirectory = error instanceof ToolError && error.code === "TOOL_INVALID_ARGUMENTS";
    throw isDirectory ? await directoryRefusal(located, located.components) : error;
  });
  try {
    const stats = await handle.stat();
    if (stats.size > maxBytes) {
      throw new ToolError(
        "TOOL_INVALID_ARGUMENTS",
        `${located.display}: the file has ${stats.size} bytes, at most ${maxBytes} can be opened.`,
        {
          hint: "Use the shell (head, tail, sed -n, grep) for a part of it.",
        },
      );
    }
    const bytes = await handle.readFile({ signal });
    const decoded = decodeText(bytes);
    if (!decoded) {
      throw new ToolError(
        "TOOL_INVALID_ARGUMENTS",
        `${located.display}: it is a binary file (${bytes.byteLength} bytes), not text.`,
      );
    }
    return { ...decoded, stats };
  } finally {
    await handle.close();
  }
}

async function directoryRefusal(located: Located, components: readonly string[]): Promise<ToolError> {
  const entries = await listEntries(located.root, components);
  const shown = entries.slice(0, LISTED_ENTRIES).join(", ");
  const rest = entries.length > LISTED_ENTRIES ? `, and ${entries.length - LISTED_ENTRIES} more` : "";
  const holds = entries.length === 0 ? "It is empty." : `It holds: ${shown}${rest}.`;
  return new ToolError("TOOL_INVALID_ARGUMENTS", `${located.display}: it is a directory, not a file. ${holds}`);
}

/** "No such file", with the name in the same directory that comes closest, if one does. */
async function missingFile(located: Located, cause: unknown): Promise<ToolError> {
  const name = located.components.at(-1) ?? "";
  const parent = located.components.slice(0, -1);
  const near = (await listEntries(located.root, parent))
    .map((entry) => ({ entry, edits: distance(name.toLowerCase(), entry.toLowerCase()) }))
    .filter(({ edits }) => edits <= Math.max(2, Math.floor(name.length / 3)))
    .sort((a, b) => a.edits - b.edits)[0];
  const hint = near ? ` Did you mean ${[...parent, near.entry].join("/")}?` : "";
  return new ToolError("TOOL_INVALID_ARGUMENTS", `${located.display}: no such file.${hint}`, { cause });
}

/** Names, directories with a slash at the end; empty when the directory cannot be listed. */
async function listEntries(root: string, components: readonly string[]): Promise<string[]> {
  try {
    await using directory = await openDirectory(root, components);
    const entries = await readdir(directory.at("."), { withFileTypes: true });
    return entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
  } catch {
    return [];
  }
}
