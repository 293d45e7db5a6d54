import { embeddingTable } from "../embedding-tables.ts";
import type { EmbeddingModel } from "../query-analysis.ts";
import type { Values } from "../sql.ts";

/**
 * SQL for a text that is the same for as long as what was read stays true. It differs after a restart, on another server,
 * in a database that was made anew, with another model, and when a model's vectors were: a server that went back to an
 * earlier state, by a failover or a restore, was started since. A database that was copied from another one has the same
 * tables under the same numbers, but a number of its own.
 */
export function stateOf(model: EmbeddingModel | null, values: Values): string {
  const started = `extract(epoch from pg_postmaster_start_time()),
    (select oid from pg_database where datname = current_database()), to_regclass('messages')::oid`;
  if (model === null) return `concat_ws(' ', ${started})`;
  return `concat_ws(' ', ${started}, to_regclass('${embeddingTable(model.id)}')::oid,
    (select concat_ws(' ', id, dimensions, name) from embedding_models where id = ${values.add(model.id)}::int))`;
}
