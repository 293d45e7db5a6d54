import { vi } from "vitest";
import { EVENTUALLY_MS } from "../lanes/patience.ts";

/** Resolves to what `look` returns once it neither throws nor rejects; rejects with its last error when it never does. */
export function eventually<T>(look: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(look, { timeout: EVENTUALLY_MS, interval: 20 });
}

/** Resolves to what `look` returns once that is truthy. Rejects when it never is, or when `look` throws. */
export function until<T>(look: () => T | Promise<T>) {
  return vi.waitUntil(look, { timeout: EVENTUALLY_MS, interval: 20 });
}
