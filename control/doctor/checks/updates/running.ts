/** Whether the node that runs is of this program's version. */

import { type Check, pass, warn } from "../check.ts";

export const updatesRunning: Check = {
  id: "updates.running",
  subject: "the version of the running node",
  async run(context) {
    const { version } = await context.health();
    if (version === context.version) return pass(`The node runs version ${version}, as this program does.`);
    return warn(
      `The node runs version ${version}, and this program is ${context.version}.`,
      `${
        (await context.target()) === null
          ? "`cairn restart` lets the node run this version"
          : "`cairn build` makes an image of this version, `cairn infra up --image IMAGE` gives it to the nodes"
      }; when the node is newer, update this program.`,
    );
  },
};
