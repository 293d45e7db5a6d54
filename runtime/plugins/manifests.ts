/** The plugins that every installation has. Cheap to import: a plugin is loaded when one is made. */

import { agent } from "./channels/agent/manifest.ts";
import { CHANNELS } from "./channels/manifests.ts";
import { EMBEDDINGS } from "./embeddings/manifests.ts";
import { autoActions } from "./hooks/auto-actions/manifest.ts";
import { safety } from "./hooks/safety/manifest.ts";
import { sessionSummary } from "./hooks/session-summary/manifest.ts";
import { embedded } from "./memory/embedded/manifest.ts";
import { postgres } from "./memory/postgres/manifest.ts";
import { PROVIDERS } from "./providers/manifests.ts";
import { TOOLS } from "./tools/manifests.ts";

export const MANIFESTS = {
  provider: PROVIDERS,
  channel: [agent, ...CHANNELS],
  tool: TOOLS,
  memory: [postgres, embedded],
  embedding: EMBEDDINGS,
  hook: [safety, autoActions, sessionSummary],
} as const;
