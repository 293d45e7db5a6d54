/** Whether the nodes that run can go on with a schema that another one is about to make. Pure. */

/** A node that lives. */
export interface SchemaReader {
  readonly name: string;
  /** Latest migration that it knows; null: it comes from a version that does not say so. */
  readonly schema: number | null;
}

export interface PlannedMigration {
  readonly version: number;
  /** Code that knows only this schema still works. */
  readonly compatibleFrom: number;
}

/**
 * The first node that could not work with the result; null: all can. `floor` is the schema that every node that runs knows at
 * least, since it works with what is applied: the highest `compatible-from` so far.
 */
export function unableToRead(
  planned: readonly PlannedMigration[],
  readers: readonly SchemaReader[],
  floor: number,
): SchemaReader | null {
  const needed = Math.max(0, ...planned.map(({ compatibleFrom }) => compatibleFrom));
  return readers.find(({ schema }) => (schema ?? floor) < needed) ?? null;
}
