/** From what a server lists to what can be offered: each tool is checked by itself, and left out with a reason. Pure but for yielding. */

import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isRecord } from "../../contracts/values.ts";
import { offeredName } from "../../domain/mcp/tool-names.ts";
import { acceptToolSchema } from "../../domain/mcp/tool-schema.ts";
import { describeTool, serverWord } from "../../domain/mcp/tool-text.ts";
import { jsonSize } from "./json-size.ts";
import { MAX_OFFERED_CHARS, MAX_TOOL_CHARS, MAX_TOOLS } from "./limits.ts";
import type { McpServerSettings } from "./settings.ts";

export interface ListedTool {
  /** The server's own name for it. */
  readonly tool: string;
  /** The name that agents see. */
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Of all that the server says of it. */
  readonly digest: string;
}

export interface OmittedTool {
  readonly name: string;
  /** As the end of a sentence. */
  readonly reason: string;
}

export interface ReadTools {
  readonly tools: readonly ListedTool[];
  readonly leftOut: readonly OmittedTool[];
}

const LONGEST_TOOL_NAME = 256;
const TOO_MUCH = `the server's tools together have more than ${MAX_OFFERED_CHARS} characters`;
const DIGEST_CHARS = 32;
/** Between two chances for others to run. */
const AT_ONCE = 20;

/** In the order of the list. */
export async function readListedTools(settings: McpServerSettings, listed: readonly unknown[]): Promise<ReadTools> {
  const { id, include, exclude } = settings;
  const tools: ListedTool[] = [];
  const leftOut: OmittedTool[] = [];
  const names = new Set<string>();
  let chars = 0;
  for (const [index, raw] of listed.slice(0, MAX_TOOLS).entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await nextTurn();
    const tool = isRecord(raw) ? raw["name"] : undefined;
    if (!isRecord(raw) || typeof tool !== "string" || tool === "" || tool.length > LONGEST_TOOL_NAME) {
      leftOut.push({ name: `number ${index + 1}`, reason: "it has no usable name" });
      continue;
    }
    if (exclude.includes(tool) || (include !== undefined && !include.includes(tool))) continue;
    const read = readSafely(id, tool, raw);
    if ("reason" in read) leftOut.push(read);
    else if (names.has(read.name)) leftOut.push({ name: serverWord(tool), reason: "the server lists the name twice" });
    else {
      names.add(read.name);
      chars += read.name.length + read.description.length + JSON.stringify(read.parameters).length;
      // The rest of the list too, however short: what is offered is its beginning.
      if (chars > MAX_OFFERED_CHARS) leftOut.push({ name: serverWord(tool), reason: TOO_MUCH });
      else tools.push(read);
    }
  }
  if (listed.length > MAX_TOOLS) leftOut.push({ name: "others", reason: `there are more than ${MAX_TOOLS}` });
  const there = new Set(listed.map((raw) => (isRecord(raw) ? raw["name"] : null)));
  for (const name of (include ?? []).filter((wanted) => !there.has(wanted))) {
    leftOut.push({ name, reason: "the configuration includes it, and the server has none of that name" });
  }
  return { tools, leftOut };
}

/** What is not looked at may nest without end. */
function readSafely(server: string, tool: string, raw: Readonly<Record<string, unknown>>): ListedTool | OmittedTool {
  try {
    return readTool(server, tool, raw);
  } catch (error) {
    if (error instanceof RangeError) return { name: serverWord(tool), reason: "its schema nests too deep" };
    throw error;
  }
}

function readTool(server: string, tool: string, raw: Readonly<Record<string, unknown>>): ListedTool | OmittedTool {
  const { description, inputSchema, execution } = raw;
  if (isRecord(execution) && execution["taskSupport"] === "required") {
    return { name: serverWord(tool), reason: "it can only be called as a task, which is not supported" };
  }
  // Before its digest is made, which takes time in proportion.
  if (jsonSize([description, inputSchema], MAX_TOOL_CHARS) > MAX_TOOL_CHARS) {
    return { name: serverWord(tool), reason: "its description and its schema are too large" };
  }
  const schema = acceptToolSchema(inputSchema);
  if ("refused" in schema) return { name: serverWord(tool), reason: schema.refused };
  const words = typeof description === "string" ? description : undefined;
  return {
    tool,
    name: offeredName(server, tool),
    description: describeTool(server, words),
    parameters: schema.parameters,
    digest: createHash("sha256")
      .update(canonical([words ?? "", inputSchema]))
      .digest("hex"),
  };
}

/** Of the present form of all of these tools; null of none. Of the length that nobody finds a second list for. */
export function digestOf(tools: readonly ListedTool[]): string | null {
  if (tools.length === 0) return null;
  const said = tools.map(({ tool, digest }) => JSON.stringify([tool, digest])).sort();
  return createHash("sha256").update(said.join("\n")).digest("hex").slice(0, DIGEST_CHARS);
}

/** The same text for the same value, whatever the order of its keys. Throws a RangeError where it nests too deep. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isRecord(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}
