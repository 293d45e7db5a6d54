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
  setup: {
    owner: { where: "Your id is a number: the bot @userinfobot answers with it." },
    binds: true,
    fields: [
      {
        key: "token",
        label: "Token of the telegram bot",
        variable: "TELEGRAM_TOKEN",
        where: "A bot is made in Telegram: write /newbot to @BotFather, which ends with the bot's token.",
      },
      {
        key: "webhook",
        label: "Public https address for Telegram to call",
        empty: "the node asks Telegram itself",
        pattern: /^https:\/\/\S+$/,
        allowed: "an address that starts with https://",
      },
      { key: "base_url", label: "Address of the Bot API", unasked: true },
    ],
    verify: async (secret, signal) => (await import("./verify.ts")).verifyToken(secret, signal),
  },
  create: async (needs) => (await import("./index.ts")).createTelegramChannel(needs),
} as const satisfies ChannelManifest;
