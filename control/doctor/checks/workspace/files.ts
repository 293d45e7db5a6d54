/** The files of a workspace that every agent reads at each turn. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type Check, pass, Unavailable, warn } from "../check.ts";
import { CORE_FILES, fromTemplate, workspacesOf } from "./places.ts";

export const workspaceFiles: Check = {
  id: "workspace.files",
  subject: "the core files of the agents' workspaces",
  async run(scene) {
    const workspaces = await workspacesOf(scene);
    const there = await Promise.all(workspaces.map(async ({ path }) => ((await isThere(path)) ? [path] : [])));
    if (there.flat().length === 0) throw new Unavailable("There is no workspace (see workspace.exists).");
    const wanted = there.flat().flatMap((workspace) => CORE_FILES.map((name) => ({ workspace, name })));
    const looks = await Promise.all(
      wanted.map(async (file) => ({ ...file, found: await isThere(join(file.workspace, file.name)) })),
    );
    const missing = looks.filter(({ found }) => !found);
    if (missing.length === 0) return pass("The core files of the workspace are there.");
    return warn(
      `The workspace lacks ${missing.map(({ name }) => name).join(", ")}.`,
      "Run `cairn doctor --fix` to get them from the templates, or write them.",
      {
        details: missing.map(({ workspace, name }) => join(workspace, name)),
        repairs: await Promise.all(missing.map(({ workspace, name }) => fromTemplate(workspace, name))),
      },
    );
  },
};

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}
