import type { Provider } from "../../../contracts/provider.ts";
import type { ProviderSettings } from "../shared/settings.ts";
import { OllamaProvider } from "./provider.ts";

export type { ProviderSettings } from "../shared/settings.ts";

/** A provider for a server of Ollama. Makes no connection and loads no SDK until it is called. */
export function createOllamaProvider(settings: ProviderSettings): Provider {
  return new OllamaProvider(settings);
}
