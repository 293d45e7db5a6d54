/** A long conversation over each channel, in which much goes wrong: in the end the transcript is what was said and what is shown, once each. */

import { expect, it } from "vitest";
import type { ChatSide } from "../support/conversations/chat-side.ts";
import { converse } from "../support/conversations/converse.ts";
import { discordSide } from "../support/conversations/discord.ts";
import { isExchange, theScript } from "../support/conversations/exchanges.ts";
import { agentSide, voiceSide } from "../support/conversations/http-sides.ts";
import { slackSide } from "../support/conversations/slack.ts";
import { telegramSide } from "../support/conversations/telegram.ts";

const SIDES: Readonly<Record<string, readonly [channel: string, side: () => ChatSide | Promise<ChatSide>]>> = {
  "Telegram, asked for messages": ["telegram", () => telegramSide("polling")],
  "Telegram, by its webhook": ["telegram", () => telegramSide("webhook")],
  Discord: ["discord", discordSide],
  Slack: ["slack", slackSide],
  "recordings and speech": ["voice", voiceSide],
  "the agent channel": ["agent", agentSide],
};

it.each(Object.entries(SIDES))("over %s", async (_name, [channel, side]) => {
  const script = theScript();
  expect(script.filter(isExchange)).toHaveLength(64);
  await converse(await side(), channel, script);
});
