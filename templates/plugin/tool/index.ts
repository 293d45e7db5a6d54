/** A tool that says what time it is. */

import { type CreateTool, ToolError } from "cairn-agents/plugin";

export const create = (({ settings }) => ({
  name: "NAME",
  description: "Says what time it is in a time zone.",
  parameters: {
    type: "object",
    properties: { zone: { type: "string", description: "Such as Europe/Berlin." } },
    additionalProperties: false,
  },
  /** It changes nothing: calls may run side by side. */
  parallel: true,
  async execute({ zone = settings["zone"] }) {
    try {
      const time = new Intl.DateTimeFormat("en-GB", { timeZone: String(zone), dateStyle: "full", timeStyle: "long" });
      return { content: time.format() };
    } catch {
      // The model reads it, and may call again.
      throw new ToolError("TOOL_INVALID_ARGUMENTS", `There is no time zone ${zone}.`);
    }
  },
})) satisfies CreateTool;
