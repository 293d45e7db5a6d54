import type { Provider } from "../../../contracts/provider.ts";
import { OfflineProvider, type OfflineSettings } from "./provider.ts";

export type { OfflineSettings } from "./provider.ts";

/** The provider of an installation without a model. */
export function createOfflineProvider(settings: OfflineSettings): Provider {
  return new OfflineProvider(settings);
}
