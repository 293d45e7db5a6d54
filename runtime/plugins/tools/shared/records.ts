/** Plain objects of unknown shape. */

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A copy without the named fields and without those that are null. */
export function without(
  record: Readonly<Record<string, unknown>>,
  names: ReadonlySet<string>,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([name, value]) => value !== null && !names.has(name)));
}
