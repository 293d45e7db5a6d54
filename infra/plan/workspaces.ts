/**
 * Where the agents' workspaces are on the operator's machine and where they are in a container. Agents that share a directory,
 * or whose directory lies inside another's, share it in the container too.
 */
import { isAbsolute, relative, sep } from "node:path";
import type { Config } from "../../runtime/config/index.ts";
import { CONTAINER } from "./types.ts";

/** One directory tree that is copied into containers. */
export interface WorkspaceRoot {
  /** Below CONTAINER.workspaces and below CONTAINER.seed: `workspace`, or `agents/<name>`. */
  readonly name: string;
  /** Absolute, on the operator's machine. */
  readonly source: string;
  /** Agents that work in it. */
  readonly agents: readonly string[];
}

/** A file of a workspace as the operator has it. */
export interface SeedFile {
  /** Root that it belongs to. */
  readonly root: string;
  /** Relative to its root, with `/`. */
  readonly path: string;
  readonly content: string;
}

type Workspaces = Pick<Config, "agents"> & { readonly runtime: Pick<Config["runtime"], "workspace"> };

/** The shared workspace first, then a root for each agent that has one of its own, in the order of the file. */
export function workspaceRoots({ runtime, agents }: Workspaces): WorkspaceRoot[] {
  const roots: { name: string; source: string; agents: string[] }[] = [
    { name: "workspace", source: runtime.workspace, agents: [] },
  ];
  for (const [agent, { workspace = runtime.workspace }] of Object.entries(agents)) {
    const root = roots.find(({ source }) => within(source, workspace) !== null);
    if (root) root.agents.push(agent);
    else roots.push({ name: `agents/${agent}`, source: workspace, agents: [agent] });
  }
  return roots;
}

/** Where a directory of the operator's machine is in a container; null where it is in none of the roots. */
export function containerPath(roots: readonly WorkspaceRoot[], path: string): string | null {
  for (const { name, source } of roots) {
    const rest = within(source, path);
    if (rest !== null) return [CONTAINER.workspaces, name, ...(rest === "" ? [] : [rest])].join("/");
  }
  return null;
}

/** The path relative to the directory, with `/`: empty for itself, null outside. */
export function within(directory: string, path: string): string | null {
  const rest = relative(directory, path);
  if (rest === ".." || rest.startsWith(`..${sep}`) || isAbsolute(rest)) return null;
  return rest.split(sep).join("/");
}
