/** Looking into values of unknown shape. Pure. */

/** An object that is no array: something with keys. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
