/** Asks every provider for its list of models: that costs nothing, and shows whether it answers, takes its key, and what it has. */

import { isSecretReference } from "../../../runtime/config/references.ts";
import { modelNames } from "../../../runtime/contracts/model-names.ts";
import { reasonOf } from "./regular-file.ts";
import { modelList, type UsedProvider } from "./used-providers.ts";

export interface ModelServer extends UsedProvider {
  /** Null for one that needs no server. */
  readonly url: string | null;
  readonly answer: ServerAnswer;
}

export type ServerAnswer =
  | { readonly kind: "serverless" }
  /** Not asked: its key is in the password manager, or missing. */
  | { readonly kind: "not-asked"; readonly why: "password-manager" | "no-key" }
  | { readonly kind: "unreachable"; readonly reason: string }
  /** `models`: their ids; null where the server gives no list, or a part of it only. */
  | { readonly kind: "answered"; readonly status: number; readonly models: readonly string[] | null };

/** In the order of the configuration. Never rejects for a server that is not well. */
export function askModelServers(
  providers: readonly UsedProvider[],
  signal: AbortSignal,
): Promise<readonly ModelServer[]> {
  return Promise.all(
    providers.map(async (used) => {
      const list = modelList(used.provider);
      const made = (answer: ServerAnswer): ModelServer => ({ ...used, url: list?.url ?? null, answer });
      if (list === null) return made({ kind: "serverless" });
      const { api_key: key } = used.provider;
      if (key !== undefined && isSecretReference(key)) return made({ kind: "not-asked", why: "password-manager" });
      // Without its key it would only answer that; providers.keys reports it.
      if (list.needsKey && !key) return made({ kind: "not-asked", why: "no-key" });
      return made(await askForModels(list.url, list.headers, signal));
    }),
  );
}

/** Never rejects. */
export async function askForModels(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Extract<ServerAnswer, { kind: "answered" | "unreachable" }>> {
  try {
    const response = await fetch(url, { headers: { ...headers }, redirect: "manual", signal });
    return { kind: "answered", status: response.status, models: await modelsOf(response) };
  } catch (error) {
    return { kind: "unreachable", reason: signal.aborted ? "no answer in time" : causeOf(error) };
  }
}

/** Null where the answer is no list. */
async function modelsOf(response: Response): Promise<readonly string[] | null> {
  if (response.ok) return modelNames(await response.json().catch(() => null));
  await response.body?.cancel();
  return null;
}

/** What fetch hides: "fetch failed" has its reason inside. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0].message;
  return reasonOf(cause);
}
