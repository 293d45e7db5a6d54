/** Slack with an app in Socket Mode. */

import { startSlackFake } from "../../../fakes/slack/index.ts";
import { OWNER, type StoredMessage } from "../../../fakes/slack/workspace.ts";
import type { Chat, HeldRequest } from "./chat.ts";

const METHODS: Readonly<Record<HeldRequest, string>> = {
  acknowledgement: "acknowledge",
  message: "chat.postMessage",
  change: "chat.update",
};

export async function slackChat(): Promise<Chat> {
  const fake = await startSlackFake();
  const app = fake.app();
  const { token, appToken, holds, sockets, refusedTokens } = app.state;
  let last: StoredMessage | undefined;
  return {
    channel: "slack",
    settings: { token: "${SLACK_TOKEN}", app_token: "${APP_TOKEN}", owner_id: OWNER, base_url: fake.url },
    env: { SLACK_TOKEN: token, APP_TOKEN: appToken },
    attach: () => undefined,
    say(text, channel = app.direct, answered) {
      // Slack shows what a message answers as an attachment of it.
      last = app.say(text, {
        channel,
        ...(answered === undefined ? {} : { with: { attachments: [{ text: answered }] } }),
      });
    },
    conversation: () => app.channel(),
    shown: () => app.sent().map(({ channel: conversation, text }) => ({ conversation, text })),
    held: (request, moment, nth) => holds.next(moment, ({ method }) => method === METHODS[request], nth),
    changeLast(text) {
      if (last === undefined) return;
      const { channel, ts, user } = last;
      const message = { type: "message", user, ts, text, edited: { user, ts } };
      const event = { type: "message", channel, channel_type: "im", hidden: true, event_ts: ts };
      last.text = text;
      app.envelope("events_api", { event: { ...event, subtype: "message_changed", message } });
      last.deleted = true;
      app.envelope("events_api", { event: { ...event, subtype: "message_deleted", deleted_ts: ts } });
    },
    unreachable(isDown) {
      fake.fault = isDown ? "down" : "none";
      if (isDown) app.cut();
    },
    revoked(isRevoked) {
      for (const one of [token, appToken]) {
        if (isRevoked) refusedTokens.set(one, "token_revoked");
        else refusedTokens.delete(one);
      }
      if (isRevoked) app.cut();
    },
    unacknowledged: () => sockets.pending.size,
  };
}
