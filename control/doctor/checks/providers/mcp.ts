/** Whether the node is connected to its MCP servers, and offers all that they list. */

import { visible } from "../../../output/visible.ts";
import { type Check, pass, skip, warn } from "../check.ts";

export const providersMcp: Check = {
  id: "providers.mcp",
  subject: "the MCP servers as the node sees them",
  async run(context) {
    const { mcp } = await context.health();
    const servers = Object.entries(mcp ?? {});
    if (servers.length === 0) return skip("The node has no MCP servers.");
    const missing = servers.filter(([, { state }]) => state !== "up");
    if (missing.length > 0) {
      const lines = missing.map(
        ([id, { state, reason }]) => `${id} is ${state}${reason ? ` (${visible(reason)})` : ""}`,
      );
      return warn(
        `The node is not connected to all of its MCP servers: ${lines.join(", ")}.`,
        "It tries again by itself; `cairn logs --grep MCP` has the last words of a program that ends.",
      );
    }
    const changed = servers.filter((server) => server[1].changed.length > 0);
    if (changed.length > 0) {
      const lines = changed.map(([id, { changed: names }]) => `${id} (${names.map(visible).join(", ")})`);
      return warn(
        `Tools have changed since they were first seen, and are withheld from agents: ${lines.join("; ")}.`,
        `See them with \`cairn mcp approve ${changed[0]?.[0]}\`, which says how to offer them, or leave the tool out by \`exclude\`.`,
      );
    }
    const leftOut = servers.flatMap(([id, { left_out }]) =>
      left_out.map(({ name, reason }) => `${id}, ${visible(name)}: ${visible(reason)}`),
    );
    if (leftOut.length > 0) {
      return warn(
        "Some tools of MCP servers cannot be offered to agents.",
        "Have them corrected in the server, or leave them out by `exclude`.",
        { details: leftOut },
      );
    }
    return pass(`The node is connected to ${servers.map(([id]) => id).join(", ")}.`);
  },
};
