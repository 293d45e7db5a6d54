/**
 * What tells that something read before is still true. Every statement that reads rows for a search brings it along, from the
 * same snapshot as its rows.
 */

export interface StoreState {
  /**
   * The same for as long as rows and vectors stay what they were. It differs after a restart, on another server, in a database
   * that was made anew, with another model, and when a model's vectors were: a server that went back to an earlier state, by a
   * failover or a restore, was started since. One that lost a process was not, but loses only commits that nobody waits for,
   * which none of rows and vectors is. A database that was copied from another one has the same tables under the same
   * numbers, but a number of its own.
   */
  readonly text: string;
  /** The current model; null without one. */
  readonly modelId: number | null;
  /** Another one after each write to the counts of accesses, and never one that stood for others before (migration 012). */
  readonly accessVersion: number;
}

/** SQL of it, as `readState` takes it. */
export const STATE = `concat_ws(' ', (select version from access_version),
    coalesce((select id from embedding_models where current), 0), extract(epoch from pg_postmaster_start_time()),
    (select oid from pg_database where datname = current_database()), to_regclass('messages')::oid,
    (select concat_ws(' ', to_regclass('embeddings_' || id)::oid, dimensions, name) from embedding_models where current))`;

export function readState(sent: string): StoreState {
  const end = sent.indexOf(" ");
  const text = sent.slice(end + 1);
  const modelId = Number(text.slice(0, text.indexOf(" ")));
  return { text, modelId: modelId === 0 ? null : modelId, accessVersion: Number(sent.slice(0, end)) };
}
