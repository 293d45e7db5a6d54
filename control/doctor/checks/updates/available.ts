/** Whether there is a newer release. Fetches from the source tree's origin, and therefore runs only when it is named. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import semver from "semver";
import { isOlder } from "../../../../runtime/contracts/versions.ts";
import { git } from "../../context/git.ts";
import { type Check, pass, skip, warn } from "../check.ts";

const ID = "updates.available";

export const updatesAvailable: Check = {
  id: ID,
  subject: "whether there is a newer release",
  async run(context, signal) {
    if (!context.requested.has(ID))
      return skip(`Not checked by default, because it uses the network: \`cairn doctor --only ${ID}\`.`);
    if ((await stat(join(context.root, ".git")).catch(() => null)) === null) {
      return skip("This program was installed as a package: its package manager knows of newer ones.");
    }
    const { code, stdout, stderr } = await git(context.root, ["ls-remote", "--tags", "--refs", "origin", "v*"], signal);
    if (code !== 0) {
      return warn(
        `The source tree's origin does not answer: ${stderr.trim().split("\n")[0] || `exit code ${code}`}.`,
        "Check the network and `git remote -v`.",
      );
    }
    const releases = stdout.split("\n").flatMap((line) => /refs\/tags\/v(\d+\.\d+\.\d+)$/.exec(line)?.[1] ?? []);
    const newest = releases.toSorted(semver.compare).at(-1);
    if (newest === undefined) return skip("The source tree's origin has no releases.");
    if (!isOlder(context.version, newest)) return pass(`Version ${context.version} is the newest release.`);
    return warn(`Version ${newest} is out; this is ${context.version}.`, "Update with `cairn update`.");
  },
};
