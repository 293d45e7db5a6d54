/** `.env`: a file that only this user can read. */

import { shellWord } from "../../../../runtime/contracts/shell-quote.ts";
import { type Check, fail, pass, skip, warn } from "../check.ts";

const OTHERS = 0o077;
/** A mounted secret of root may be read by one group (runtime/config/secrets-file.ts takes it so). */
const OTHERS_OF_ROOT = 0o037;

export const secretsFile: Check = {
  id: "secrets.file",
  subject: "owner and mode of .env",
  async run(context) {
    const { exists, path, mode, owners, problem } = await context.secretsFile();
    const { uid } = context.machine;
    if (!exists) return skip(`There is no secrets file ${path}.`);
    const foreign = uid === undefined ? undefined : owners.find((owner) => owner !== uid && owner !== 0);
    if (foreign !== undefined) {
      return fail(
        `The secrets file ${path} belongs to another user (id ${foreign}): it is not used.`,
        `Give it to the user of the service: \`chown USER ${shellWord(path)}\`.`,
      );
    }
    if (problem !== null) {
      return fail(
        `The secrets file ${path} cannot be read: ${problem}.`,
        "Put a regular file there that this user can read.",
      );
    }
    if (uid === undefined) return pass(`The secrets file is ${path}.`);
    const ofRoot = owners.includes(0) && uid !== 0;
    const open = mode & (ofRoot ? OTHERS_OF_ROOT : OTHERS);
    if (open === 0) return pass(`Only its owner can read ${path}.`);
    const shown = `0${mode.toString(8)}`;
    if (ofRoot) {
      return fail(
        `The secrets file ${path} belongs to root and its mode is ${shown}: it is not used.`,
        `Remove the access of other users: \`sudo chmod 440 ${shellWord(path)}\`.`,
      );
    }
    return warn(
      `Others may read the secrets file ${path}: its mode is ${shown}.`,
      `Run \`chmod 600 ${shellWord(path)}\`, and change the secrets that others may have seen.`,
      { repairs: [{ kind: "mode", path, from: mode, to: mode & 0o700 }] },
    );
  },
};
