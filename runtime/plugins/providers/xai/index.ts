import type { Provider } from "../../../contracts/provider.ts";
import type { ProviderSettings } from "../shared/settings.ts";
import { XaiProvider } from "./provider.ts";

export type { ProviderSettings } from "../shared/settings.ts";

/** A provider for Grok by xAI. Makes no connection and loads no SDK until it is called. */
export function createXaiProvider(settings: ProviderSettings): Provider {
  return new XaiProvider(settings);
}
