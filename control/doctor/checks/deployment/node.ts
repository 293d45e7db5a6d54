/** Whether the node runs, and how it says it is. */

import { duration } from "../../../output/words.ts";
import { type Check, fail, pass, warn } from "../check.ts";

export const deploymentNode: Check = {
  id: "deployment.node",
  subject: "whether the node runs and is healthy",
  async run(scene) {
    const { state, health, reason, url, code } = await scene.node();
    if (state === "stopped") return warn("No node is running.", "Start it with `cairn start --detach`.");
    if (state === "busy") {
      return warn(
        "Another process holds the home directory, and cannot be talked to.",
        "A node that starts, a short-lived command or a container: try again.",
      );
    }
    if (code === "CONFIG_SECRET_UNRESOLVED") {
      return warn(
        `A node runs at ${url}, and cannot be asked: ${reason}.`,
        "Set OP_SERVICE_ACCOUNT_TOKEN, or SERVICE_API_TOKEN itself, for this command.",
      );
    }
    if (health === null) {
      return fail(
        `The node at ${url} does not answer as it should: ${reason}.`,
        code === "RUNTIME_UNAUTHORIZED" ? "See secrets.token." : "See `cairn logs --level warn`, then `cairn restart`.",
      );
    }
    const words = `The node at ${url} is ${health.status}${health.draining ? " and draining" : ""}, up for ${duration(health.uptime_s * 1_000)}.`;
    if (health.status === "unhealthy") return fail(words, "See the other checks, and `cairn logs --level warn`.");
    if (health.status === "degraded") return warn(words, "See the other checks, and `cairn logs --level warn`.");
    return pass(words);
  },
};
