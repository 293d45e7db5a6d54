/** Channels beside the HTTP one, which is always there. */

import { discord } from "./discord/manifest.ts";
import { slack } from "./slack/manifest.ts";
import { telegram } from "./telegram/manifest.ts";
import { voice } from "./voice/manifest.ts";

/** Those that are reached by a bot, with its token. */
export const CHAT_CHANNELS = [telegram, discord, slack] as const;

export const CHANNELS = [...CHAT_CHANNELS, voice] as const;
