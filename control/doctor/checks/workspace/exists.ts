/** Whether the agents' workspaces are there. */

import { stat } from "node:fs/promises";
import { type Check, fail, pass } from "../check.ts";
import { CORE_FILES, fromTemplate, workspacesOf } from "./places.ts";

export const workspaceExists: Check = {
  id: "workspace.exists",
  subject: "whether the agents' workspaces are there",
  async run(context) {
    const workspaces = await workspacesOf(context);
    const results = await Promise.all(
      workspaces.map(async ({ path, agents }) => ({ path, agents, found: await stat(path).catch(() => null) })),
    );
    const missing = results.filter(({ found }) => found === null);
    const wrong = results.filter(({ found }) => found !== null && !found.isDirectory());
    if (missing.length === 0 && wrong.length === 0) {
      return pass(`The workspace is ${workspaces.map(({ path }) => path).join(", ")}.`);
    }
    const lines = [
      ...missing.map(({ path, agents }) => `${path} (of ${agents.join(", ")}) is missing`),
      ...wrong.map(({ path, agents }) => `${path} (of ${agents.join(", ")}) is not a directory`),
    ];
    const files = missing.flatMap(({ path }) => CORE_FILES.map((name) => fromTemplate(path, name)));
    const directories = missing.map(({ path }) => ({ kind: "directory" as const, path, mode: 0o755 }));
    return fail(
      `Workspaces are not there: ${lines.join("; ")}.`,
      missing.length > 0 ? "Run `cairn doctor --fix`, or correct runtime.workspace." : "Correct runtime.workspace.",
      { repairs: [...directories, ...(await Promise.all(files))] },
    );
  },
};
