/** A setup of each channel on a real terminal: what is typed in `cairn init`, and the first message and its answer after it. */

import { expect, onTestFinished } from "vitest";
import { CHANNELS } from "../../../runtime/plugins/channels/manifests.ts";
import { startAudioFake } from "../../fakes/audio/index.ts";
import { OWNER as DISCORD_OWNER } from "../../fakes/discord/bot.ts";
import { startDiscordFake } from "../../fakes/discord/index.ts";
import { startSlackFake } from "../../fakes/slack/index.ts";
import { OWNER as SLACK_OWNER } from "../../fakes/slack/workspace.ts";
import { startTelegramFake } from "../../fakes/telegram/index.ts";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { allEvents, spokenIn, talk } from "../talking.ts";
import { down, ENTER, type Script } from "./setup-session.ts";
import { KEYS } from "./terminal.ts";

export const OWNER_TOKEN = "cairn_test-token-of-the-owner";
const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 50 };
const HELLO = "My boat is called Albatross.";
/** What the provider without a model answers. */
const NOTED = "Noted";
const CHOOSE = "Where else shall people reach the agents?";
const TELEGRAM_OWNER = 123_456_789;

export interface ChannelSetup {
  readonly argv: readonly string[];
  /** What is asked of channels and their secrets. */
  readonly script: Script;
  /** What the screen has in place of what is another at each run, or there for the fake alone. */
  readonly shown: (text: string) => string;
  /** The first message; what was said there, line by line. */
  readonly talk: (url: string) => Promise<readonly string[]>;
}

const KEEP = (text: string): string => text.replace(/^ *base_url: http:\/\/127\.0\.0\.1.*\n/gm, "");

export const CHANNEL_SETUPS: Readonly<Record<"Telegram" | "Discord" | "Slack" | "Voice", () => Promise<ChannelSetup>>> =
  {
    Telegram: async () => {
      const fake = await startTelegramFake();
      const bot = fake.bot("albatross_bot");
      return {
        argv: ["--channel-setting", `telegram/base_url=${fake.url}`],
        script: [
          [CHOOSE, ENTER],
          ["Variable that holds the token of the telegram bot", ENTER],
          ["Public https address", ENTER],
          ["Your id on telegram", `${TELEGRAM_OWNER}${ENTER}`],
          ["Token of the telegram bot for", `${"1".repeat(9)}:${"A".repeat(35)}${ENTER}`],
          ["Telegram refuses the bot's token", `${bot.token}${ENTER}`],
          ["the bot is @albatross_bot", ""],
        ],
        shown: KEEP,
        async talk() {
          bot.say(HELLO, { from: TELEGRAM_OWNER, chat: TELEGRAM_OWNER });
          await expect.poll(() => bot.state.sent.at(-1)?.text ?? "", EVENTUALLY).toContain(NOTED);
          return [`You: ${HELLO}`, `albatross_bot: ${beginning(bot.state.sent.at(-1)?.text)}`];
        },
      };
    },
    Discord: async () => {
      const fake = await startDiscordFake();
      onTestFinished(() => fake.close());
      const bot = fake.bot("albatross");
      return {
        argv: ["--channel-setting", `discord/base_url=${fake.url}`],
        script: [
          [CHOOSE, ENTER],
          ["Variable that holds the token of the discord bot", ENTER],
          ["Your id on discord", `${DISCORD_OWNER}${ENTER}`],
          ["Token of the discord bot for", `${bot.token}${ENTER}`],
          ["Discord takes the token", ""],
        ],
        shown: KEEP,
        async talk() {
          bot.say(HELLO);
          await expect.poll(() => bot.sent().at(-1)?.content ?? "", EVENTUALLY).toContain(NOTED);
          return [`You: ${HELLO}`, `albatross: ${beginning(bot.sent().at(-1)?.content)}`];
        },
      };
    },
    Slack: async () => {
      const fake = await startSlackFake();
      const app = fake.app();
      return {
        argv: ["--channel-setting", `slack/base_url=${fake.url}`],
        script: [
          [CHOOSE, ENTER],
          ["Variable that holds the token of the slack bot", ENTER],
          ["Variable that holds the app-level token", ENTER],
          ["Your id on slack", `${SLACK_OWNER}${ENTER}`],
          ["Token of the slack bot for", `${app.state.token}${ENTER}`],
          ["App-level token of the slack app for", `${app.state.appToken}${ENTER}`],
          ["Slack takes the token", ""],
        ],
        shown: KEEP,
        async talk() {
          app.say(HELLO);
          await expect.poll(() => app.sent().at(-1)?.text ?? "", EVENTUALLY).toContain(NOTED);
          return [`You: ${HELLO}`, `albatross: ${beginning(app.sent().at(-1)?.text)}`];
        },
      };
    },
    Voice: async () => {
      const apiKey = "key-of-the-speech-server";
      const audio = await startAudioFake({ apiKey });
      onTestFinished(() => audio.close());
      return {
        argv: [],
        script: [
          [CHOOSE, `${KEYS.down.repeat(CHANNELS.findIndex(({ id }) => id === "voice"))}${KEYS.space}${down(0)}`],
          ["Address of the API that turns speech into text", `${audio.baseUrl}${ENTER}`],
          ["Its model", `whisper-1${ENTER}`],
          ["Variable that holds the key of the transcription", ENTER],
          ["Address of the API that turns text into speech", ENTER],
          ["Its model", `tts-1${ENTER}`],
          ["Its voice", ENTER],
          ["Variable that holds the key of the speech", ENTER],
          ["Key of the transcription for", `${apiKey}${ENTER}`],
          ["takes the key", ""],
        ],
        shown: (text) => text.replaceAll(new URL(audio.baseUrl).host, "127.0.0.1:8880"),
        async talk(url) {
          const events = await allEvents(await talk(url, HELLO, { token: OWNER_TOKEN }));
          return [`You say: ${HELLO}`, `The agent says: ${spokenIn(events).join(" ")}`];
        },
      };
    },
  };

/** Its first paragraph: what follows is how to get a model. */
function beginning(text = ""): string {
  return text.split("\n\n")[0] ?? "";
}
