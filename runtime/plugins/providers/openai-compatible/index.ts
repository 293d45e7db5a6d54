import type { Provider } from "../../../contracts/provider.ts";
import type { ProviderSettings } from "../shared/settings.ts";
import { OpenAiCompatibleProvider } from "./provider.ts";

export type { ProviderSettings } from "../shared/settings.ts";

/** A provider for any chat-completions endpoint. Makes no connection and loads no SDK until it is called. */
export function createOpenaiCompatibleProvider(settings: ProviderSettings): Provider {
  return new OpenAiCompatibleProvider(settings);
}
