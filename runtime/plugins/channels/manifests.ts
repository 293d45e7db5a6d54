/** Channels beside the HTTP one, which is always there. */

import { discord } from "./discord/manifest.ts";
import { telegram } from "./telegram/manifest.ts";
import { voice } from "./voice/manifest.ts";

export const CHANNELS = [telegram, discord, voice] as const;
