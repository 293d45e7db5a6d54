/** The home directory: there, or to be made; writable; and closed to other users. */

import { access, constants, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { shellWord } from "../../../../runtime/contracts/shell-quote.ts";
import { codeOf } from "../../../../runtime/contracts/system-errors.ts";
import { type Check, fail, pass, warn } from "../check.ts";

const OTHERS = 0o077;

export const systemHome: Check = {
  id: "system.home",
  subject: "the home directory of the service",
  async run({ paths: { home, homeError }, machine }) {
    if (home === null) {
      return fail(
        homeError?.message ?? "There is no home directory.",
        homeError?.details.hint ?? "Set SERVICE_HOME to a directory that this user may write.",
      );
    }
    const found = await stat(home).catch((error: unknown) => codeOf(error) ?? "unknown error");
    if (found === "ENOENT") return missing(home);
    if (typeof found === "string") {
      return fail(`The home directory ${home} cannot be looked at (${found}).`, `Give this user access to ${home}.`);
    }
    if (!found.isDirectory()) {
      return fail(`${home} is not a directory.`, "Rename or remove it, or set SERVICE_HOME to another directory.");
    }
    const refused = await refusal(home);
    if (refused !== null) {
      return fail(
        `The home directory ${home} cannot be written (${refused}).`,
        refused === "EROFS"
          ? "Mount its file system writable, or set SERVICE_HOME to another directory."
          : `Give it to the user of the service: \`chown -R USER ${shellWord(home)}\`.`,
      );
    }
    const mode = found.mode & 0o777;
    if (machine.uid !== undefined && (mode & OTHERS) !== 0) {
      const own = found.uid === machine.uid;
      return warn(
        `Others may look into the home directory ${home}: its mode is 0${mode.toString(8)}.`,
        own
          ? `Run \`chmod 700 ${shellWord(home)}\`.`
          : `Have its owner (user ${found.uid}) run \`chmod 700 ${shellWord(home)}\`.`,
        own ? { repairs: [{ kind: "mode", path: home, from: mode, to: mode & 0o700 }] } : {},
      );
    }
    return pass(`The home directory is ${home}.`);
  },
};

async function missing(home: string) {
  let at = dirname(home);
  while (at !== dirname(at) && (await stat(at).catch(() => null)) === null) at = dirname(at);
  const refused = await refusal(at);
  if (refused === null) return pass(`The home directory ${home} will be made at the first start.`);
  return fail(
    `The home directory ${home} is missing and cannot be made in ${at} (${refused}).`,
    "Make it for the user of the service, or set SERVICE_HOME to another directory.",
  );
}

/** Null when the directory can be written. */
async function refusal(path: string): Promise<string | null> {
  return access(path, constants.W_OK | constants.X_OK).then(
    () => null,
    (error) => codeOf(error) ?? "unknown error",
  );
}
