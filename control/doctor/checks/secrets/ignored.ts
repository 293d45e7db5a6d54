/** Whether git would take `.env` along. */

import { join } from "node:path";
import type { Repair } from "../../repair/repair.ts";
import { git, repositoryOf } from "../../scene/git.ts";
import { readOwnFile } from "../../scene/regular-file.ts";
import { type Check, fail, pass, skip, warn } from "../check.ts";

export const secretsIgnored: Check = {
  id: "secrets.ignored",
  subject: "whether git ignores .env",
  async run(scene, signal) {
    const { dir } = scene.place;
    if ((await repositoryOf(dir)) === null) return skip("The deployment directory is not in a git repository.");
    if (!(await scene.probe.hasTool("git"))) return skip("The git command is not installed.");
    const tracked = await git(dir, ["ls-files", "--error-unmatch", "--", ".env"], signal);
    if (tracked.code === 0) {
      return fail(
        "git keeps .env: whoever gets the repository gets the secrets.",
        "Run `git rm --cached .env`, commit that, and change the secrets: the history still has them.",
      );
    }
    const ignored = await git(dir, ["check-ignore", "-q", "--", ".env"], signal);
    if (ignored.code === 0) return pass("git ignores .env.");
    if (ignored.code !== 1)
      return skip(`git does not tell: ${ignored.stderr.trim().split("\n")[0] || "no reason given"}.`);
    return warn("git does not ignore .env: the next commit may take it along.", "Add the line `.env` to .gitignore.", {
      repairs: [await ignore(dir)],
    });
  },
};

/** The directory may be one that agents write to: a link in the file's place is not followed. */
async function ignore(root: string): Promise<Repair> {
  const path = join(root, ".gitignore");
  const before = await readOwnFile(root, ".gitignore");
  if (before === null) return { kind: "create", path, root, after: ".env\n", mode: 0o644 };
  const head = before === "" || before.endsWith("\n") ? before : `${before}\n`;
  return { kind: "change", path, root, before, after: `${head}.env\n` };
}
