/** Reads a located file whole, within a size limit, as text or as it is: what reading, editing and sending have in common. */

import type { Stats } from "node:fs";
import { distance } from "fastest-levenshtein";
import { ToolError } from "../../../contracts/errors.ts";
import { codeOf } from "../../../contracts/system-errors.ts";
import { listEntries, type OpenDirectory, openDirectory } from "../../../files/directory.ts";
import { type FileContent, readFileIn } from "../../../files/read-file.ts";
import { FileRefused } from "../../../files/refusal.ts";
import { fileError } from "./file-errors.ts";
import type { Located, WorkspaceGate } from "./locate.ts";
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
    if (codeOf(error) === "ENOENT") throw await missingFile(located, error);
    throw fileError(located.display, error);
  }
}

/** TOOL_INVALID_ARGUMENTS for a directory, with what it holds; TOOL_REFUSED for a file of the service. FileRefused for what else is none. */
export async function readWhole(
  gate: WorkspaceGate,
  directory: OpenDirectory,
  name: string,
  located: Located,
  limits: { readonly maxBytes: number; readonly signal?: AbortSignal | undefined },
): Promise<FileContent> {
  // Package managers link what they install: a second name alone is no reason to refuse.
  const content = await readFileIn(directory, name, { ...limits, hardLinks: "allow" }).catch(async (error: unknown) => {
    const isDirectory = error instanceof FileRefused && error.reason === "directory";
    throw isDirectory ? await directoryRefusal(located, located.components) : error;
  });
  await gate.assertNotProtected(located, content.stats);
  return content;
}

/** TOOL_INVALID_ARGUMENTS for a directory, binary content or a file above `maxBytes`; TOOL_REFUSED for a special file. */
export async function readText(
  gate: WorkspaceGate,
  directory: OpenDirectory,
  name: string,
  located: Located,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<TextFile> {
  const { bytes, stats } = await readWhole(gate, directory, name, located, { maxBytes, signal });
  const decoded = decodeText(bytes);
  if (!decoded) {
    throw new ToolError(
      "TOOL_INVALID_ARGUMENTS",
      `${located.display}: it is a binary file (${bytes.byteLength} bytes), not text.`,
    );
  }
  return { ...decoded, stats };
}

async function directoryRefusal(located: Located, components: readonly string[]): Promise<ToolError> {
  const entries = await namesIn(located.root, components);
  const shown = entries.slice(0, LISTED_ENTRIES).join(", ");
  const rest = entries.length > LISTED_ENTRIES ? `, and ${entries.length - LISTED_ENTRIES} more` : "";
  const holds = entries.length === 0 ? "It is empty." : `It holds: ${shown}${rest}.`;
  return new ToolError("TOOL_INVALID_ARGUMENTS", `${located.display}: it is a directory, not a file. ${holds}`);
}

/** "No such file", with the name in the same directory that comes closest, if one does. */
async function missingFile(located: Located, cause: unknown): Promise<ToolError> {
  const name = located.components.at(-1) ?? "";
  const parent = located.components.slice(0, -1);
  const near = (await namesIn(located.root, parent))
    .map((entry) => ({ entry, edits: distance(name.toLowerCase(), entry.toLowerCase()) }))
    .filter(({ edits }) => edits <= Math.max(2, Math.floor(name.length / 3)))
    .sort((a, b) => a.edits - b.edits)[0];
  const hint = near ? ` Did you mean ${[...parent, near.entry].join("/")}?` : "";
  return new ToolError("TOOL_INVALID_ARGUMENTS", `${located.display}: no such file.${hint}`, { cause });
}

/** Names, directories with a slash at the end; empty when the directory cannot be listed. */
async function namesIn(root: string, components: readonly string[]): Promise<string[]> {
  try {
    await using directory = await openDirectory(root, components);
    const entries = await listEntries(directory);
    return entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
  } catch {
    return [];
  }
}
