import type { ChannelManifest } from "../manifest.ts";

export const discord = {
  kind: "channel",
  id: "discord",
  about: "Discord, by a bot that is connected to its gateway",
  configuration: "channels.<id>",
  owner: { pattern: /^[1-9]\d{16,19}$/, allowed: "the id of a Discord user (17 to 20 digits), not a name" },
  conversation: {
    pattern: /^[1-9]\d{16,19}$/,
    allowed: "the id of a channel or thread (17 to 20 digits), not a name",
  },
  setup: {
    owner: {
      where:
        "Your id has 17 to 20 digits: in Discord's settings switch on Advanced, Developer Mode; then right-click your name, Copy User ID.",
    },
    binds: true,
    fields: [
      {
        key: "token",
        label: "Token of the discord bot",
        variable: "DISCORD_TOKEN",
        where:
          "A bot is made at https://discord.com/developers/applications: New Application, then Bot, Reset Token. Switch on Message Content Intent there, and invite the bot to a server of yours (docs/channels.md).",
      },
      { key: "base_url", label: "Address of Discord's API", unasked: true },
    ],
    verify: async (secret, signal) => (await import("./verify.ts")).verifyToken(secret, signal),
  },
  create: async (needs) => (await import("./index.ts")).createDiscordChannel(needs),
} as const satisfies ChannelManifest;
