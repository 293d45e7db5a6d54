/** The order in which the quick check takes up tests that reach a change. */

/** `items` with those first whose test stands nearest to a changed file; a changed test itself is the nearest. */
export function nearestFirst<T>(items: readonly T[], changed: readonly string[], fileOf: (item: T) => string): T[] {
  const near = new Map(
    items.map((item) => [item, Math.max(0, ...changed.map((file) => nearness(fileOf(item), file)))]),
  );
  return items.toSorted((a, b) => (near.get(b) ?? 0) - (near.get(a) ?? 0));
}

/** Parts of the path that both share; `test/` stands before the rooms, and tests of a file carry its name. */
function nearness(test: string, changed: string): number {
  if (test === changed) return Number.POSITIVE_INFINITY;
  const parts = (path: string): string[] => path.replace(/^test\//, "").split(/[/.]/);
  const other = parts(changed);
  const own = parts(test);
  const differs = own.findIndex((part, at) => part !== other[at]);
  return differs === -1 ? own.length : differs;
}
