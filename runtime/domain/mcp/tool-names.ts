/**
 * Names under which agents see the tools of MCP servers: `<server's id>__<tool>`. The configuration's rule for ids (no `__`, no `_`
 * at an end) makes the first `__` the border, so that tools of two servers never share a name.
 */

import { createHash } from "node:crypto";

/** What every provider takes. */
const LONGEST_NAME = 64;
const DIGEST_CHARS = 8;
const REFUSED_CHARACTERS = /[^A-Za-z0-9_-]/g;

/** A name that had to be changed ends in a digest of the server's own, so that it stays another one than its neighbours'. */
export function offeredName(server: string, tool: string): string {
  const name = `${server}__${tool.replace(REFUSED_CHARACTERS, "_")}`;
  if (name.length <= LONGEST_NAME && name.endsWith(`__${tool}`) && tool !== "") return name;
  const digest = createHash("sha256").update(tool).digest("hex").slice(0, DIGEST_CHARS);
  return `${name.slice(0, LONGEST_NAME - DIGEST_CHARS - 1)}_${digest}`;
}

/** The server's id in a tool's name; null where there is none. */
export function serverOf(name: string): string | null {
  const border = name.indexOf("__");
  return border > 0 ? name.slice(0, border) : null;
}
