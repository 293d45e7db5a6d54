/** The process that has the embedded store open. */

import { type Check, pass, skip, warn } from "../check.ts";

export const databaseLock: Check = {
  id: "database.lock",
  subject: "who has the embedded store open",
  async run(context) {
    const snapshot = await context.database();
    if (snapshot.backend === "postgres") return skip("The store is a server: it has no such lock.");
    if (snapshot.backend === "stack") return skip("The store is opened by the nodes, on the target.");
    const { locked, holder, path } = snapshot.store;
    const { state } = await context.node();
    if (!locked) return pass("No process has the embedded store open.");
    if (state === "running" || state === "elsewhere") return pass("The node has the embedded store open.");
    return warn(
      `${holder === null ? "Another process" : `Process ${holder.pid} (since ${holder.since})`} has the store ${path} open.`,
      "A node that starts, a short-lived command or a container: wait, or stop it before you start a node.",
    );
  },
};
