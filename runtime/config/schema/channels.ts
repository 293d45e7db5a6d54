/** `channels`: where messages come from and where replies go. */
import { CHANNEL_KINDS } from "../known-ids.ts";
import { pluggableKind, pluginSettings } from "./plugins.ts";
import { duration, flag, identifier, integer, mapping, name, section, text, url } from "./scalars.ts";

const audioRoute = {
  base_url: url().describe("Address of an OpenAI-compatible API, such as `https://api.openai.com/v1`."),
  model: text(),
  api_key: text().optional().describe("As a reference such as ${OPENAI_API_KEY}. Not needed by servers without keys."),
};

const channel = section({
  kind: pluggableKind(CHANNEL_KINDS)
    .meta({ derived: true })
    .describe(
      `Known from the id where the id is a kind. This version has ${CHANNEL_KINDS.filter((kind) => kind !== "console")
        .map((kind) => `\`${kind}\``)
        .join(", ")}.`,
    ),
  enabled: flag().prefault(true),
  token: text().optional().describe("The bot's token, as a reference such as ${TELEGRAM_TOKEN}."),
  app_token: text()
    .optional()
    .describe("The app's own token, as a reference, for a platform that has one beside the bot's (Slack)."),
  owner_id: identifier()
    .optional()
    .describe(
      "Who the owner is on the platform. On the HTTP channel: the user name that stands for the owner, where a token of the owner names one.",
    ),
  base_url: url().optional().describe("Of a server of one's own for the platform's API. Default: the platform's."),
  webhook: url()
    .optional()
    .describe(
      "Public https address of the nodes, for a platform that posts messages to them (Telegram). Default: the channel asks for them.",
    ),
  pairing: flag().prefault(false).describe("Let the owner admit others by a code."),
  channel_bindings: mapping(text(), text("an agent's name"))
    .prefault({})
    .describe("Channel id to agent name, by the platform's own ids."),
  reconnect: section({
    max_retries: integer({ min: 0 }).prefault(10).describe("Attempts in a row before the channel is reported as down."),
    initial_delay: duration({ min: 10 })
      .prefault("1s")
      .describe("The first pause, which doubles with each attempt in a row; up to half of each is left out at random."),
    max_delay: duration({ min: 10 }).prefault("60s").describe("What pauses grow to."),
  })
    .prefault({})
    .describe("Exponential backoff with jitter."),
  transcription: section(audioRoute).optional().describe("Speech to text, for kind voice."),
  speech: section({
    ...audioRoute,
    voice: text().optional().describe("Who speaks, by the service's name. Default: alloy."),
  })
    .optional()
    .describe("Text to speech, for kind voice."),
  settings: pluginSettings().describe("Of a kind that a plugin brings: its own settings."),
  keep_audio: flag()
    .prefault(false)
    .describe("Kind voice: keep each recording as an attachment of its message. Default: only its words are kept."),
});

export const channelsSection = mapping(name("a channel's id"), channel)
  .prefault({})
  .describe("Channels, by id. The HTTP channel `agent` is always there.");
