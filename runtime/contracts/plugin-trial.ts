/** What goes to the process that tries a plugin, and what comes back. */

import type { LoadedKind } from "./plugin.ts";

/** What `create` is given, but for the functions. */
export type PlainNeeds = { readonly id: string; readonly settings: Readonly<Record<string, unknown>> } & Readonly<
  Record<string, unknown>
>;

export interface LoadRequest {
  /** Absolute path of the module. */
  readonly file: string;
  readonly kind: LoadedKind;
  /** One for each call of `create`; none where the configuration has no entry of its kind. */
  readonly needs: readonly PlainNeeds[];
}

/** To the process. `nonce` is of this trial alone, and the plugin is not given it: its own messages are no outcome. */
export interface TrialRequest {
  readonly nonce: string;
  readonly request: LoadRequest;
}

export type TrialOutcome =
  /** Names of the tools or hooks that it makes; none of a provider or channel. */
  | { readonly ok: true; readonly names: readonly string[] }
  /** Why it cannot be loaded, as the end of a sentence. */
  | { readonly ok: false; readonly reason: string };

/** From the process, when it can take a request: its own start, slow on a busy machine, is not the plugin's time. */
export const READY = "ready";

/** Milliseconds that a plugin may take to be loaded, and that the process may take to start. */
export const LOAD_MS = 20_000;
export const START_MS = 60_000;

const MAX_REASON = 300;

/** The first line of what was thrown, as the end of a sentence. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const [line = ""] = text.split("\n");
  return line.trim() === "" ? "it throws an error without a message" : line.slice(0, MAX_REASON);
}

export function overdue(ms: number): string {
  return `it takes longer than ${ms / 1_000} s to be loaded`;
}
