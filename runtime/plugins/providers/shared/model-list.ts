import { type ListedModels, modelNames } from "../../../contracts/model-names.ts";
import type { ModelListRequest } from "../manifest.ts";

export interface ListOptions {
  /** The platform's own when absent. */
  readonly fetch: typeof globalThis.fetch | undefined;
  readonly signal: AbortSignal;
  /** Whether the server has no others than those that it lists. */
  readonly complete: boolean;
}

/** What a server lists; null where it refuses, or gives no list. Rejects where nothing answers. */
export async function listedModels(
  { url, headers }: ModelListRequest,
  { fetch = globalThis.fetch, signal, complete }: ListOptions,
): Promise<ListedModels | null> {
  const response = await fetch(url, { headers: { ...headers }, redirect: "manual", signal });
  if (!response.ok) {
    await response.body?.cancel();
    return null;
  }
  const names = modelNames(await response.json());
  return names && { names, complete };
}
