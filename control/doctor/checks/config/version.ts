/** Whether cairn.yaml is of a version that this program supports. */

import { type Check, fail, pass, Unavailable, warn } from "../check.ts";

export const configVersion: Check = {
  id: "config.version",
  subject: "the version of cairn.yaml",
  async run(context) {
    const snapshot = await context.configuration();
    if (snapshot.state === "newer") {
      return fail(
        `cairn.yaml has version ${snapshot.version}; this program reads up to version ${snapshot.supported}.`,
        "Update cairn, or use the program that wrote the file.",
      );
    }
    if (!("tree" in snapshot))
      throw new Unavailable("The configuration cannot be read.", ["config.present", "config.syntax"]);
    const { version } = snapshot.tree;
    if (version === undefined) return warn("cairn.yaml does not say its version.", "Put `version: 1` at its head.");
    return pass(`cairn.yaml has version ${String(version)}.`);
  },
};
