import type { ProviderManifest } from "../manifest.ts";

export const offline = {
  kind: "provider",
  id: "offline",
  about: "Answers with what the memory finds, without a language model",
  configuration: "providers.<id>",
  kinds: ["offline"],
  services: [{ id: "offline", kind: "offline" }],
  create: async ({ id, memory, timezone, inContainer }) =>
    (await import("./index.ts")).createOfflineProvider({ id, memory, timezone, inContainer }),
} as const satisfies ProviderManifest;
