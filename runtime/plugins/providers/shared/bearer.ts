/** Sends the token of a login instead of a key, and another one once where the API refuses it. */

import type { TokenSource } from "./settings.ts";

export interface Bearer {
  readonly fetch: typeof globalThis.fetch;
  /** Why there is no other token, when there is none: more helpful than the API's refusal. */
  failure(): unknown;
}

/** `token` is what the first request carries. A request is sent at most twice. */
export function withBearer(
  send: typeof globalThis.fetch,
  source: TokenSource,
  token: string,
  signal: AbortSignal | undefined,
): Bearer {
  let current = token;
  let failure: unknown;
  const attempt = (input: Parameters<typeof send>[0], init: RequestInit | undefined): Promise<Response> => {
    const headers = new Headers(init?.headers);
    headers.delete("x-api-key");
    headers.set("authorization", `Bearer ${current}`);
    return send(input, { ...init, headers });
  };
  return {
    failure: () => failure,
    async fetch(input, init) {
      const response = await attempt(input, init);
      if (response.status !== 401 || failure !== undefined) return response;
      try {
        current = await source.renew(current, signal);
      } catch (error) {
        failure = error;
        return response;
      }
      await response.body?.cancel();
      return attempt(input, init);
    },
  };
}
