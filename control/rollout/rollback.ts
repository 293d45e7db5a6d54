/** Gives one node a new version step by step, and rolls it back to the former one when a step fails, such as the gate. */

/** One that can be repeated: a journal records each around its work, and an interrupted one is run again. */
export interface Step<Name extends string> {
  readonly name: Name;
  run(): Promise<void>;
}

export interface NodeChange<Name extends string> {
  readonly forward: readonly Step<Name>[];
  /** Null: there is nothing to go back to. */
  readonly back: readonly Step<Name>[] | null;
  /** Runs a step, and writes it down where there is a journal. */
  readonly record: (name: Name, work: () => Promise<void>) => Promise<void>;
  /** Errors that the former program would not mend, such as a lock: they are thrown, and nothing goes back. */
  readonly isUnrelated?: (error: unknown) => boolean;
}

/**
 * `stuck`: it neither passed nor came back. `back`: why not; null: there was nothing to go back to. `cause`: what the step that
 * failed threw.
 */
export type RolledBack =
  | { readonly kind: "rolled_back"; readonly reason: string; readonly cause?: unknown }
  | { readonly kind: "stuck"; readonly reason: string; readonly back: string | null; readonly cause?: unknown };
export type ChangeEnd = { readonly kind: "passed" } | RolledBack;

/** Rejects only with errors that `isUnrelated` accepts. */
export async function changeNode<Name extends string>(change: NodeChange<Name>): Promise<ChangeEnd> {
  const failed = await failureOf(change, change.forward);
  return failed === null ? { kind: "passed" } : { ...(await rollBack(change, failed.reason)), cause: failed.cause };
}

/** The rollback alone, for a change that was interrupted in it. */
export async function rollBack<Name extends string>(change: NodeChange<Name>, reason: string): Promise<RolledBack> {
  if (change.back === null) return { kind: "stuck", reason, back: null };
  const back = await failureOf(change, change.back);
  return back === null ? { kind: "rolled_back", reason } : { kind: "stuck", reason, back: back.reason };
}

/** Why the first step that failed did; null: none has. */
async function failureOf<Name extends string>(
  { record, isUnrelated }: NodeChange<Name>,
  steps: readonly Step<Name>[],
): Promise<{ readonly reason: string; readonly cause: unknown } | null> {
  try {
    for (const { name, run } of steps) await record(name, run);
    return null;
  } catch (error) {
    if (isUnrelated?.(error)) throw error;
    return { reason: error instanceof Error ? error.message : String(error), cause: error };
  }
}
