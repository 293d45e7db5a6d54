/** Loads plugins of other people: first in a process of its own, then in the node. */

import { LOAD_MS, type LoadRequest, overdue, reasonOf } from "../../contracts/plugin-trial.ts";
import type { Logger } from "../../contracts/ports.ts";
import { tryPlugin } from "../../files/plugin-trial.ts";
import { openPlugin } from "./open.ts";

export { provideApi } from "./open.ts";

export type LoadOutcome =
  | { readonly made: readonly unknown[]; readonly reason: null }
  | { readonly made: null; readonly reason: string };

export interface LoadDeps {
  readonly logger: Logger;
  /** Of the node's end. */
  readonly signal: AbortSignal;
  readonly deadlineMs?: number;
}

/** Never rejects, but with the signal's reason. */
export async function loadPlugin(request: LoadRequest, deps: LoadDeps): Promise<LoadOutcome> {
  const { logger, signal, deadlineMs = LOAD_MS } = deps;
  const tried = await tryPlugin(request, signal, deadlineMs);
  if (!tried.ok) return { made: null, reason: tried.reason };
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(overdue(deadlineMs))), deadlineMs);
  try {
    return { made: await Promise.race([openPlugin(request, logger), late.promise]), reason: null };
  } catch (error) {
    return { made: null, reason: reasonOf(error) };
  } finally {
    clearTimeout(timer);
  }
}
