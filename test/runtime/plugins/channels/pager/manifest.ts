import type { ChannelManifest } from "../../../../../runtime/plugins/channels/manifest.ts";

export const pager = {
  kind: "channel",
  id: "pager",
  about: "Pager, a service for short messages",
  configuration: "channels.<id>",
  owner: { pattern: /^[a-z]{1,20}$/, allowed: "the name of a Pager user, in small letters" },
  create: async (needs) => (await import("./index.ts")).createPagerChannel(needs),
} as const satisfies ChannelManifest;
