/** Fills a store with a corpus by the quickest way there is: past the writer, with the indexes of messages made afterwards. */

import { createEmbeddingTable, embeddingTable } from "../../runtime/app/recall/embedding-tables.ts";
import type { Database } from "../../runtime/contracts/database.ts";
import { type CorpusMessage, createCorpus } from "./corpus.ts";

export interface FillOptions {
  readonly messages: number;
  readonly seed?: number;
  /** Dimensions of each row's vector; without it there are none. */
  readonly dimensions?: number;
  /** Whether each conversation has a summary. */
  readonly summaries?: boolean;
  readonly onProgress?: (text: string) => void;
}

const PER_STATEMENT = 5_000;
const HOURS = { statementTimeoutMs: 6 * 3_600_000 };
/** Memory and processes for building indexes; the embedded store has one process, of 32 bits. */
const BUILD = {
  postgres: "set maintenance_work_mem = '3GB'; set max_parallel_maintenance_workers = 1",
  embedded: "set maintenance_work_mem = '500MB'",
} as const;

/** The store is migrated and empty. The text is `createCorpus` of the same number and seed. */
export async function fillStore(database: Database, options: FillOptions): Promise<void> {
  const { messages, seed = 1, dimensions, onProgress = () => undefined } = options;
  const corpus = createCorpus({ messages, seed });
  const rebuild = await withoutIndexes(database, "messages");
  await database.script("alter table messages disable trigger user", HOURS);
  let batch: CorpusMessage[] = [];
  let written = 0;
  for (const message of corpus.messages()) {
    batch.push(message);
    if (batch.length < PER_STATEMENT) continue;
    await insert(database, batch);
    written += batch.length;
    batch = [];
    if (written % 100_000 === 0) onProgress(`${written} messages`);
  }
  if (batch.length > 0) await insert(database, batch);
  await database.script("alter table messages enable trigger user", HOURS);
  onProgress("indexes of messages");
  await rebuild();
  if (options.summaries === true) await fillSummaries(database);
  if (dimensions !== undefined) await fillVectors(database, dimensions, onProgress);
  onProgress("vacuum analyze");
  await database.script("vacuum analyze", HOURS);
}

/** One of each conversation, which says the beginnings of its messages. */
async function fillSummaries(database: Database): Promise<void> {
  await database.script(
    `insert into summaries (id, conversation_id, content, message_count, earliest_at, latest_at)
       select md5('summary ' || conversation_id)::uuid, conversation_id, string_agg(left(content, 60), ' ' order by seq),
         count(*), min(created_at), max(created_at)
       from messages group by conversation_id;
     insert into summary_sources (summary_id, message_id, ordinal)
       select md5('summary ' || conversation_id)::uuid, id, row_number() over (partition by conversation_id order by seq)
       from messages`,
    HOURS,
  );
}

