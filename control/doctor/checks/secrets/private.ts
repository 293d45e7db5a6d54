/** Other files with secrets in them: the node's key, the passphrase and the state of a deployment. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { shellWord } from "../../../../runtime/contracts/shell-quote.ts";
import { type Check, pass, skip, warn } from "../check.ts";

const OTHERS = 0o077;

export const secretsPrivate: Check = {
  id: "secrets.private",
  subject: "the modes of the node's key and of deployment secrets",
  async run({ paths: deployment, machine: { uid } }) {
    if (uid === undefined) return skip("This system has no file modes.");
    const paths = [
      ...(deployment.home === null ? [] : ["node.key", "tls.key"].map((name) => join(deployment.home ?? "", name))),
      join(deployment.dir, "infra", ".passphrase"),
      join(deployment.dir, "infra", "state"),
    ];
    const found = (await Promise.all(paths.map(readMode))).filter((file) => file !== null);
    if (found.length === 0) return skip("There is no node key and no deployment yet.");
    const open = found.filter(({ mode }) => (mode & OTHERS) !== 0);
    if (open.length === 0) return pass("Only this user can read the node's key and the deployment's secrets.");
    const own = open.filter(({ owner }) => owner === uid);
    return warn(
      `Others may read ${open.map(({ path }) => path).join(", ")}.`,
      `Run \`chmod go= ${open.map(({ path }) => shellWord(path)).join(" ")}\`.`,
      { repairs: own.map(({ path, mode }) => ({ kind: "mode", path, from: mode, to: mode & 0o700 })) },
    );
  },
};

async function readMode(path: string) {
  const found = await stat(path).catch(() => null);
  return found === null ? null : { path, mode: found.mode & 0o777, owner: found.uid };
}
