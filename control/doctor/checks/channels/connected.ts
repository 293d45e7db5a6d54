/** Whether the node has every channel of the configuration, and is connected to it. */

import { isBuiltChannel } from "../../../../runtime/config/not-implemented.ts";
import { isWell } from "../../../../runtime/contracts/channel.ts";
import { applyCommand } from "../advice.ts";
import { type Check, fail, pass, warn } from "../check.ts";

export const channelsConnected: Check = {
  id: "channels.connected",
  subject: "the channels as the node sees them",
  async run(context) {
    const { channels: seen, draining } = await context.health();
    const { channels } = await context.config();
    // config.warnings reports those that this version does not have: no restart brings them.
    const wanted = Object.entries(channels).flatMap(([id, { enabled, kind }]) =>
      enabled && isBuiltChannel(id, kind) ? [id] : [],
    );
    const not = Object.entries(seen).filter(([, { state }]) => !isWell(state));
    const missing = wanted.filter((id) => !Object.hasOwn(seen, id));
    if (not.length === 0 && missing.length === 0) {
      return pass(`The node is connected to ${Object.keys(seen).join(", ") || "no channel"}.`);
    }
    const lines = [
      ...not.map(([id, { state, reason }]) => `${id} is ${state}${reason ? ` (${reason})` : ""}`),
      ...missing.map((id) => `${id} is not there`),
    ];
    const message = `The node is not connected to all of its channels: ${lines.join(", ")}.`;
    // A draining node disconnects on purpose: an update is no alarm.
    if (draining) return warn(message, "The node is draining: wait for its end, or call it back.");
    // It recovers by itself, or works in part.
    const lasting = missing.length > 0 || not.some(([, { state }]) => state === "down");
    return (lasting ? fail : warn)(
      message,
      missing.length > 0
        ? `Let the node read its configuration again: ${await applyCommand(context)}. Then see \`cairn logs --level warn\`.`
        : "See `cairn logs --level warn` for the reason.",
    );
  },
};
