/** What in the configuration may be meant, but most likely is not. */

import type { FindingCode } from "../../../../runtime/config/finding-codes.ts";
import { type Check, pass, Unavailable, warn } from "../check.ts";
import { counted, issueLine } from "./issues.ts";

/** These have checks of their own. */
const ELSEWHERE: ReadonlySet<FindingCode> = new Set([
  "unknown-key",
  "hardcoded-secret",
  "version-missing",
  "plain-http",
  "plain-database",
]);

export const configWarnings: Check = {
  id: "config.warnings",
  subject: "warnings of the configuration",
  async run(context) {
    const snapshot = await context.configuration();
    if (!("warnings" in snapshot))
      throw new Unavailable("The configuration cannot be validated.", ["config.present", "config.syntax"]);
    const lines = snapshot.warnings.filter(({ code }) => !ELSEWHERE.has(code)).map(issueLine);
    if (lines.length === 0) return pass("The configuration has no warnings.");
    return warn(
      lines.length === 1 ? `cairn.yaml: ${lines[0]}.` : `cairn.yaml has ${counted(lines.length, "warning")}.`,
      `Look at ${context.paths.file}, and at the .env beside it, where these lines say.`,
      { details: lines },
    );
  },
};
