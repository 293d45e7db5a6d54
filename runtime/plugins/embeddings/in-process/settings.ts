import type { LoadLibrary } from "./library.ts";

/** What a model in this process is made from: `memory.embedding` of the configuration. */
export interface InProcessSettings {
  /** A directory with the model's files, or its name, whose files are in the cache or come there at the first use. */
  readonly model: string;
  /** Where models are kept. */
  readonly cacheDirectory: string;
  readonly dimensions?: number | undefined;
  /** Deadline of one request, in milliseconds. Default five minutes: the first one may fetch the model. */
  readonly timeoutMs?: number | undefined;
  /** Loads the library; from where it is installed when absent. */
  readonly load?: LoadLibrary | undefined;
}
