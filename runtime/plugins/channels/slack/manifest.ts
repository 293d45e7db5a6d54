import type { ChannelManifest } from "../manifest.ts";

export const slack = {
  kind: "channel",
  id: "slack",
  about: "Slack, by an app in Socket Mode",
  configuration: "channels.<id>",
  takesAppToken: true,
  owner: { pattern: /^[UW][A-Z0-9]{2,20}$/, allowed: "the member id of a Slack user, such as U012AB3CD, not a name" },
  conversation: {
    pattern: /^[CDG][A-Z0-9]{2,20}(?::\d{1,12}\.\d{6})?$/,
    allowed: "the id of a channel, such as C012AB3CD, with `:` and the time of its first message where it is a thread",
  },
  create: async (needs) => (await import("./index.ts")).createSlackChannel(needs),
} as const satisfies ChannelManifest;
