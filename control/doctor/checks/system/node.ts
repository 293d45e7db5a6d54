/** Whether this Node can run the service. */

import { type Check, fail, pass } from "../check.ts";

const OLDEST = 24;

export const systemNode: Check = {
  id: "system.node",
  subject: "the version of Node",
  async run({ machine }) {
    const major = Number.parseInt(machine.node, 10);
    if (major >= OLDEST) return pass(`Node ${machine.node}.`);
    return fail(
      `Node ${machine.node} is too old: ${OLDEST} or newer is needed.`,
      `Install Node ${OLDEST} (https://nodejs.org).`,
    );
  },
};
