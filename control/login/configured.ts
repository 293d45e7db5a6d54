/** Providers of a configuration that are used with a login. */

import { type Config, loginOf } from "../../runtime/config/index.ts";

/** Those with a key do not need one. Pure. */
export function providersWithLogin({ providers }: Pick<Config, "providers">): readonly string[] {
  return Object.entries(providers).flatMap(([id, provider]) =>
    provider.api_key === undefined && loginOf(provider) !== null ? [id] : [],
  );
}
