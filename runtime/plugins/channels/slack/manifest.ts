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
  setup: {
    owner: { where: "Your member id is in your profile in Slack: the three dots, Copy member ID." },
    binds: true,
    fields: [
      {
        key: "token",
        label: "Token of the slack bot",
        variable: "SLACK_TOKEN",
        where:
          "An app is made at https://api.slack.com/apps, From a manifest (docs/channels.md has it). Install App, then OAuth & Permissions shows the Bot User OAuth Token.",
      },
      {
        key: "app_token",
        label: "App-level token of the slack app",
        variable: "SLACK_APP_TOKEN",
        where: "Basic Information, App-Level Tokens: generate one with the scope connections:write.",
      },
      { key: "base_url", label: "Address of Slack's API", unasked: true },
    ],
    verify: async (secret, signal) => (await import("./verify.ts")).verifyToken(secret, signal),
  },
  create: async (needs) => (await import("./index.ts")).createSlackChannel(needs),
} as const satisfies ChannelManifest;
