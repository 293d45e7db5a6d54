/** Whether cairn.yaml is of a version that this program knows. */

import { type Check, fail, pass, Unavailable, warn } from "../check.ts";

export const configVersion: Check = {
  id: "config.version",
  subject: "the version of cairn.yaml",
  async run(scene) {
    const look = await scene.configuration();
    if (look.state === "newer") {
      return fail(
        `cairn.yaml has version ${look.version}; this program reads up to version ${look.known}.`,
        "Update cairn, or use the program that wrote the file.",
      );
    }
    if (!("tree" in look))
      throw new Unavailable("The configuration cannot be read (see config.present, config.syntax).");
    const { version } = look.tree;
    if (version === undefined) return warn("cairn.yaml does not say its version.", "Put `version: 1` at its head.");
    return pass(`cairn.yaml has version ${String(version)}.`);
  },
};
