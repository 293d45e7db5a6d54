/** What an embedding backend is made from: each takes of it what it needs. */

import type { EmbeddingService } from "../../contracts/embedding.ts";
import type { PluginManifest } from "../../contracts/plugin.ts";
import type { InProcessSettings } from "./in-process/settings.ts";
import type { EmbeddingSettings } from "./shared/settings.ts";

export type EmbeddingNeeds = EmbeddingSettings & InProcessSettings;

/** Its id is `memory.embedding.provider`. */
export interface EmbeddingManifest extends PluginManifest<"embedding", EmbeddingNeeds, EmbeddingService> {
  /** Whether it calls a server, so that `base_url` has to be there. */
  readonly server: boolean;
}
