import { ProviderError } from "../../../contracts/errors.ts";

/** How a request to an encoder failed, and the ProviderError that says so: the one place that decides codes and words. */

export interface Party {
  readonly model: string;
  /** Scheme and host, or where else the model runs. */
  readonly place: string;
  /** Taken out of whatever the server says. */
  readonly secret?: string | undefined;
}

export type Failure =
  | {
      readonly kind: "status";
      readonly status: number;
      readonly message?: string | undefined;
      readonly retryAfterS?: number | undefined;
    }
  | { readonly kind: "silent"; readonly timeoutMs: number }
  | { readonly kind: "unreachable"; readonly reason: string }
  | { readonly kind: "garbage"; readonly found: string };

const LONGEST_MESSAGE = 300;

export function toProviderError(party: Party, failure: Failure): ProviderError {
  const code = codeOf(failure);
  const retryAfterS = failure.kind === "status" ? failure.retryAfterS : undefined;
  const hint = hintOf(code, party);
  return new ProviderError(code, `The embedding model "${party.model}" (${party.place}) ${describe(failure, party)}.`, {
    ...(retryAfterS === undefined ? {} : { retryAfterS: Math.ceil(retryAfterS) }),
    ...(hint === undefined ? {} : { hint }),
  });
}

function codeOf(failure: Failure): ProviderError["code"] {
  switch (failure.kind) {
    case "silent":
      return "PROVIDER_TIMEOUT";
    case "unreachable":
      return "PROVIDER_UNREACHABLE";
    case "garbage":
      return "PROVIDER_BAD_RESPONSE";
    case "status":
      return codeOfStatus(failure.status);
  }
}

function codeOfStatus(status: number): ProviderError["code"] {
  if (status === 401 || status === 403) return "PROVIDER_UNAUTHORIZED";
  if (status === 429) return "PROVIDER_RATE_LIMITED";
  if (status === 408 || status === 504) return "PROVIDER_TIMEOUT";
  if (status === 502 || status === 503 || status === 529) return "PROVIDER_OVERLOADED";
  return status >= 500 ? "PROVIDER_SERVER_ERROR" : "PROVIDER_REJECTED_REQUEST";
}

function describe(failure: Failure, { secret }: Party): string {
  switch (failure.kind) {
    case "silent":
      return `did not answer within ${failure.timeoutMs / 1_000} s`;
    case "unreachable":
      return `cannot be reached: ${failure.reason}`;
    case "garbage":
      return `answered with ${failure.found}`;
    case "status": {
      const said = failure.message?.replaceAll(/\s+/g, " ").trim().slice(0, LONGEST_MESSAGE) ?? "";
      const clean = secret ? said.replaceAll(secret, "[key]") : said;
      return `answered with HTTP ${failure.status}${clean === "" ? "" : `: ${clean.replace(/[.]+$/, "")}`}`;
    }
  }
}

function hintOf(code: ProviderError["code"], { model, place }: Party): string | undefined {
  switch (code) {
    case "PROVIDER_UNAUTHORIZED":
      return "Set memory.embedding.api_key to a key that the server accepts.";
    case "PROVIDER_UNREACHABLE":
      return `Check memory.embedding.base_url, and that a server listens at ${place}.`;
    case "PROVIDER_REJECTED_REQUEST":
      return `Check memory.embedding.model: does the server have "${model}"?`;
    default:
      return undefined;
  }
}

/** The system's code of a network error, which says more than "fetch failed". */
export function networkReason(error: unknown): string {
  let reason = "connection failed";
  let current: unknown = error;
  for (let depth = 0; depth < 6 && current instanceof Error; depth += 1) {
    const code: unknown = "code" in current ? current.code : undefined;
    if (typeof code === "string") return code;
    reason = current.message || reason;
    // A host with several addresses fails once for each of them.
    current = current instanceof AggregateError ? current.errors[0] : current.cause;
  }
  return reason;
}

/** Scheme and host of an address; paths, queries and credentials are left out. */
export function placeOf(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : "an invalid address";
}
