/** The source tree of this program, where it is one: its revision, and whether an update would find it unchanged. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { git } from "../../context/git.ts";
import { type Check, pass, skip, warn } from "../check.ts";

export const updatesSource: Check = {
  id: "updates.source",
  subject: "the source tree of this program",
  async run(context, signal) {
    const { root, version } = context;
    // A package that merely lies somewhere inside a repository is no source tree of its own.
    if ((await stat(join(root, ".git")).catch(() => null)) === null)
      return skip(`Version ${version} was installed as a package.`);
    if (!(await context.probe.hasTool("git"))) return skip("The git command is not installed.");
    const head = await git(root, ["describe", "--always", "--tags", "--abbrev=10"], signal);
    if (head.code !== 0)
      return skip(`git does not say the revision: ${head.stderr.trim().split("\n")[0] || "no reason given"}.`);
    const message = `Version ${version} is a source tree at ${head.stdout.trim()}.`;
    const changed = await git(root, ["status", "--porcelain", "--untracked-files=no"], signal);
    const files = changed.stdout.split("\n").filter((line) => line !== "");
    if (files.length === 0) return pass(message);
    return warn(
      `${message} ${files.length} of its files ${files.length === 1 ? "is" : "are"} changed.`,
      "`cairn update` refuses a changed tree: commit the changes, or revert them.",
      { details: files.slice(0, 10) },
    );
  },
};
