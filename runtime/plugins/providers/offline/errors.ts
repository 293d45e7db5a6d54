import { CairnError, ProviderError } from "../../../contracts/errors.ts";

/** A memory that cannot be searched, as the failure of the provider that lives by it. */
export function toProviderError(id: string, error: unknown): ProviderError {
  const busy = error instanceof CairnError && error.retryable;
  const reason = error instanceof CairnError ? error.message : "an internal error";
  return new ProviderError(
    busy ? "PROVIDER_OVERLOADED" : "PROVIDER_SERVER_ERROR",
    `Provider "${id}" (offline): memory could not be searched: ${reason}`,
    { cause: error },
  );
}
