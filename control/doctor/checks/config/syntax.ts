/** Whether cairn.yaml is YAML. */

import { type Check, fail, pass, Unavailable } from "../check.ts";

export const configSyntax: Check = {
  id: "config.syntax",
  subject: "whether cairn.yaml is YAML",
  async run(scene) {
    const look = await scene.configuration();
    if (look.state === "missing" || look.state === "unreadable") {
      throw new Unavailable("There is no configuration to be read (see config.present).");
    }
    if (look.state !== "broken") return pass("cairn.yaml is YAML.");
    return fail(
      `cairn.yaml is no YAML: ${look.where}: ${look.reason}.`,
      `Correct ${scene.place.file} at ${look.where}; \`cairn config validate\` tells when it is right.`,
    );
  },
};
