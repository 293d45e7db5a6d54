import { expect, it } from "vitest";
import { createEmbeddingTable } from "../../../../runtime/app/recall/embedding-tables.ts";
import { fitted, nearest, vectorText } from "../../../../runtime/app/recall/vectors.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import { said, write, writerOf } from "../../../support/memory.ts";
import { costOf, recording, type Sent } from "../../../support/plans.ts";

/** Vectors in groups, as an encoder makes them; the same for the same number. */
function vectorOf(n: number, dimensions: number): number[] {
  const wave = (seed: number, d: number) => Math.sin(seed * 12.9898 + d * (78.233 + seed * 0.37)) * 43_758.5453;
  const part = (seed: number, d: number) => wave(seed, d) - Math.floor(wave(seed, d)) - 0.5;
  return Array.from({ length: dimensions }, (_, d) => part(n % 7, d) + 0.8 * part(1_000 + n, d));
}

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) => x.reduce((sum, value, n) => sum + value * (y[n] ?? 0), 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

async function storeWithVectors(database: Database, dimensions: number, rows: number) {
  const report = await write(
    writerOf(database),
    "vectors",
    Array.from({ length: rows }, (_, n) => said(`row ${n}`)),
  );
  await write(writerOf(database), "rare", [said("of another agent")], { agent: "rare" });
  const found = await database.query<{ id: number }>(
    "insert into embedding_models (name, dimensions, current) values ('test', $1, true) returning id",
    [dimensions],
  );
  const id = found.rows[0]?.id ?? 0;
  await createEmbeddingTable(database, database.backend, { id, dimensions });
  for (const [n, row] of report.rows.entries()) {
    await database.query(`insert into embeddings_${id} (kind, id, embedding) values ('message', $1, $2)`, [
      row.id,
      vectorText(vectorOf(n, dimensions)),
    ]);
  }
  return { model: { id, name: "test", dimensions }, ids: report.rows.map((row) => row.id) };
}

/** So few rows the planner would rather read one by one. */
function throughIndexes(database: Database): Database {
  return new Proxy(database, {
    get(target, name) {
      if (name !== "query") return Reflect.get(target, name);
      const query: Database["query"] = (text, values) =>
        target.transaction(async (tx) => {
          for (const method of ["seqscan", "bitmapscan", "sort"]) await tx.query(`set local enable_${method} = off`);
          return tx.query(text, values);
        });
      return query;
    },
  });
}

describeEachDatabase("the nearest by vectors", (open) => {
  it.each([
    ["compared as they are", 64],
    ["found by their bits and compared as they are", 1_200],
  ])("are the nearest there are, nearest first, %s", async (_, dimensions) => {
    const database = await open({ fresh: true });
    const { model, ids } = await storeWithVectors(database, dimensions, 120);
    const wanted = vectorOf(120 + 3, dimensions);
    const request = { vector: fitted(wanted, dimensions), scope: "both" as const, filters: {}, limit: 10 };
    const size = { messages: 120, visible: 120, withNeighbours: 0, nextNumber: () => 1 };
    const { rows: found } = await nearest(database, model, { ...request, ...size });
    const similarities = found.map(({ id }) => cosine(wanted, vectorOf(ids.indexOf(id), dimensions)));
    expect(similarities).toEqual(similarities.toSorted((a, b) => b - a));
    const best = ids
      .map((id, n) => ({ id, similarity: cosine(wanted, vectorOf(n, dimensions)) }))
      .sort((a, b) => b.similarity - a.similarity)
      .slice(0, 10);
    const hits = best.filter(({ id }) => found.some((row) => row.id === id));
    expect(hits.length, "of the 10 nearest").toBeGreaterThanOrEqual(9);
    // Through the index and one by one alike, filters hold.
    for (const visible of [1, 1e9]) {
      const filters = { agent: "rare" };
      expect((await nearest(database, model, { ...request, filters, ...size, visible })).rows).toEqual([]);
      const { rows: main } = await nearest(database, model, {
        ...request,
        filters: { agent: "main" },
        ...size,
        visible,
      });
      expect(main).toHaveLength(10);
    }
  });

  it.each([
    ["as they are", 64],
    ["by their bits", 1_200],
  ])("can be found through the index, %s, filters inside its scan", async (_, dimensions) => {
    const database = await open({ fresh: true });
    const { model } = await storeWithVectors(database, dimensions, 50);
    await database.script("analyze", { statementTimeoutMs: 60_000 });
    const sent: Sent[] = [];
    const vector = fitted(vectorOf(3, dimensions), dimensions);
    const size = { limit: 10, messages: 1e6, visible: 1e6, withNeighbours: 4, nextNumber: () => 1 };
    for (const filters of [{}, { agent: "main" }]) {
      await nearest(recording(database, sent), model, { vector, scope: "both", filters, ...size });
    }
    expect(sent).toHaveLength(2);
    // So few rows the planner would rather read one by one: the question is whether the index knows what is asked.
    const disabled = ["seqscan", "bitmapscan", "sort"].map((method) => `set local enable_${method} = off`);
    for (const { settings, ...one } of sent) {
      const all = [...settings, ...disabled.map((text) => ({ text, values: [], settings: [] }))];
      expect((await costOf(database, { ...one, settings: all })).plan).toContain(`embeddings_${model.id}_nearest`);
    }
  });

  it("are found behind 400 nearer ones that the filters keep out", async () => {
    const database = await open({ fresh: true });
    const { model, ids } = await storeWithVectors(database, 8, 3);
    await database.query(`delete from embeddings_${model.id}`);
    const near = (n: number) => vectorText([1, n / 4_000, 0, 0, 0, 0, 0, 0]);
    const far = (n: number) => vectorText([1, 2 + n, 0, 0, 0, 0, 0, 0]);
    // In a transaction, whose statements have time on a busy machine.
    await database.transaction((tx) =>
      tx.query(
        `insert into embeddings_${model.id} (kind, id, embedding)
         select 'message', gen_random_uuid(), given::halfvec(8) from unnest($1::text[]) as given`,
        [Array.from({ length: 400 }, (_, n) => near(n))],
      ),
    );
    await database.query(
      `insert into embeddings_${model.id} (kind, id, embedding)
       select 'message', id, given::halfvec(8) from unnest($1::uuid[], $2::text[]) as row (id, given)`,
      [ids, ids.map((_, n) => far(n))],
    );
    const request = {
      vector: [1, 0, 0, 0, 0, 0, 0, 0],
      scope: "messages" as const,
      filters: { agent: "main" },
      limit: 3,
    };
    const size = { messages: 403, visible: 1e9, withNeighbours: 0, nextNumber: () => 1 };
    const { rows: found } = await nearest(throughIndexes(database), model, { ...request, ...size });
    expect(found.map(({ id }) => id).sort()).toEqual([...ids].sort());
  });

  it("take what is no number, and a vector of another length, for what is left of it", async () => {
    expect(fitted([1, Number.NaN, Number.POSITIVE_INFINITY], 4)).toEqual([1, 0, 0, 0]);
    expect(fitted([1, 2, 3], 2)).toEqual([1, 2]);
    const database = await open({ fresh: true });
    const { model } = await storeWithVectors(database, 8, 5);
    const size = { messages: 5, visible: 5, withNeighbours: 0, nextNumber: () => 1 };
    const request = { vector: fitted([Number.NaN], 8), scope: "both" as const, filters: {}, limit: 3, ...size };
    // A vector of zeros is near to nothing, which is no failure.
    expect((await nearest(database, model, request)).rows.length).toBeLessThanOrEqual(3);
  });
});
