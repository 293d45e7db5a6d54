/** How many files and connections the service may have open: that of the running node, else what a start here would get. */

import { type Check, fail, pass, skip, warn } from "../check.ts";

const FAIL_BELOW = 256;
const WARN_BELOW = 1_024;

export const systemFiles: Check = {
  id: "system.files",
  subject: "the limit of open files",
  async run(context, signal) {
    if ((await context.target()) !== null) return skip("The target says how many files a node may have open.");
    const { pid } = await context.node();
    const ofNode = pid === null ? null : await context.machine.openFiles(signal, pid);
    const limit = ofNode ?? (await context.machine.openFiles(signal));
    if (limit === null) return skip("The limit of open files cannot be read on this system.");
    const message = `${ofNode === null ? "A process here" : "The node"} may have ${
      Number.isFinite(limit) ? limit : "any number of"
    } files open.`;
    const fix = "Raise it: `ulimit -n 65536` before the start, or LimitNOFILE=65536 in the service's unit.";
    if (limit < FAIL_BELOW) return fail(message, fix);
    if (limit < WARN_BELOW) return warn(message, fix);
    return pass(message);
  },
};
