import type { ChannelManifest } from "../manifest.ts";

export const discord = {
  kind: "channel",
  id: "discord",
  about: "Discord, by a bot that is connected to its gateway",
  configuration: "channels.<id>",
  create: async (needs) => (await import("./index.ts")).createDiscordChannel(needs),
} as const satisfies ChannelManifest;