/** Drops the table's indexes that no constraint needs; what is returned makes them again. */
async function withoutIndexes(database: Database, table: string): Promise<() => Promise<void>> {
  const { rows } = await database.query<{ readonly name: string; readonly definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
     where indrelid = $1::regclass and not exists (select 1 from pg_constraint where conindid = indexrelid)`,
    [table],
  );
  if (rows.length > 0) await database.script(`drop index ${rows.map(({ name }) => name).join(", ")}`, HOURS);
  return async () => {
    for (const { definition } of rows) await database.script(`${BUILD[database.backend]}; ${definition}`, HOURS);
  };
}

async function insert(database: Database, batch: readonly CorpusMessage[]): Promise<void> {
  await database.transaction(async (tx) => {
    // Conversations have ids that follow from their numbers, so that a batch need not know the one before.
    await tx.query(
      `insert into conversations (id, session_key, agent, channel, user_id)
       select distinct md5('conversation ' || n)::uuid, agent || ':agent:' || n, agent, 'agent', 'user-' || n % 500
       from unnest($1::int[], $2::text[]) as given (n, agent) on conflict do nothing`,
      [batch.map(({ conversation }) => conversation), batch.map(({ agent }) => agent)],
    );
    await tx.query(
      `insert into messages (id, conversation_id, agent, channel, role, content, created_at)
       select gen_random_uuid(), md5('conversation ' || n)::uuid, agent, 'agent', role, content,
         now() - make_interval(secs => age)
       from unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::float8[]) as given (n, agent, role, content, age)`,
      [
        batch.map(({ conversation }) => conversation),
        batch.map(({ agent }) => agent),
        batch.map(({ role }) => role),
        batch.map(({ content }) => content),
        batch.map(({ ageMs }) => ageMs / 1_000),
      ],
    );
  }, HOURS);
}

/** So many directions there are: of subjects, and of what is said about them. */
const DIRECTIONS = 2_000;

/**
 * Vectors in groups, as an encoder makes them: each is its conversation's direction and two others, and no two are the
 * same. A model of that name is current afterwards.
 */
async function fillVectors(database: Database, dimensions: number, onProgress: (text: string) => void): Promise<void> {
  const { rows } = await database.query<{ readonly id: number }>(
    "insert into embedding_models (name, dimensions, current) values ('bench', $1, true) returning id",
    [dimensions],
  );
  const id = rows[0]?.id ?? 0;
  await createEmbeddingTable(database, database.backend, { id, dimensions });
  await directions(database, dimensions);
  const rebuild = await withoutIndexes(database, embeddingTable(id));
  const { rows: ends } = await database.query<{ readonly last: number }>("select max(seq) as last from messages");
  const last = ends[0]?.last ?? 0;
  for (let from = 0; from < last; from += 50_000) {
    await database.transaction(
      (tx) =>
        tx.query(
          `insert into ${embeddingTable(id)} (kind, id, embedding)
           select 'message', m.id, l2_normalize(a.v + b.v + c.v) from messages m
           join bench_directions a on a.n = abs(hashtext(m.conversation_id::text)) % ${DIRECTIONS}
           join bench_directions b on b.n = abs(hashtext(m.id::text)) % ${DIRECTIONS}
           join bench_directions c on c.n = abs(hashtext(m.id::text || 'c')) % ${DIRECTIONS}
           where m.seq + 0 > $1 and m.seq + 0 <= $2`,
          [from, from + 50_000],
        ),
      HOURS,
    );
    if (from % 200_000 === 0) onProgress(`${from} vectors`);
  }
  await database.transaction(
    (tx) =>
      tx.query(
        `insert into ${embeddingTable(id)} (kind, id, embedding)
         select 'summary', s.id, a.v from summaries s
         join bench_directions a on a.n = abs(hashtext(s.conversation_id::text)) % ${DIRECTIONS}`,
      ),
    HOURS,
  );
  onProgress("index of vectors");
  await rebuild();
}

async function directions(database: Database, dimensions: number): Promise<void> {
  await database.script(
    `create table bench_directions as
     select n, l2_normalize(array_agg(random() + random() + random() - 1.5)::real[]::halfvec(${dimensions})) as v
     from generate_series(0, ${DIRECTIONS - 1}) as n cross join generate_series(1, ${dimensions}) as dimension group by n;
     create unique index on bench_directions (n); analyze bench_directions`,
    HOURS,
  );
}

/** The vector of a question about something in the store: near to some rows, and to none the same. */
export async function queryVector(database: Database, n: number): Promise<number[]> {
  const { rows } = await database.query<{ readonly v: string }>(
    `select l2_normalize(a.v + b.v + c.v)::text as v
     from bench_directions a, bench_directions b, bench_directions c
     where a.n = $1 % ${DIRECTIONS} and b.n = $1 * 31 % ${DIRECTIONS} and c.n = $1 * 77 % ${DIRECTIONS}`,
    [n],
  );
  const parsed: unknown = JSON.parse(rows[0]?.v ?? "[]");
  return Array.isArray(parsed) ? parsed.map(Number) : [];
}
