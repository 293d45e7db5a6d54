/** What a migration must say of itself so that a fleet can be upgraded node by node (docs/storage.md, "Migrations"). Pure. */

export interface Statement {
  readonly version: number;
  readonly name: string;
  readonly compatibleFrom: number;
  readonly sql: string;
}

/** What takes from older code something that it may use. */
const CONTRACTS =
  /\bdrop (table|column|constraint|function|trigger|type|view)\b|\brename\b|\bset not null\b|\balter column \w+ (set data )?type\b|\badd constraint\b/i;

/**
 * What is wrong with a migration of the release in development; empty: nothing. `former`: the schema of the release before, whose
 * nodes live beside those that apply this one.
 */
export function wrongWith({ name, compatibleFrom, sql, version }: Statement, former: number): string[] {
  const contract = /^-- contract: (\d+)$/m.exec(sql)?.[1];
  const contracts = CONTRACTS.test(sql.replace(/^\s*--.*$/gm, ""));
  const wrong = (condition: boolean, words: string): string[] => (condition ? [`${name} ${words}`] : []);
  return [
    ...wrong(!/^-- compatible-from: \d+$/m.test(sql), "does not say `-- compatible-from: N`"),
    ...wrong(compatibleFrom > former, `shuts out nodes of the release before, which know ${former}`),
    ...wrong(compatibleFrom >= version, "is compatible with no schema before it"),
    ...wrong(contracts && contract === undefined, "takes something away and does not say `-- contract: N`"),
    ...wrong(!contracts && contract !== undefined, "says `-- contract: N` and takes nothing away"),
    ...wrong(
      contract !== undefined && compatibleFrom < Number(contract),
      `takes away what code before ${contract} uses, and says that it is compatible with ${compatibleFrom}`,
    ),
  ];
}

/** The schema of pg-boss that the migrations name last: `-- pg-boss: N`. Null where none does. */
export function jobQueueSchema(migrations: readonly Pick<Statement, "sql">[]): number | null {
  const named = migrations.flatMap(({ sql }) => /^-- pg-boss: (\d+)$/m.exec(sql)?.[1] ?? []);
  return named.length === 0 ? null : Number(named.at(-1));
}
