/** Signals for calls of the library. */

import type { Api } from "grammy";

/** The library's type is that of a package for old runtimes; it uses what both have. */
export function given(signal: AbortSignal): Parameters<Api["getMe"]>[0] {
  return signal as Parameters<Api["getMe"]>[0];
}
