/** Asks Slack whether it takes a token that was typed at a setup: the bot's, or the app's. */

import { ChannelError } from "../../../contracts/errors.ts";
import type { TypedSecret } from "../manifest.ts";
import { createApi } from "./api.ts";
import { APP_TOKEN_REFUSED, connectionError, TOKEN_REFUSED } from "./errors.ts";
import { SERVER } from "./server.ts";

/** CHANNEL_REFUSED for a token that Slack does not take; CHANNEL_CONNECTION_LOST where it cannot be asked. */
export async function verifyToken({ key, value, settings }: TypedSecret, signal: AbortSignal): Promise<string> {
  const baseUrl = (settings["base_url"] ?? SERVER).replace(/\/+$/, "");
  const ended = new AbortController();
  const api = createApi({ token: value, appToken: value, baseUrl, signal: ended.signal });
  try {
    if (key === "app_token") await api.socketUrl(signal);
    else await api.identity(signal);
    return "Slack takes the token.";
  } catch (error) {
    const failure = connectionError(error);
    const isRefused = failure.message === TOKEN_REFUSED || failure.message === APP_TOKEN_REFUSED;
    throw isRefused ? new ChannelError("CHANNEL_REFUSED", failure.message) : failure;
  } finally {
    ended.abort();
  }
}
