/** The provider of a setup: what was answered, completed by what is known of it. Pure. */
import { knownProvider } from "../../runtime/config/known-ids.ts";
import type { Answers } from "./answers.ts";
import { type CatalogueEntry, SERVICES } from "./catalogue.ts";
import type { ProviderChoice } from "./detect.ts";

export function serviceOf(id: string): CatalogueEntry | undefined {
  return SERVICES.find((service) => service.id === id);
}

/** As it will stand in cairn.yaml. `found` is what the machine offers, from which the reason follows. */
export function chosenProvider({ provider }: Answers, found: readonly ProviderChoice[]): ProviderChoice {
  const id = provider.id ?? "offline";
  const detected = found.find((one) => one.id === id && sameModel(one, provider));
  const service = serviceOf(id);
  const kind = provider.kind ?? detected?.kind ?? knownProvider(id)?.kind ?? "openai-compatible";
  if (kind === "offline") return detected ?? { id, kind, source: "answers", reason: "chosen by the answers" };
  const baseUrl = provider.base_url ?? (kind === service?.kind ? service.baseUrl : undefined);
  return {
    id,
    kind,
    ...(provider.model === undefined ? {} : { model: provider.model }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(provider.api_key_variable === undefined ? {} : { keyVariable: provider.api_key_variable }),
    source: detected?.source ?? "answers",
    reason: detected?.reason ?? "chosen by the answers",
  };
}

/** A well-known provider of a further agent. */
export function furtherProvider(
  id: string,
  model: string | undefined,
  found: readonly ProviderChoice[],
): ProviderChoice {
  const detected = found.find((one) => one.id === id);
  const service = serviceOf(id);
  const [keyVariable] = service?.keyVariables ?? [];
  const chosen = model ?? detected?.model ?? service?.model;
  const baseUrl = detected?.baseUrl ?? service?.baseUrl;
  return {
    id,
    kind: detected?.kind ?? knownProvider(id)?.kind ?? "openai-compatible",
    ...(chosen === undefined ? {} : { model: chosen }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(keyVariable === undefined ? {} : { keyVariable }),
    source: "answers",
    reason: "chosen by the answers",
  };
}

function sameModel(found: ProviderChoice, { model, base_url, api_key_variable }: Answers["provider"]): boolean {
  return (
    found.model === model &&
    (base_url === undefined || found.baseUrl === base_url) &&
    (found.keyVariable ?? null) === (api_key_variable ?? null)
  );
}
