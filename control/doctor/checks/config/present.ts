/** Whether there is a cairn.yaml that can be read. */

import { type Check, fail, pass } from "../check.ts";

export const configPresent: Check = {
  id: "config.present",
  subject: "whether there is a cairn.yaml",
  async run(context) {
    const snapshot = await context.configuration();
    const { file } = context.paths;
    if (snapshot.state === "missing") {
      return fail(
        `There is no configuration at ${file}.`,
        "Make one with `cairn init --yes`, or name its directory with --dir.",
      );
    }
    if (snapshot.state === "unreadable") {
      return fail(
        `The configuration ${file} cannot be read: ${snapshot.reason}.`,
        "Give this user access to the file.",
      );
    }
    return pass(`The configuration is ${file}.`);
  },
};
