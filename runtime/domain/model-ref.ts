/** Which provider and model answer a turn: the session's override, else the agent's own, then the agent's fallbacks. */

export interface ModelRef {
  readonly provider: string;
  /** Absent: the provider's own default. */
  readonly model?: string;
}

export interface ModelChoice {
  readonly provider: string;
  readonly model?: string;
  /** Entries of the form `<provider>:<model>`. */
  readonly fallbacks: readonly string[];
}

/** `provider:model` when the part before the first colon names a provider, else a model of the given provider. */
export function parseModelRef(text: string, knownProviders: ReadonlySet<string>, ownProvider: string): ModelRef {
  const colon = text.indexOf(":");
  const head = text.slice(0, colon);
  if (colon > 0 && knownProviders.has(head)) return { provider: head, model: text.slice(colon + 1) };
  return { provider: ownProvider, model: text };
}

/** What is known of a provider's models: the only ones that it has, where it has not any. */
export type ModelOffers = ReadonlyMap<string, { readonly models?: readonly string[] | undefined }>;

/** Whether a session's override, which names its provider, can still be used: providers come and go with the configuration. */
export function isOffered(override: string, providers: ModelOffers): boolean {
  const colon = override.indexOf(":");
  const provider = providers.get(override.slice(0, colon));
  return provider !== undefined && (provider.models?.includes(override.slice(colon + 1)) ?? true);
}

/** The models to try, in order, each once. */
export function modelChain(
  choice: ModelChoice,
  override: string | undefined,
  knownProviders: ReadonlySet<string>,
): ModelRef[] {
  const own: ModelRef =
    choice.model === undefined ? { provider: choice.provider } : { provider: choice.provider, model: choice.model };
  const first = override === undefined ? own : parseModelRef(override, knownProviders, choice.provider);
  const chain = [first, ...choice.fallbacks.map((entry) => parseModelRef(entry, knownProviders, choice.provider))];
  const seen = new Set<string>();
  return chain.filter((ref) => {
    const key = JSON.stringify([ref.provider, ref.model ?? null]);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
