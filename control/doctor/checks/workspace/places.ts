/** The workspaces that the agents have: one for most of them, one of its own for some; and the files that belong into each. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { agentWorkspace } from "../../../../runtime/config/config.ts";
import { templateDirectory } from "../../../wizard/templates.ts";
import type { ProbeContext } from "../../context/probe-context.ts";
import type { Repair } from "../../repair/repair.ts";

export interface Workspace {
  readonly path: string;
  readonly agents: readonly string[];
}

/** Unavailable without a valid configuration. */
export async function workspacesOf(context: ProbeContext): Promise<readonly Workspace[]> {
  const config = await context.config();
  const places = new Map<string, string[]>([[config.runtime.workspace, []]]);
  for (const agent of Object.keys(config.agents)) {
    const path = agentWorkspace(config, agent);
    places.set(path, [...(places.get(path) ?? []), agent]);
  }
  const used = [...places].filter(([, agents]) => agents.length > 0);
  return used.map(([path, agents]) => ({ path, agents }));
}

/** The core files (specification, "Short-term memory injected each turn"); others may be left out on purpose. */
export const CORE_FILES = ["CORE.md", "USER.md", "WORKSPACE.md", "MEMORY.md"] as const;

/** All files that agents get at each turn, or are pointed to. */
export const PROMPT_FILES = [
  ...CORE_FILES,
  ...["SOUL.md", "IDENTITY.md", "AGENTS.md", "TOOLS.md", "CAPABILITIES.md"],
] as const;

/** The file as a new setup has it. */
export async function fromTemplate(workspace: string, name: string): Promise<Repair> {
  const after = await readFile(join(templateDirectory(), "workspace", name), "utf8");
  return { kind: "create", path: join(workspace, name), root: workspace, after, mode: 0o644 };
}
