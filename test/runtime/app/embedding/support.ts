import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 } from "uuid";
import { onTestFinished } from "vitest";
import { createEmbedding, type Embedding, type EmbeddingDeps } from "../../../../runtime/app/embedding/embedding.ts";
import { embeddingTable } from "../../../../runtime/app/recall/embedding-tables.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import type { Clock } from "../../../../runtime/contracts/ports.ts";
import { createOpenaiCompatibleEmbedding } from "../../../../runtime/plugins/embeddings/openai-compatible/index.ts";
import { type FakeEncoder, type FakeEncoderOptions, startFakeEncoder } from "../../../fakes/embeddings/index.ts";
import { quietLogger } from "../../../support/databases.ts";
import { said, write, writerOf } from "../../../support/memory.ts";

/** An encoder and embedders over a test's database, whose pauses pass at once and are counted. */

export const never = new AbortController().signal;

export async function fakeEncoder(options: FakeEncoderOptions = {}): Promise<FakeEncoder> {
  const fake = await startFakeEncoder(options);
  onTestFinished(() => fake.close());
  return fake;
}

export interface Embedder extends Embedding {
  /** Milliseconds of every pause that was asked for. */
  readonly pauses: readonly number[];
  /** Lets the embedder's clock go on. */
  pass(ms: number): void;
}

export function embedderOf(
  database: Database,
  fake: FakeEncoder,
  options: Partial<EmbeddingDeps> & { readonly model?: string; readonly timeoutMs?: number } = {},
): Embedder {
  const { model = "words", timeoutMs, ...deps } = options;
  const pauses: number[] = [];
  let ahead = 0;
  const clock: Clock = { now: () => new Date(), monotonic: () => performance.now() + ahead };
  const service = createOpenaiCompatibleEmbedding({ model, baseUrl: `${fake.url}/v1`, timeoutMs });
  const embedding = createEmbedding({
    database,
    service,
    redact: (text) => text,
    batch: 8,
    clock,
    newId: v7,
    logger: quietLogger,
    async sleep(ms, signal) {
      pauses.push(ms);
      await sleep(1, undefined, { signal });
    },
    ...deps,
  });
  return {
    ...embedding,
    pauses,
    pass(ms) {
      ahead += ms;
    },
  };
}

export interface ModelState {
  readonly id: number;
  readonly name: string;
  readonly dimensions: number;
  readonly current: boolean;
  readonly vectors: number;
}

/** The listed models, oldest first, with how many vectors each has. */
export async function models(database: Database): Promise<ModelState[]> {
  const { rows } = await database.query<Omit<ModelState, "vectors">>(
    "select id, name, dimensions, current from embedding_models order by id",
  );
  const states: ModelState[] = [];
  for (const row of rows) {
    const { rows: counted } = await database.query<{ n: number }>(
      `select count(*)::int as n from ${embeddingTable(row.id)}`,
    );
    states.push({ ...row, vectors: counted[0]?.n ?? 0 });
  }
  return states;
}

export interface WorkRow {
  readonly id: string;
  readonly attempts: number;
  readonly error: string | null;
  readonly claimed: boolean;
  readonly due: boolean;
  readonly failed: boolean;
}

export async function work(database: Database): Promise<WorkRow[]> {
  const { rows } = await database.query<WorkRow>(
    `select id, attempts, error, claimed_by is not null as claimed, due_at is not null as due,
       failed_at is not null as failed from embedding_work order by id`,
  );
  return rows;
}

/** As if the time of the next attempt had come. */
export async function makeDue(database: Database): Promise<void> {
  await database.query("update embedding_work set due_at = now() where due_at is not null");
}

/** So many messages of different words. */
export async function fill(database: Database, count: number, word = "message"): Promise<string[]> {
  const entries = Array.from({ length: count }, (_, index) => said(`${word} number ${index}`));
  const { rows } = await write(writerOf(database), `s:${randomUUID()}`, entries);
  return rows.map(({ id }) => id);
}
