/** Discord with a bot on its gateway: what was taken the node notes itself. */

import { OWNER } from "../../../fakes/discord/bot.ts";
import { startDiscordFake } from "../../../fakes/discord/index.ts";
import type { Chat } from "./chat.ts";

/** `isForgetful`: a nonce is known no more when the node comes back, as after some minutes. */
export async function discordChat({ isForgetful = false } = {}): Promise<Chat> {
  const fake = await startDiscordFake();
  const bot = fake.bot();
  if (isForgetful) bot.state.nonceMs = 0;
  return {
    channel: "discord",
    settings: { token: "${BOT_TOKEN}", owner_id: OWNER, base_url: fake.url },
    env: { BOT_TOKEN: bot.token },
    attach: () => undefined,
    say: (text, channel = bot.direct) => void bot.say(text, { channel }),
    conversation: () => bot.channel(),
    shown: () => bot.sent().map(({ channel_id: conversation, content: text }) => ({ conversation, text })),
    held(request, moment, nth) {
      if (request === "acknowledgement") throw new Error("Discord is told of nothing.");
      const wanted = request === "message" ? "POST" : "PATCH";
      return bot.state.holds.next(moment, ({ method, path }) => method === wanted && path.includes("/messages"), nth);
    },
    unacknowledged: () => 0,
  };
}
