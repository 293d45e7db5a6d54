import type { Database, Queryable } from "../../contracts/database.ts";
import { MAX_EMBEDDING_DIMENSIONS } from "../../contracts/embedding.ts";
import { SCHEMA_LOCK } from "../migrate.ts";
import { createEmbeddingTable } from "../recall/embedding-tables.ts";

/**
 * The models whose vectors are stored. One is current: searches compare with its vectors. A changed model fills its own
 * table in the background and becomes current once every record that can have a vector has one.
 */

export interface StoredModel {
  readonly id: number;
  readonly name: string;
  /** As stored: at most 4,000. */
  readonly dimensions: number;
  readonly current: boolean;
}

/** The first use of a model waits for a migration, not for a search. */
const LOCK_TIMEOUT_MS = 60_000;

/** The model's entry and its table, made where they are missing. The first model of a store is current at once. */
export async function ensureModel(database: Database, name: string, dimensions: number): Promise<StoredModel> {
  const stored = Math.min(dimensions, MAX_EMBEDDING_DIMENSIONS);
  const found = await findModel(database, name, stored);
  if (found !== null) return found;
  return database.transaction(
    async (tx) => {
      await tx.query("select pg_advisory_xact_lock($1)", [SCHEMA_LOCK]);
      await tx.query(
        `insert into embedding_models (name, dimensions, current)
         select $1, $2, not exists (select 1 from embedding_models where current)
         on conflict (name, dimensions) do nothing`,
        [name, stored],
      );
      const model = await findModel(tx, name, stored);
      if (model === null) throw new Error("The embedding model that was just listed is not there.");
      await createEmbeddingTable(tx, database.backend, model);
      return model;
    },
    { lockTimeoutMs: LOCK_TIMEOUT_MS },
  );
}

async function findModel(database: Queryable, name: string, dimensions: number): Promise<StoredModel | null> {
  const { rows } = await database.query<StoredModel>(
    "select id, name, dimensions, current from embedding_models where name = $1 and dimensions = $2",
    [name, dimensions],
  );
  return rows[0] ?? null;
}

/** From now on searches compare with this model's vectors. */
export async function makeCurrent(database: Database, modelId: number): Promise<void> {
  await database.transaction(async (tx) => {
    // Two statements, because only one row may be current at any moment; the transaction hides the time in between.
    await tx.query("update embedding_models set current = false where current and id <> $1", [modelId]);
    await tx.query("update embedding_models set current = true where id = $1 and not current", [modelId]);
  });
}

export interface EmbeddingRows {
  readonly model: string;
  /** In work, waiting for another attempt, or given up. */
  readonly state: "claimed" | "retry" | "given_up";
  readonly rows: number;
}

/** Counts of what stands in the work table, which is short: rows that simply have no vector yet are not in it. */
export async function embeddingRows(database: Queryable): Promise<readonly EmbeddingRows[]> {
  const { rows } = await database.query<EmbeddingRows>(
    `select model.name as model, state.name as state, count(work.id)::int as rows
     from embedding_models model
     cross join (values ('claimed'), ('retry'), ('given_up')) as state (name)
     left join embedding_work work on work.model_id = model.id and state.name =
       case when work.failed_at is not null then 'given_up' when work.attempts > 0 then 'retry' else 'claimed' end
     group by model.name, state.name order by 1, 2`,
  );
  return rows;
}
