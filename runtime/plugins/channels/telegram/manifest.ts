import type { ChannelManifest } from "../manifest.ts";

export const telegram = {
  kind: "channel",
  id: "telegram",
  about: "Telegram, by a bot",
  takesWebhooks: true,
  configuration: "channels.<id>",
  owner: { pattern: /^[1-9]\d*$/, allowed: "the number of a Telegram user, not a name" },
  conversation: {
    pattern: /^-?\d{1,15}(?::\d{1,10})?$/,
    allowed: "the number of a chat, such as 12345 or -10012345, with `:` and its number where it is a topic",
    // The private chat with a user has that user's number.
    ofOwner: (ownerId) => ownerId,
  },
  create: async (needs) => (await import("./index.ts")).createTelegramChannel(needs),
} as const satisfies ChannelManifest;
