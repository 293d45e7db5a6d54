/** Asks Discord whether it takes the token that was typed at a setup. */

import { DiscordAPIError } from "@discordjs/rest";
import { ChannelError } from "../../../contracts/errors.ts";
import type { TypedSecret } from "../manifest.ts";
import { createApi } from "./api.ts";
import { connectionError, TOKEN_REFUSED } from "./errors.ts";
import { SERVER } from "./server.ts";

/** CHANNEL_REFUSED for a token of no bot; CHANNEL_CONNECTION_LOST where Discord cannot be asked. */
export async function verifyToken({ value, settings }: TypedSecret, signal: AbortSignal): Promise<string> {
  const ended = new AbortController();
  const baseUrl = (settings["base_url"] ?? SERVER).replace(/\/+$/, "");
  try {
    await createApi({ token: value, baseUrl, signal: ended.signal }).gateway(signal);
    return "Discord takes the token.";
  } catch (error) {
    if (error instanceof DiscordAPIError && error.status === 401)
      throw new ChannelError("CHANNEL_REFUSED", TOKEN_REFUSED);
    throw connectionError(error);
  } finally {
    ended.abort();
  }
}
