import type { ChannelManifest } from "../manifest.ts";

export const voice = {
  kind: "channel",
  id: "voice",
  about: "Recordings over HTTP, answered by speech, sentence by sentence",
  configuration: "channels.<id>",
  create: async (needs) => (await import("./index.ts")).createVoiceChannel(needs),
} as const satisfies ChannelManifest;
