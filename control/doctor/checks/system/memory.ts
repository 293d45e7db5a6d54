/** Memory that the service could still get. */

import { bytes } from "../../../output/words.ts";
import { type Check, fail, pass, skip, warn } from "../check.ts";

/** An idle node takes about 150 MB, one at work with the embedded store about 500 MB. */
const FAIL_BYTES = 64_000_000;
const WARN_BYTES = 400_000_000;
/** A node that runs has what it needs: what is left is for its peaks. */
const WARN_BYTES_WITHOUT_NODE = 150_000_000;

export const systemMemory: Check = {
  id: "system.memory",
  subject: "available memory",
  async run(context) {
    if ((await context.target()) !== null) return skip("The nodes run on the target, with limits of their own.");
    const { totalBytes, availableBytes } = await context.machine.memory();
    const message = `${bytes(availableBytes)} of ${bytes(totalBytes)} memory are available.`;
    const fix = "End what is not needed, raise the container's memory limit, or use a larger machine.";
    if (availableBytes < FAIL_BYTES) return fail(message, fix);
    const { pid } = await context.node();
    if (availableBytes < (pid === null ? WARN_BYTES : WARN_BYTES_WITHOUT_NODE)) return warn(message, fix);
    return pass(message);
  },
};
