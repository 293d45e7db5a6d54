/** Schedules that are late, or whose last run failed. */

import { type Check, pass, skip, Unavailable, warn } from "../check.ts";

export const queuesSchedules: Check = {
  id: "queues.schedules",
  subject: "turns that start by the clock",
  async run(context) {
    const { schedules, draining } = await context.health();
    if (schedules === undefined) return skip("The node is of a version without schedules.");
    if (schedules === null) throw new Unavailable("The node's store does not answer.", ["database.reachable"]);
    const [first] = schedules;
    if (first === undefined) return pass("No schedule is late, and no last run has failed.");
    // Another node takes over what a draining one starts no more.
    if (draining) return skip("The node is draining, and starts nothing.");
    return warn(
      `Of schedules: ${schedules.map(({ agent, name, problem }) => `${agent}/${name}: ${problem}`).join("; ")}.`,
      "`cairn schedule list` shows them. A late one starts when a node runs that hosts its agent; " +
        `after a failure, \`cairn schedule run ${first.name}\` starts one again.`,
    );
  },
};
