/** Whether the node has, or would have, all rights of the machine. */

import { type Check, pass, skip, warn } from "../check.ts";

export const systemUser: Check = {
  id: "system.user",
  subject: "the user that the node runs as",
  async run(context) {
    const target = await context.target();
    if (target !== null) return skip(`The target ${target} runs the nodes as a user without rights.`);
    const { uid } = context.machine;
    if (uid === undefined) return skip("This system has no user ids.");
    const { pid } = await context.node();
    const owner = (pid === null ? null : await context.machine.ownerOf(pid)) ?? uid;
    if (owner !== 0) return pass(`The node's user has no rights of root (user number ${owner}).`);
    return warn(
      pid === null ? "A node that is started here runs as root." : "The node runs as root.",
      "Run it as a user of its own: `cairn service install --system --run-as USER`.",
    );
  },
};
