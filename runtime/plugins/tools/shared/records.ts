/** Plain objects of unknown shape. */

/** A copy without the named fields and without those that are null. */
export function without(
  record: Readonly<Record<string, unknown>>,
  names: ReadonlySet<string>,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([name, value]) => value !== null && !names.has(name)));
}
