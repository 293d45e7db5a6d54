/** Secrets in cairn.yaml itself, which is made to be kept in git. */

import { type Check, pass, Unavailable, warn } from "../check.ts";
import { counted, issueLine } from "../config/issues.ts";

export const secretsHardcoded: Check = {
  id: "secrets.hardcoded",
  subject: "secrets that stand in cairn.yaml",
  async run(context) {
    const snapshot = await context.configuration();
    if (!("warnings" in snapshot))
      throw new Unavailable("The configuration cannot be validated.", ["config.present", "config.syntax"]);
    const lines = snapshot.warnings.filter(({ code }) => code === "hardcoded-secret").map(issueLine);
    if (lines.length === 0) return pass("No secret stands in cairn.yaml.");
    return warn(
      `${counted(lines.length, "secret stands", "secrets stand")} in cairn.yaml.`,
      "Move them into .env, refer to them as ${NAME}, and change them if the file was ever shared.",
      { details: lines },
    );
  },
};
