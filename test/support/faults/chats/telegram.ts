/** Telegram with a bot that asks for its messages, or is posted them. */

import { startTelegramFake } from "../../../fakes/telegram/index.ts";
import type { NodeProcess } from "../../node-process.ts";
import type { Chat, HeldRequest } from "./chat.ts";

const OWNER = 1;
const METHODS: Readonly<Record<HeldRequest, string>> = {
  acknowledgement: "getUpdates",
  message: "sendMessage",
  change: "editMessageText",
};

export async function telegramChat(by: "polling" | "webhook"): Promise<Chat> {
  const fake = await startTelegramFake();
  const bot = fake.bot();
  const { token, state } = bot;
  let last: object = {};
  let behind: NodeProcess | undefined;
  let groups = 0;
  // What Telegram's servers do: they reach whichever node is behind the address.
  state.post = async ({ url, headers, body }) => {
    const node = behind;
    if (node === undefined) return 502;
    const given = { json: body, headers: { ...headers, authorization: "" } };
    const { status } = await node.request(new URL(url).pathname, given).catch(() => ({ status: 502 }));
    if (status !== 200) return status;
    const ended = node.exited.then(() => 502);
    return Promise.race([ended, state.holds.pass("before", { method: "posted", body: {} }).then(() => status)]);
  };
  return {
    channel: "telegram",
    settings: {
      token: "${TELEGRAM_TOKEN}",
      owner_id: OWNER,
      base_url: fake.url,
      ...(by === "webhook" ? { webhook: "https://cairn.example.org" } : {}),
    },
    env: { TELEGRAM_TOKEN: token },
    attach(node) {
      behind = node;
    },
    say(text, conversation = String(OWNER), answered) {
      const more = answered === undefined ? {} : { with: { reply_to_message: { message_id: 1, text: answered } } };
      last = bot.say(text, { chat: Number(conversation), ...more });
    },
    conversation: () => String(-100 - groups++),
    shown: () =>
      state.sent.filter(({ deleted }) => !deleted).map(({ chat, text }) => ({ conversation: String(chat), text })),
    held(request, moment, nth) {
      if (by === "webhook" && request === "acknowledgement") {
        return state.holds.next(moment, ({ method }) => method === "posted", nth);
      }
      return state.holds.next(
        moment,
        ({ method, body }) =>
          method === METHODS[request] && (request !== "acknowledgement" || Number(body["offset"]) > 0),
        nth,
      );
    },
    // Of what is taken away Telegram tells bots nothing.
    changeLast: (text) => bot.update({ edited_message: { ...last, text, edit_date: 1 } }),
    unreachable(isDown) {
      fake.fault = isDown ? "down" : "none";
    },
    revoked(isRevoked) {
      if (isRevoked) bot.revoke();
      else bot.restore();
    },
    unacknowledged: () => state.updates.length,
  };
}
