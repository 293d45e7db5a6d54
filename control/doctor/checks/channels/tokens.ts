/** Whether every channel of a chat platform has its bot's token. */

import { channelManifest } from "../../../../runtime/config/channel-manifests.ts";
import { CHAT_KINDS } from "../../../../runtime/config/known-ids.ts";
import { isBuiltChannel } from "../../../../runtime/config/not-implemented.ts";
import { type Check, fail, pass, skip, Unavailable } from "../check.ts";

const NEEDS_TOKEN = new Set<string>(CHAT_KINDS);

export const channelsTokens: Check = {
  id: "channels.tokens",
  subject: "the tokens of the channels",
  async run(context) {
    const snapshot = await context.configuration();
    if (snapshot.state === "invalid") {
      const lines = snapshot.errors.flatMap(({ code, path, message }) =>
        code === "channel-token-missing" ? [`${path}: ${message}`] : [],
      );
      if (lines.length === 0) throw new Unavailable("The configuration is not valid.", ["config.valid"]);
      return fail(
        `Tokens of channels are missing: ${lines.join("; ")}.`,
        "Put the tokens into .env, or into the environment.",
      );
    }
    const { channels } = await context.config();
    const wanting = Object.entries(channels).filter(
      ([id, { kind, enabled }]) => enabled && NEEDS_TOKEN.has(kind) && isBuiltChannel(id, kind),
    );
    if (wanting.length === 0) return skip("No channel is configured that this version connects to with a token.");
    const without = wanting.filter(
      ([id, { kind, token, app_token: app }]) => !token || (channelManifest(id, kind)?.takesAppToken && !app),
    );
    if (without.length === 0) return pass(`${wanting.map(([id]) => id).join(", ")}: the token is there.`);
    return fail(
      `${without.map(([id]) => id).join(", ")}: the token is missing.`,
      "Put the bot's token into .env and refer to it as ${NAME} in channels.<id>.token (and the app's, where the platform has one, in app_token).",
    );
  },
};
