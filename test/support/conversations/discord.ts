/** A person who writes to a Discord bot in private. */

import { OWNER, type StoredMessage, tooMany } from "../../fakes/discord/bot.ts";
import { startDiscordFake } from "../../fakes/discord/index.ts";
import { until } from "../eventually.ts";
import { channelState } from "../receiving-nodes.ts";
import type { ChatSide } from "./chat-side.ts";

interface Button {
  readonly label: string;
  readonly custom_id: string;
}

export async function discordSide(): Promise<ChatSide> {
  const fake = await startDiscordFake();
  const bot = fake.bot();
  /** As it was written, whatever became of it. */
  const said = new Map<string, string>();
  let last: StoredMessage | undefined;
  const write = (text: string, more: object = {}): void => {
    last = bot.say(text, { with: more });
    said.set(last.id, text);
  };
  return {
    config: {
      channels: {
        discord: {
          token: "${BOT_TOKEN}",
          owner_id: OWNER,
          base_url: fake.url,
          reconnect: { initial_delay: "50ms", max_delay: "500ms" },
        },
      },
    },
    env: { BOT_TOKEN: bot.token },
    attach: (node) => until(async () => (await channelState(node, "discord"))?.state === "up"),
    async say(text, file) {
      if (file === undefined) return write(text);
      const attachment = bot.file("notes.txt", () => [Buffer.from(file)], file.length);
      write(text, { attachments: [{ ...attachment, content_type: "text/plain" }] });
    },
    async command(line) {
      write(line);
    },
    edit(text) {
      if (last === undefined) return;
      last.content = text;
      bot.event("MESSAGE_UPDATE", { id: last.id, channel_id: bot.direct, content: text });
    },
    remove() {
      if (last === undefined) return;
      last.deleted = true;
      bot.event("MESSAGE_DELETE", { id: last.id, channel_id: bot.direct });
    },
    async stop() {
      write("/stop");
    },
    async choose(choice) {
      const asked = bot.sent().findLast(({ components }) => components.length > 0);
      const rows = (asked?.components ?? []) as readonly { readonly components: readonly Button[] }[];
      const button = rows.flatMap(({ components }) => components).find(({ label }) => label === choice);
      const data = { custom_id: button?.custom_id, component_type: 2 };
      const pressed = bot.interact({ type: 3, data, message: { id: asked?.id } });
      await until(() => pressed.answer);
    },
    limit() {
      const end = performance.now() + 1_000;
      bot.state.refuse = ({ method, path }) =>
        method !== "GET" && path.includes("/messages") && performance.now() < end ? tooMany(1) : undefined;
    },
    drop() {
      fake.fault = "down";
      bot.cut();
    },
    restore() {
      fake.fault = "none";
    },
    shown: () =>
      (bot.state.channels.get(bot.direct)?.messages ?? [])
        .filter(({ id, deleted }) => said.has(id) || !deleted)
        .map(({ id, content, replyTo }) => {
          const own = said.get(id);
          if (own !== undefined) return { by: "person", text: own, isCommand: own.startsWith("/") };
          return { by: "agent", text: content, isCommand: said.get(replyTo ?? "")?.startsWith("/") ?? false };
        }),
  };
}
