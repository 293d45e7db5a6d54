import { setTimeout as sleep } from "node:timers/promises";
import { retryAfterS, type Watch } from "./watch.ts";

/** Sends requests again for the SDKs that do not, and keeps what a refusal says: those SDKs lose its headers. */

/** A response that is no success. */
export class Refusal extends Error {
  readonly status: number;
  readonly retryAfterS: number | undefined;
  readonly body: string;

  constructor(status: number, wait: number | undefined, body: string) {
    super(`HTTP ${status}`);
    this.name = "Refusal";
    this.status = status;
    this.retryAfterS = wait;
    this.body = body;
  }
}

/**
 * A fetch over that of the watch, which the watch's signal ends. Where there is no connection, or for 408, 409, 429 and 5xx, it
 * sends up to `maxRetries` times again. Rejects with a Refusal for every response that is no success.
 */
export function createResend(watch: Watch, maxRetries: number): typeof globalThis.fetch {
  return async (input, init) => {
    for (let failed = 0; ; failed += 1) {
      const response = await attempt(watch, input, init).catch((error: unknown) => {
        if (watch.signal.aborted || failed >= maxRetries) throw error;
        return undefined;
      });
      if (response?.ok) return response;
      const refusal = response === undefined ? undefined : await refusalOf(response);
      if (refusal !== undefined && (failed >= maxRetries || !mayHelp(response))) throw refusal;
      await sleep((refusal?.retryAfterS ?? pauseS(failed)) * 1_000, undefined, { signal: watch.signal });
    }
  };
}

function attempt(watch: Watch, input: Parameters<typeof fetch>[0], init: RequestInit | undefined): Promise<Response> {
  return watch.fetch(input, { ...init, signal: watch.signal });
}

async function refusalOf(response: Response): Promise<Refusal> {
  return new Refusal(response.status, retryAfterS(response.headers), await response.text());
}

/** The watch marks a response that asks for a longer pause than its caller would wait. */
function mayHelp(response: Response | undefined): boolean {
  if (response === undefined) return true;
  const { status, headers } = response;
  return headers.get("x-should-retry") !== "false" && ([408, 409, 429].includes(status) || status >= 500);
}

/** Doubles up to eight seconds, a random part of a quarter less, so that many clients do not come back at once. */
function pauseS(failed: number): number {
  return Math.min(0.5 * 2 ** failed, 8) * (1 - Math.random() / 4);
}
