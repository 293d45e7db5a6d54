/** Whether the service could start with this configuration. */

import { type Check, fail, pass, Unavailable } from "../check.ts";
import { counted, issueLine } from "./issues.ts";

export const configValid: Check = {
  id: "config.valid",
  subject: "errors of the configuration",
  async run(context) {
    const snapshot = await context.configuration();
    if (!("errors" in snapshot))
      throw new Unavailable("The configuration cannot be validated.", ["config.present", "config.syntax"]);
    if (snapshot.errors.length === 0) return pass("The configuration is valid.");
    const [first] = snapshot.errors;
    const lines = snapshot.errors.map(issueLine);
    return fail(
      `cairn.yaml is not valid: ${lines.length === 1 ? lines[0] : `${counted(lines.length, "error")}, the first at ${first?.path}`}.`,
      `Correct ${context.paths.file}; \`cairn config validate\` says what is allowed.`,
      { details: lines },
    );
  },
};
