/** Asks Telegram whose token was typed at a setup. */

import { Api, GrammyError } from "grammy";
import { ChannelError } from "../../../contracts/errors.ts";
import type { TypedSecret } from "../manifest.ts";
import { connectionError } from "./errors.ts";
import { SERVER } from "./server.ts";
import { given } from "./signal.ts";

const ANSWER_S = 10;

/** CHANNEL_REFUSED for a token of no bot; CHANNEL_CONNECTION_LOST where Telegram cannot be asked. */
export async function verifyToken({ value, settings }: TypedSecret, signal: AbortSignal): Promise<string> {
  const apiRoot = (settings["base_url"] ?? SERVER).replace(/\/+$/, "");
  try {
    const { username } = await new Api(value, { apiRoot, timeoutSeconds: ANSWER_S }).getMe(given(signal));
    return `Telegram takes the token: the bot is @${username}. Write to it once the node runs.`;
  } catch (error) {
    const { message } = connectionError(error);
    // An address with a token of the wrong form is one that is not there.
    if (error instanceof GrammyError && [401, 404].includes(error.error_code))
      throw new ChannelError("CHANNEL_REFUSED", message);
    throw connectionError(error);
  }
}
