/** Channels beside the HTTP one, which is always there. */

import { telegram } from "./telegram/manifest.ts";

export const CHANNELS = [telegram] as const;
