/** This machine's clock against the database's: leases, schedules and the order of messages live by it. */

import { duration } from "../../../output/words.ts";
import { serverOf } from "../../context/database.ts";
import { type Check, fail, pass, warn } from "../check.ts";

const WARN_MS = 2_000;
/** As long as a turn's lease: beyond it nodes take each other's turns. */
const FAIL_MS = 30_000;

export const systemClock: Check = {
  id: "system.clock",
  subject: "the clock of this machine against the database's",
  async run(context) {
    const { aheadMs, uncertainMs } = serverOf(await context.database());
    const apart = Math.max(0, Math.abs(aheadMs) - uncertainMs);
    if (apart < WARN_MS) return pass("The clocks of this machine and of the database agree.");
    const message = `The clock of this machine is ${duration(apart)} ${aheadMs > 0 ? "behind" : "ahead of"} the database's.`;
    const fix = "Let both set their clocks by the network: `timedatectl set-ntp true`, or chrony.";
    return apart < FAIL_MS ? warn(message, fix) : fail(message, fix);
  },
};
