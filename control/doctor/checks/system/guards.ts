/** Guards of tool calls that are switched off. */

import { applyCommand } from "../advice.ts";
import { type Check, pass, warn } from "../check.ts";

const GUARDS = {
  shell_danger: "dangerous shell commands are not refused",
  workspace_fence: "paths outside the workspace are not refused before the call",
  audit: "no tool call is recorded",
} as const;

export const systemGuards: Check = {
  id: "system.guards",
  subject: "guards of tool calls that are switched off",
  async run(context) {
    const { safety } = (await context.config()).runtime;
    const off = Object.entries(GUARDS).filter(([name]) => safety[name as keyof typeof GUARDS] === false);
    if (off.length === 0) return pass("All guards of tool calls are on.");
    return warn(
      `Switched off: ${off.map(([name]) => `runtime.safety.${name}`).join(", ")}.`,
      `Remove these lines from cairn.yaml and run ${await applyCommand(context)}.`,
      { details: off.map(([name, means]) => `runtime.safety.${name}: ${means}`) },
    );
  },
};
