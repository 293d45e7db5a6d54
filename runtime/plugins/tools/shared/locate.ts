/**
 * Where a path argument really is: lexically inside the workspace first, then inside it again after every symbolic link
 * has been followed. What does not exist yet is checked by its nearest existing parent.
 */

import type { Stats } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ToolError } from "../../../contracts/errors.ts";
import { codeOf } from "../../../contracts/system-errors.ts";
import { componentsBelow, isWithin, resolveInWorkspace } from "../../../domain/workspace-path.ts";
import { fileError } from "./file-errors.ts";
import { createProtectedFiles } from "./protected-files.ts";

export interface Located {
  /** The workspace, resolved. */
  readonly root: string;
  /** The file or directory, resolved: free of symbolic links at that moment. */
  readonly path: string;
  /** Path components of `path` below `root`. */
  readonly components: readonly string[];
  /** The path as the model should read it: relative to the workspace, `.` for the workspace itself. */
  readonly display: string;
  readonly exists: boolean;
}

export interface WorkspaceGate {
  /**
   * Locates `path` (relative to the workspace, or absolute inside it).
   * TOOL_OUTSIDE_WORKSPACE when it leads out, by `..` or by a link; TOOL_REFUSED for a protected file;
   * TOOL_INVALID_ARGUMENTS when a parent is no directory; TOOL_FAILED when the workspace is missing.
   */
  locate(workspace: string, path: string): Promise<Located>;
  /** TOOL_REFUSED when the open file, of which these are the stats, is one of the service's own under another name. */
  assertNotProtected(located: Located, file: Pick<Stats, "dev" | "ino" | "nlink">): Promise<void>;
  /** Absolute paths, resolved, of the service's own files and directories below this workspace, which is resolved too. */
  protectedBelow(root: string): Promise<readonly string[]>;
}

/**
 * `protectedPaths`: absolute paths of files and directories of the service (its `.env`, its home). They are refused
 * where they lie inside a workspace, and what is in them also under another name (hard link). One that contains the workspace
 * is no matter of this gate: nothing outside the workspace is reached anyway.
 * `workspaces`: all that are configured. One that lies inside another must be a directory of it: the agent of the outer one
 * could put a link in its place, and so give the inner one's tools a directory from elsewhere.
 */
export function createWorkspaceGate(deps: {
  readonly protectedPaths: readonly string[];
  readonly workspaces?: readonly string[];
}): WorkspaceGate {
  const protectedFiles = createProtectedFiles(deps.protectedPaths);
  return {
    async locate(workspace, path) {
      const root = await resolveRoot(workspace);
      await assertNotReplaced(deps.workspaces ?? [], workspace, root);
      const verdict = resolveInWorkspace([workspace, root], path);
      if (!verdict.inside) throw outside(path, verdict.reason);
      const { real, exists } = await resolveExisting(join(root, verdict.relative), path);
      if (!isWithin(root, real)) throw outside(path, "a symbolic link leads out of the workspace");
      if (await isProtected(deps.protectedPaths, root, real, exists)) {
        throw protectedFile(path);
      }
      const components = componentsBelow(root, real);
      return { root, path: real, components, display: components.join("/") || ".", exists };
    },
    async assertNotProtected({ root, display }, file) {
      if (await protectedFiles.has(file, root)) throw protectedFile(display);
    },
    async protectedBelow(root) {
      const paths = await Promise.all(deps.protectedPaths.map((path) => realpath(path).catch(() => path)));
      return paths.filter((path) => isWithin(root, path) && !isWithin(path, root));
    },
  };
}

/**
 * TOOL_REFUSED for what lies in a `.git`: its configuration and hooks name programs that git runs, and what it ignores is seen by nobody.
 * Where file names have no case, `.GIT` is the same directory.
 */
export function assertNotInGit({ components, display }: Pick<Located, "components" | "display">): void {
  if (!components.some((name) => name.toLowerCase() === ".git")) return;
  throw new ToolError("TOOL_REFUSED", `${display}: what is below .git is not written by file tools.`);
}

function protectedFile(shown: string): ToolError {
  return new ToolError(
    "TOOL_REFUSED",
    `${shown}: this file belongs to the service and holds secrets; tools do not open it.`,
  );
}

/** The refusal of the fence: one wording, wherever a path is checked. */
export function outside(path: string, reason: string): ToolError {
  return new ToolError("TOOL_OUTSIDE_WORKSPACE", `${path}: ${reason}.`, {
    hint: "Only paths inside the workspace can be used.",
  });
}

async function resolveRoot(workspace: string): Promise<string> {
  try {
    return await realpath(workspace);
  } catch (cause) {
    throw new ToolError("TOOL_FAILED", "The agent's workspace directory does not exist or cannot be entered.", {
      cause,
    });
  }
}

async function assertNotReplaced(workspaces: readonly string[], workspace: string, root: string): Promise<void> {
  const around = workspaces.filter((other) => isWithin(other, workspace) && !isWithin(workspace, other));
  for (const other of around) {
    if (join(await resolveRoot(other), ...componentsBelow(other, workspace)) === root) continue;
    throw new ToolError(
      "TOOL_OUTSIDE_WORKSPACE",
      "The agent's workspace lies inside another agent's and is reached through a symbolic link there.",
      { hint: "The owner can give it a workspace of its own, outside of the other one." },
    );
  }
}

/** Follows links as far as the path exists; the rest is appended unchanged (it is normalised: no `..` in it). */
async function resolveExisting(absolute: string, shown: string): Promise<{ real: string; exists: boolean }> {
  const missing: string[] = [];
  for (let current = absolute; ; current = dirname(current)) {
    try {
      return { real: join(await realpath(current), ...missing), exists: missing.length === 0 };
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw fileError(shown, error);
    }
    if (await isSymbolicLink(current)) {
      throw outside(shown, "a symbolic link on the way points to nothing that exists");
    }
    if (current === "/") throw outside(shown, "no part of the path exists");
    missing.unshift(basename(current));
  }
}

async function isSymbolicLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch {
    return false;
  }
}

async function isProtected(paths: readonly string[], root: string, real: string, exists: boolean): Promise<boolean> {
  const identity = exists ? await identityOf(real) : null;
  for (const path of paths) {
    const target = await realpath(path).catch(() => path);
    if (isWithin(target, root)) continue;
    if (isWithin(target, real)) return true;
    if (identity !== null && identity === (await identityOf(target))) return true;
  }
  return false;
}

async function identityOf(path: string): Promise<string | null> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
