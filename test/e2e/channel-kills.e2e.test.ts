/**
 * The node is killed between a message of a chat platform and its acknowledged reply, at one step of each kind. The steps between them, on
 * each platform: channel-kills.nightly.
 */

import { CHAT_STEPS, describeKilledChats, type Platform } from "../support/faults/killed-chats.ts";

const CHOSEN = {
  "Telegram, polling": "before turn:draft (2), model slow",
  "Telegram, webhook": "before the platform takes acknowledgement 1, model silent",
  "Discord, later": "after the platform takes message 1, model quick",
  Slack: "after the platform takes message 2, model long",
} as const satisfies Partial<Record<Platform, string>>;

// The keys are what they are.
for (const [platform, name] of Object.entries(CHOSEN) as [Platform, string][]) {
  const chosen = CHAT_STEPS.filter((step) => step.name === name);
  if (chosen.length !== 1) throw new Error(`There is no step "${name}".`);
  describeKilledChats(platform, chosen);
}
