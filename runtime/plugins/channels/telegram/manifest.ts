import type { ChannelManifest } from "../manifest.ts";

export const telegram = {
  kind: "channel",
  id: "telegram",
  about: "Telegram, by a bot that asks for its messages",
  configuration: "channels.<id>",
  create: async (needs) => (await import("./index.ts")).createTelegramChannel(needs),
} as const satisfies ChannelManifest;
