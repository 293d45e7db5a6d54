/** A person who writes to a Telegram bot, by long polling or by a webhook. */

import { formatted } from "../../../runtime/plugins/channels/telegram/texts.ts";
import { tooMany } from "../../fakes/telegram/bot.ts";
import { startTelegramFake } from "../../fakes/telegram/index.ts";
import { until } from "../eventually.ts";
import type { NodeProcess } from "../node-process.ts";
import { channelState } from "../receiving-nodes.ts";
import type { ChatSide } from "./chat-side.ts";

const OWNER = 1;

export async function telegramSide(by: "polling" | "webhook"): Promise<ChatSide> {
  const fake = await startTelegramFake();
  const bot = fake.bot();
  const said: { readonly id: number; readonly text: string; readonly isCommand: boolean }[] = [];
  let last: object = {};
  const write = (text: string, more: object = {}): void => {
    const message = bot.say("caption" in more ? "" : text, { with: more });
    last = message;
    said.push({ id: message.message_id, text, isCommand: text.startsWith("/") });
  };
  let behind: NodeProcess | undefined;
  // What Telegram's servers do: they reach whichever node is behind the address.
  bot.state.post = async ({ url, headers, body }) => {
    if (fake.fault !== "none") return 502;
    const path = new URL(url).pathname;
    const response = await behind
      ?.request(path, { json: body, headers: { ...headers, authorization: "" } })
      .catch(() => ({ status: 502 }));
    return response?.status ?? 502;
  };
  const webhook = by === "polling" ? {} : { webhook: "https://cairn.example.org" };
  return {
    config: {
      channels: {
        telegram: {
          token: "${BOT_TOKEN}",
          owner_id: OWNER,
          base_url: fake.url,
          ...webhook,
          reconnect: { initial_delay: "50ms", max_delay: "500ms" },
        },
      },
    },
    env: { BOT_TOKEN: bot.token },
    async attach(node) {
      const isUp = async () => (await channelState(node, "telegram"))?.state === "up";
      if (by === "polling") return until(isUp);
      behind = node;
      await until(isUp);
    },
    async say(text, file) {
      if (file === undefined) return write(text);
      const id = `file-${said.length}`;
      bot.state.files.set(id, { path: `documents/${id}`, content: () => [Buffer.from(file)] });
      const document = { file_id: id, file_unique_id: id, file_name: "notes.txt", mime_type: "text/plain" };
      write(text, { document, caption: text });
    },
    async command(line) {
      write(line);
    },
    edit: (text) => bot.update({ edited_message: { ...last, text, edit_date: 1 } }),
    // Telegram tells bots nothing of it.
    remove: () => undefined,
    async stop() {
      write("/stop");
    },
    async choose(choice) {
      const asked = bot.state.calls.findLast(({ body }) => body["reply_markup"] !== undefined);
      const { keyboard } = Object(asked?.body["reply_markup"]);
      const button = keyboard.flat().find(({ text }: { readonly text: string }) => text.endsWith(choice));
      write(button.text);
    },
    limit() {
      const until = performance.now() + 1_000;
      bot.state.refuse = (method) =>
        /^(send|edit)Message/i.test(method) && performance.now() < until ? tooMany(1) : undefined;
    },
    drop() {
      fake.fault = "down";
    },
    restore() {
      fake.fault = "none";
    },
    rendered: (reply) =>
      formatted(reply)
        .map(({ text }) => text)
        .join(""),
    shown() {
      const commands = new Set(said.filter(({ isCommand }) => isCommand).map(({ id }) => id));
      const mine = said.map(({ id, ...one }) => ({ id, by: "person" as const, ...one }));
      const its = bot.state.sent
        .filter(({ deleted }) => !deleted)
        .map(({ id, text, replyTo }) => ({ id, by: "agent" as const, text, isCommand: commands.has(replyTo ?? -1) }));
      return [...mine, ...its].toSorted((a, b) => a.id - b.id);
    },
  };
}
