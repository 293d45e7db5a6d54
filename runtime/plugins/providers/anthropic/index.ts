import type { Provider } from "../../../contracts/provider.ts";
import type { ProviderSettings } from "../shared/settings.ts";
import { AnthropicProvider } from "./provider.ts";

export type { ProviderSettings } from "../shared/settings.ts";

/** A provider for Anthropic's messages API. Makes no connection and loads no SDK until it is called. */
export function createAnthropicProvider(settings: ProviderSettings): Provider {
  return new AnthropicProvider(settings);
}
