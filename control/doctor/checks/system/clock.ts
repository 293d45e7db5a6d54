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
    const snapshot = await context.database();
    const { aheadMs, uncertainMs } = serverOf(snapshot);
    const whose = snapshot.backend === "stack" ? "the node" : "this machine";
    const apart = Math.max(0, Math.abs(aheadMs) - uncertainMs);
    if (apart < WARN_MS) return pass(`The clocks of ${whose} and of the database agree.`);
    const message = `The clock of ${whose} is ${duration(apart)} ${aheadMs > 0 ? "behind" : "ahead of"} the database's.`;
    const fix = "Let both set their clocks by the network: `timedatectl set-ntp true`, or chrony.";
    return apart < FAIL_MS ? warn(message, fix) : fail(message, fix);
  },
};
