/** What a call of a search tool may search: located in the workspace, without the service's own files. */

import { stat } from "node:fs/promises";
import { ToolError } from "../../../../contracts/errors.ts";
import { booleanArgument, optionalString } from "../arguments.ts";
import type { Located, WorkspaceGate } from "../locate.ts";
import type { SearchScope } from "./messages.ts";

/** The arguments that the search tools have in common. */
export const SCOPE_PARAMETERS = {
  path: { type: "string", description: "Directory to search, relative to the workspace; default the whole workspace." },
  all: {
    type: "boolean",
    description:
      "Also hidden files and those that .gitignore leaves out; default false. A path that is hidden or left out is searched when it is given as `path`.",
  },
} as const;

export const MAX_GLOB = 500;

export interface LocatedScope {
  readonly located: Located;
  readonly scope: SearchScope;
}

export async function locateScope(
  gate: WorkspaceGate,
  workspace: string,
  args: Readonly<Record<string, unknown>>,
  glob: string | undefined,
): Promise<LocatedScope> {
  const located = await gate.locate(workspace, optionalString(args, "path") ?? ".");
  const stats = await stat(located.path).catch(() => null);
  if (stats === null || !(stats.isFile() || stats.isDirectory())) {
    throw new ToolError("TOOL_INVALID_ARGUMENTS", `${located.display}: no such file or directory.`);
  }
  const { root, components } = located;
  const scope: SearchScope = {
    root,
    components,
    isFile: stats.isFile(),
    all: booleanArgument(args, "all", false),
    protectedPaths: await gate.protectedBelow(root),
    ...(glob === undefined ? {} : { glob: relativeGlob(glob) }),
  };
  return { located, scope };
}

function relativeGlob(glob: string): string {
  if (!glob.startsWith("/") && !glob.split("/").includes("..")) return glob.replace(/^\.\//, "");
  throw new ToolError(
    "TOOL_INVALID_ARGUMENTS",
    "A glob is relative to `path`: it neither begins with / nor has a `..`.",
  );
}

/** A path as a line of a result: what could break the line is escaped. */
export function shownPath(components: readonly string[]): string {
  const path = components.join("/");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  return /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(path) ? JSON.stringify(path) : path;
}
