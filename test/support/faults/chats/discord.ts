/** Discord with a bot on its gateway: what was taken the node notes itself. */

import { OWNER, type StoredMessage } from "../../../fakes/discord/bot.ts";
import { startDiscordFake } from "../../../fakes/discord/index.ts";
import type { Chat } from "./chat.ts";

/** `isForgetful`: a nonce is known no more when the node comes back, as after some minutes. */
export async function discordChat({ isForgetful = false } = {}): Promise<Chat> {
  const fake = await startDiscordFake();
  const bot = fake.bot();
  let last: StoredMessage | undefined;
  if (isForgetful) bot.state.nonceMs = 0;
  // As much as a node can write.
  bot.state.limit.count = 1_000_000;
  return {
    channel: "discord",
    settings: { token: "${DISCORD_TOKEN}", owner_id: OWNER, base_url: fake.url },
    env: { DISCORD_TOKEN: bot.token },
    attach: () => undefined,
    say(text, channel = bot.direct, answered) {
      const more = answered === undefined ? {} : { with: { referenced_message: { content: answered } } };
      last = bot.say(text, { channel, ...more });
    },
    conversation: () => bot.channel(),
    shown: () => bot.sent().map(({ channel_id: conversation, content: text }) => ({ conversation, text })),
    held(request, moment, nth) {
      if (request === "acknowledgement") throw new Error("Discord is told of nothing.");
      const wanted = request === "message" ? "POST" : "PATCH";
      return bot.state.holds.next(moment, ({ method, path }) => method === wanted && path.includes("/messages"), nth);
    },
    changeLast(text) {
      if (last === undefined) return;
      const { id, channel_id } = last;
      last.content = text;
      bot.event("MESSAGE_UPDATE", { id, channel_id, content: text });
      last.deleted = true;
      bot.event("MESSAGE_DELETE", { id, channel_id });
    },
    unreachable(isDown) {
      fake.fault = isDown ? "down" : "none";
      if (isDown) bot.cut();
    },
    revoked(isRevoked) {
      if (!isRevoked) return bot.restore();
      bot.revoke();
      bot.disconnect(4_004);
    },
    unacknowledged: () => 0,
  };
}
