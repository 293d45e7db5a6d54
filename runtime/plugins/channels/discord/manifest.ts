import type { ChannelManifest } from "../manifest.ts";

export const discord = {
  kind: "channel",
  id: "discord",
  about: "Discord, by a bot that is connected to its gateway",
  configuration: "channels.<id>",
  owner: { pattern: /^[1-9]\d{16,19}$/, allowed: "the id of a Discord user (17 to 20 digits), not a name" },
  create: async (needs) => (await import("./index.ts")).createDiscordChannel(needs),
} as const satisfies ChannelManifest;
