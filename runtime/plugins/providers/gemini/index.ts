import type { Provider } from "../../../contracts/provider.ts";
import type { ProviderSettings } from "../shared/settings.ts";
import { GeminiProvider } from "./provider.ts";

export type { ProviderSettings } from "../shared/settings.ts";

/** A provider for Google's Gemini API. Makes no connection and loads no SDK until it is called. */
export function createGeminiProvider(settings: ProviderSettings): Provider {
  return new GeminiProvider(settings);
}
