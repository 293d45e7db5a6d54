/** The files of a workspace that every agent reads at each turn. */

import { lstat, stat } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../../../runtime/contracts/system-errors.ts";
import { assertRegular } from "../../../../runtime/files/directory.ts";
import { assertOneName } from "../../../../runtime/files/read-file.ts";
import { refusalOf } from "../../../../runtime/files/refusal.ts";
import { type Check, pass, Unavailable, warn } from "../check.ts";
import { CORE_FILES, fromTemplate, PROMPT_FILES, workspacesOf } from "./places.ts";

export const workspaceFiles: Check = {
  id: "workspace.files",
  subject: "the core files of the agents' workspaces",
  async run(context) {
    const workspaces = await workspacesOf(context);
    const states = await Promise.all(workspaces.map(async ({ path }) => ((await isThere(path)) ? [path] : [])));
    const there = states.flat();
    if (there.length === 0) throw new Unavailable("There is no workspace.", ["workspace.exists"]);
    const files = there.flatMap((workspace) => PROMPT_FILES.map((name) => ({ workspace, name })));
    const results = await Promise.all(
      files.map(async (file) => ({ ...file, ...(await stateOf(join(file.workspace, file.name))) })),
    );
    const missing = results.filter(({ name, there: found }) => !found && isCore(name));
    const refused = results.filter(({ problem }) => problem !== null);
    if (missing.length === 0 && refused.length === 0) return pass("The core files of the workspace are there.");
    const lines = [
      ...(missing.length === 0 ? [] : [`The workspace lacks ${missing.map(({ name }) => name).join(", ")}.`]),
      ...(refused.length === 0
        ? []
        : [`Agents do not get ${refused.map(({ name }) => name).join(", ")}: only regular files are read.`]),
    ];
    return warn(
      lines.join(" "),
      missing.length > 0
        ? "Run `cairn doctor --fix` to get them from the templates, or write them."
        : "Put a regular file there, or remove it.",
      {
        details: [
          ...missing.map(({ workspace, name }) => join(workspace, name)),
          ...refused.map(({ workspace, name, problem }) => `${join(workspace, name)}: ${problem}`),
        ],
        repairs: await Promise.all(missing.map(({ workspace, name }) => fromTemplate(workspace, name))),
      },
    );
  },
};

function isCore(name: string): boolean {
  return CORE_FILES.some((core) => core === name);
}

/** Links are not followed: what one leads to is not what agents get. */
async function stateOf(path: string): Promise<{ readonly there: boolean; readonly problem: string | null }> {
  try {
    const stats = await lstat(path);
    assertRegular(stats);
    assertOneName(stats);
    return { there: true, problem: null };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { there: false, problem: null };
    return { there: true, problem: refusalOf(error) };
  }
}

/** The workspace itself is the operator's, and may be a link. */
async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
