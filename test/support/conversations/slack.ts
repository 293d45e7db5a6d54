/** A person who writes to a Slack app in private. */

import { escaped, readable } from "../../../runtime/plugins/channels/slack/text.ts";
import { startSlackFake } from "../../fakes/slack/index.ts";
import { OWNER, type StoredMessage, tooMany } from "../../fakes/slack/workspace.ts";
import { until } from "../eventually.ts";
import { channelState } from "../receiving-nodes.ts";
import type { ChatSide } from "./chat-side.ts";

export async function slackSide(): Promise<ChatSide> {
  const fake = await startSlackFake();
  const app = fake.app();
  /** As it was written, whatever became of it. */
  const said = new Map<string, string>();
  let last: StoredMessage | undefined;
  const write = (text: string, more: object = {}): void => {
    last = app.say(escaped(text), { with: more });
    said.set(last.ts, text);
  };
  const changed = (subtype: string, what: object): void => {
    if (last === undefined) return;
    const event = { type: "message", channel: last.channel, channel_type: "im", hidden: true, event_ts: last.ts };
    app.envelope("events_api", { event: { ...event, subtype, ...what } });
  };
  return {
    config: {
      channels: {
        slack: {
          token: "${SLACK_TOKEN}",
          app_token: "${APP_TOKEN}",
          owner_id: OWNER,
          base_url: fake.url,
          reconnect: { initial_delay: "50ms", max_delay: "500ms" },
        },
      },
    },
    env: { SLACK_TOKEN: app.state.token, APP_TOKEN: app.state.appToken },
    attach: (node) => until(async () => (await channelState(node, "slack"))?.state === "up"),
    async say(text, file) {
      if (file === undefined) return write(text);
      const attachment = app.file("notes.txt", () => [Buffer.from(file)], { size: file.length });
      write(text, { subtype: "file_share", files: [attachment] });
    },
    // Slack keeps what begins with a slash to itself.
    command: async (line) => write(line.replace(/^\//, "!")),
    edit(text) {
      if (last === undefined) return;
      const { ts, user } = last;
      last.text = escaped(text);
      changed("message_changed", { message: { type: "message", user, ts, text: last.text, edited: { user, ts } } });
    },
    remove() {
      if (last === undefined) return;
      last.deleted = true;
      changed("message_deleted", { deleted_ts: last.ts });
    },
    stop: async () => write("!stop"),
    async choose(choice) {
      // The buttons come in a message of their own, behind the question.
      const asked = () => app.sent().findLast(({ blocks }) => blocks.some(({ elements = [] }) => elements.length > 0));
      await until(() => asked() !== undefined);
      const question = asked();
      if (question) app.press(question, choice);
    },
    limit() {
      const end = performance.now() + 1_000;
      app.state.refuse = ({ method }) =>
        /^chat\.(?:postMessage|update)$/.test(method) && performance.now() < end ? tooMany(1) : undefined;
    },
    drop() {
      fake.fault = "down";
      app.cut();
    },
    restore() {
      fake.fault = "none";
    },
    shown() {
      const messages = app.state.channels.get(app.direct)?.messages ?? [];
      const shown = messages.filter(({ ts, deleted }) => said.has(ts) || !deleted);
      let isAwaited = false;
      return shown.map(({ ts, text }) => {
        const own = said.get(ts);
        if (own !== undefined) {
          isAwaited = own.startsWith("!");
          return { by: "person", text: own, isCommand: isAwaited };
        }
        // What answers a command stands below it, and names no message: the reply of a turn that it stopped may come between.
        const isCommand = isAwaited && !/^answer \d+:/.test(text);
        isAwaited &&= !isCommand;
        return { by: "agent", text: readable(text), isCommand };
      });
    },
  };
}
