/** Settings of the coding pipeline (`tools.coding_pipeline.*`, `agents.<name>.checks`). */

export interface CodingSettings {
  /** Milliseconds for all of it. */
  readonly timeoutMs: number;
  /** Milliseconds for the checks of one round together. */
  readonly checkTimeoutMs: number;
  readonly maxRounds: number;
  /** Of one stage. */
  readonly maxTokens: number;
  /** By agent, of those that have their own; of the others they are found in the project. */
  readonly checks: ReadonlyMap<string, readonly string[]>;
}
