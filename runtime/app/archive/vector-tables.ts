import type { Database, Transaction } from "../../contracts/database.ts";
import { MemoryError } from "../../contracts/errors.ts";
import { createUnindexedTable, embeddingTable, indexEmbeddingTable } from "../recall/embedding-tables.ts";

/**
 * The tables of vectors in a restore: those of the archive's models replace the empty ones of the target, and their indexes
 * are built when all vectors are there, in the same transaction.
 */

/** At least; an index that does not fit into it is finished row by row. */
const INDEX_MEMORY_KB = 192 * 1024;

/** A model that is configured already has a table without vectors; the archive's models take their numbers. */
export async function dropUnusedModels(tx: Transaction): Promise<void> {
  const { rows } = await tx.query<{ readonly id: number }>("select id from embedding_models");
  for (const { id } of rows) await tx.query(`drop table if exists ${embeddingTable(id)}`);
  await tx.query("delete from embedding_models");
}

/** The tables of the archive's models. Their indexes come last, by `indexTables`. */
export async function createTables(tx: Transaction, backend: Database["backend"]): Promise<void> {
  for (const model of await modelsOf(tx)) await createUnindexedTable(tx, backend, model);
}

/**
 * Indexes all vectors at once: a server does it several times faster than row by row, the embedded store twice, whose thread
 * is blocked meanwhile.
 */
export async function indexTables(tx: Transaction, backend: Database["backend"]): Promise<void> {
  await tx.query(
    `select set_config('maintenance_work_mem', greatest(setting::bigint, $1) || 'kB', true)
     from pg_settings where name = 'maintenance_work_mem'`,
    [INDEX_MEMORY_KB],
  );
  // A build that nobody waits for any more ends, and with it the transaction; a server on Windows cannot tell, nor the embedded store.
  await tx
    .savepoint((inner) => inner.query("select set_config('client_connection_check_interval', '1000', true)"))
    .catch(() => {});
  for (const model of await modelsOf(tx)) await indexTable(tx, backend, model);
}

/** By several processes of the server, which need the memory of the index in /dev/shm; where a container has less, by one. */
async function indexTable(tx: Transaction, backend: Database["backend"], model: Model): Promise<void> {
  try {
    await tx.savepoint((inner) => indexEmbeddingTable(inner, backend, model));
  } catch (error) {
    // A server says the same of a disk, on which the next attempt fails as well.
    if (!(error instanceof MemoryError && error.code === "MEMORY_STORE_FULL")) throw error;
    await tx.query("select set_config('max_parallel_maintenance_workers', '0', true)");
    await indexEmbeddingTable(tx, backend, model);
  }
}

interface Model {
  readonly id: number;
  readonly dimensions: number;
}

async function modelsOf(tx: Transaction): Promise<readonly Model[]> {
  const { rows } = await tx.query<Model>("select id, dimensions from embedding_models order by id");
  return rows;
}
