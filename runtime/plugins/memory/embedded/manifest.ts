import type { Database } from "../../../contracts/database.ts";
import type { PluginManifest } from "../../../contracts/plugin.ts";
import type { EmbeddedSettings } from "./index.ts";

export const embedded = {
  kind: "memory",
  id: "embedded",
  about: "A store in the home directory, for one process",
  configuration: "memory.embedded",
  create: async (options) => (await import("./index.ts")).openEmbedded(options),
} as const satisfies PluginManifest<"memory", EmbeddedSettings, Database>;
