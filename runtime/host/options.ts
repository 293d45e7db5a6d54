/** What a node is started with. */

import type { LoadedConfig } from "../config/index.ts";
import type { ServiceLog } from "./logger.ts";

export interface HostOptions {
  readonly loaded: LoadedConfig;
  readonly version: string;
  /** One start of the process. */
  readonly boot: string;
  readonly log: ServiceLog;
  /** Takes secrets out of texts that leave the process elsewhere than by the log. */
  readonly redact: (text: string) => string;
  /** Takes secrets that are known by value, and nothing else, out of what providers are sent. */
  readonly redactValues: (text: string) => string;
  /** Secrets that were not known at the start: from now on the log takes them out, too. */
  readonly hide: (secrets: readonly string[]) => void;
  /** Short-lived, for commands that need the store: loopback on a free port; no channels, no turns, no workers. */
  readonly maintenance: boolean;
  /** Started by `memory move`, which keeps other nodes out meanwhile. */
  readonly moving?: boolean;
}
