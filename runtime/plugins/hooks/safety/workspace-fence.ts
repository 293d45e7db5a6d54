/** Priority 15: every path among a tool's arguments lies inside the agent's workspace, before any tool is reached. */

import type { Hook } from "../../../contracts/hooks.ts";

/** Finds out where a path is; throws a ToolError when it is outside. */
export interface PathGate {
  locate(workspace: string, path: string): Promise<unknown>;
}

export function createWorkspaceFenceHook(deps: { readonly gate: PathGate }): Hook<"tool:before"> {
  return {
    name: "workspace_fence",
    event: "tool:before",
    policy: "closed",
    priority: 15,
    async run({ call, workspace, pathArguments }) {
      for (const name of pathArguments) {
        const value = call.arguments[name];
        for (const path of Array.isArray(value) ? value : [value]) {
          if (typeof path === "string") await deps.gate.locate(workspace, path);
        }
      }
    },
  };
}
