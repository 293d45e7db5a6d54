/**
 * Words of MCP servers on their way into a prompt. They are data: what a server says of its tools and what its tools return is marked
 * as its own, bounded, and cannot close the mark.
 */

import { isRecord } from "../../contracts/values.ts";
import { markedFence } from "../marked-fence.ts";
import { fenceable, promptTag, promptText } from "../prompt-data.ts";

const MAX_DESCRIPTION = 2_000;
/** UTF-16 units of a result. */
const MAX_RESULT = 65_536;
const MAX_BLOCKS = 200;
const FENCE = "mcp_result";

export function describeTool(server: string, description: string | undefined): string {
  const words = promptText((description ?? "").slice(0, MAX_DESCRIPTION))
    .toWellFormed()
    .trim();
  return `A tool of the MCP server ${server}${words === "" ? "." : `, which says of it: ${words}`}`;
}

/** The blocks of a result in one fence; what is no text is named. */
export function renderToolResult(
  server: string,
  mark: string,
  content: readonly unknown[],
  structured?: unknown,
): string {
  const blocks = content.slice(0, MAX_BLOCKS).map(renderBlock);
  if (content.length > MAX_BLOCKS) blocks.push(`[${content.length - MAX_BLOCKS} further parts]`);
  if (content.length === 0 && structured !== undefined) blocks.push(JSON.stringify(structured));
  return fenced(server, mark, blocks.join("\n"));
}

/** What a server said, marked as its own; `mark` as of `markedFence`. */
export function fenced(server: string, mark: string, text: string): string {
  const more = text.length - MAX_RESULT;
  const shown = more > 0 ? `${text.slice(0, MAX_RESULT).toWellFormed()}\n... (${more} more characters)` : text;
  const safe = fenceable(shown, FENCE);
  const origin = { name: FENCE, from: `the MCP server ${server}` };
  return markedFence(origin, safe.trim() === "" ? "(nothing)" : safe, mark);
}

/** A server's word in a line of ours: a name, a message. */
export function serverWord(word: unknown): string {
  return promptTag(typeof word === "string" ? word.slice(0, 400) : String(word));
}

function renderBlock(block: unknown): string {
  if (!isRecord(block)) return "[an unknown part]";
  const { type, text, data, mimeType, resource } = block;
  if (type === "text" && typeof text === "string") return text;
  if (type === "image" || type === "audio")
    return `[${type}, ${serverWord(mimeType)}, ${bytesOf(data)} bytes: not shown]`;
  if (type === "resource" && isRecord(resource)) {
    const name = `resource ${serverWord(resource["uri"])}`;
    if (typeof resource["text"] === "string") return `[${name}]\n${resource["text"]}`;
    return `[${name}, ${serverWord(resource["mimeType"])}, ${bytesOf(resource["blob"])} bytes: not shown]`;
  }
  if (type === "resource_link") {
    const { uri, description } = block;
    return `[link to the resource ${serverWord(uri)}${description === undefined ? "" : `: ${serverWord(description)}`}]`;
  }
  return `[a part of the kind ${serverWord(type)}: not shown]`;
}

/** Of base64. */
function bytesOf(data: unknown): number {
  return typeof data === "string" ? Math.floor((data.length * 3) / 4) : 0;
}
