/** Priority 10: dangerous shell commands do not run. */

import { resolve } from "node:path";
import type { Hook } from "../../../contracts/hooks.ts";
import { checkShellCommand } from "../../../domain/shell-danger.ts";
import { enforce } from "./approval.ts";

export function createShellDangerHook(): Hook<"tool:before"> {
  return {
    name: "shell_danger",
    event: "tool:before",
    policy: "closed",
    priority: 10,
    async run(context) {
      const { call, workspace } = context;
      const { command, cwd } = call.arguments;
      if (call.name !== "shell" || typeof command !== "string") return;
      const directory = resolve(workspace, typeof cwd === "string" ? cwd : ".");
      await enforce(checkShellCommand(command, { workspace, directory }), context);
    },
  };
}
