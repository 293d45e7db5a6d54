/** Whether the node runs, and the health that it reports. */

import { duration } from "../../../output/words.ts";
import { type Check, fail, pass, warn } from "../check.ts";

export const deploymentNode: Check = {
  id: "deployment.node",
  subject: "whether the node runs and is healthy",
  async run(context) {
    const { state, target, health, reason, url, code, fix } = await context.node();
    if (state === "stopped" && target !== null) return warn(`${reason}.`, "Deploy it with `cairn infra up`.");
    if (state === "stopped") return warn(`${reason}.`, "Start it with `cairn start --detach`.");
    if (state === "busy") {
      return warn(
        "Another process holds the home directory, and cannot be talked to.",
        "A node that starts, a short-lived command or a container: try again.",
      );
    }
    if (code === "CONFIG_SECRET_UNRESOLVED") {
      return warn(
        `${url === null ? "The node" : `A node runs at ${url}, and`} cannot be asked: ${reason}.`,
        "Set OP_SERVICE_ACCOUNT_TOKEN, or SERVICE_API_TOKEN itself, for this command.",
      );
    }
    if (health === null) {
      const see =
        target === null ? "See `cairn logs --level warn`, then `cairn restart`." : "See `cairn infra status`.";
      return fail(
        `The node${url === null ? "" : ` at ${url}`} does not answer as it should: ${reason}.`,
        code === "RUNTIME_UNAUTHORIZED" ? "See secrets.token." : (fix ?? see),
      );
    }
    const words = `The node at ${url} is ${health.status}${health.draining ? " and draining" : ""}, up for ${duration(health.uptime_s * 1_000)}.`;
    const see = `See the other checks, and \`${target === null ? "cairn logs --level warn" : "cairn infra status"}\`.`;
    if (health.status === "unhealthy") return fail(words, see);
    if (health.status === "degraded") return warn(words, see);
    return pass(words);
  },
};
