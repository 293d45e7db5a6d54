/** The schema of each release: what nodes of the next minor must leave readable. A new release is added before its tag is made. */

export interface ReleasedSchema {
  readonly release: string;
  /** Number of its latest migration. */
  readonly schema: number;
}

export const RELEASED: readonly ReleasedSchema[] = [
  { release: "0.2.0", schema: 25 },
  { release: "0.3.0", schema: 25 },
];

/** Before the first release: the last schema that older code cannot work with. */
export const FIRST_SCHEMA = 16;
