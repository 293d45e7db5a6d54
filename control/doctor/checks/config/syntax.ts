/** Whether cairn.yaml is YAML. */

import { type Check, fail, pass, Unavailable } from "../check.ts";

export const configSyntax: Check = {
  id: "config.syntax",
  subject: "whether cairn.yaml is YAML",
  async run(context) {
    const snapshot = await context.configuration();
    if (snapshot.state === "missing" || snapshot.state === "unreadable") {
      throw new Unavailable("There is no configuration to be read.", ["config.present"]);
    }
    if (snapshot.state !== "broken") return pass("cairn.yaml is YAML.");
    return fail(
      `cairn.yaml is no YAML: ${snapshot.where}: ${snapshot.reason}.`,
      `Correct ${context.paths.file} at ${snapshot.where}; check it with \`cairn config validate\`.`,
    );
  },
};
