/** Priority 15: every path among a tool's arguments lies inside the agent's workspace, before any tool is reached. */

import type { Hook } from "../../../contracts/hooks.ts";
import type { Tool } from "../../../contracts/tool.ts";

/** Finds out where a path is; throws a ToolError when it is outside. */
export interface PathGate {
  locate(workspace: string, path: string): Promise<unknown>;
}

export function createWorkspaceFenceHook(deps: {
  readonly gate: PathGate;
  readonly tools: readonly Pick<Tool, "name" | "pathArguments">[];
}): Hook<"tool:before"> {
  const pathArguments = new Map(deps.tools.map((tool) => [tool.name, tool.pathArguments ?? []]));
  return {
    name: "workspace_fence",
    event: "tool:before",
    policy: "closed",
    priority: 15,
    async run({ call, workspace }) {
      for (const name of pathArguments.get(call.name) ?? []) {
        const value = call.arguments[name];
        for (const path of Array.isArray(value) ? value : [value]) {
          if (typeof path === "string") await deps.gate.locate(workspace, path);
        }
      }
    },
  };
}
