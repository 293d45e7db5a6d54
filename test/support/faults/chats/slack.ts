/** Slack with an app in Socket Mode. */

import { startSlackFake } from "../../../fakes/slack/index.ts";
import { OWNER } from "../../../fakes/slack/workspace.ts";
import type { Chat, HeldRequest } from "./chat.ts";

const METHODS: Readonly<Record<HeldRequest, string>> = {
  acknowledgement: "acknowledge",
  message: "chat.postMessage",
  change: "chat.update",
};

export async function slackChat(): Promise<Chat> {
  const fake = await startSlackFake();
  const app = fake.app();
  const { token, appToken, holds, sockets } = app.state;
  return {
    channel: "slack",
    settings: { token: "${BOT_TOKEN}", app_token: "${APP_TOKEN}", owner_id: OWNER, base_url: fake.url },
    env: { BOT_TOKEN: token, APP_TOKEN: appToken },
    attach: () => undefined,
    say: (text, channel = app.direct) => void app.say(text, { channel }),
    conversation: () => app.channel(),
    shown: () => app.sent().map(({ channel: conversation, text }) => ({ conversation, text })),
    held: (request, moment, nth) => holds.next(moment, ({ method }) => method === METHODS[request], nth),
    unacknowledged: () => sockets.pending.size,
  };
}
