import fc from "fast-check";
import { it } from "vitest";
import { RowCache } from "../../../../../runtime/app/recall/rows/row-cache.ts";
import { writeSentence } from "../../../../../runtime/app/synthesis/row.ts";
import type { Database } from "../../../../../runtime/contracts/database.ts";
import { describeEachDatabase } from "../../../../support/databases.ts";
import { said, write, writerOf } from "../../../../support/memory.ts";
import { createModel, expectSame, generator, NOW, searcher, setVector, textOf, vectorFor } from "./store.ts";

/** Whatever happens between searches, in whatever order: one that remembers answers as one that reads everything. */

const seed = fc.integer({ min: 1, max: 10_000 });
const event = fc.oneof(
  fc.record({
    what: fc.constant("say"),
    session: fc.integer({ min: 0, max: 2 }),
    seed,
    n: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ what: fc.constant("call"), session: fc.integer({ min: 0, max: 2 }), seed }),
  fc.record({ what: fc.constantFrom("sentence", "embed", "access", "summary"), seed }),
  fc.record({ what: fc.constant("model"), seed }),
  // The statement with this number fails.
  fc.record({ what: fc.constant("failure"), seed, n: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ what: fc.constant("ask"), seed, together: fc.boolean() }),
  fc.record({ what: fc.constant("ask"), seed, together: fc.boolean() }),
  fc.record({ what: fc.constant("ask"), seed, together: fc.boolean() }),
);
type Event = {
  readonly what: string;
  readonly seed: number;
  readonly session?: number;
  readonly n?: number;
  readonly together?: boolean;
};

/** The same database, whose statement with the number `n` is lost on the way there or back. */
function failing(database: Database, n: number): Database {
  let sent = 0;
  return new Proxy(database, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === "query") {
        return async (text: string, values: readonly unknown[]) => {
          sent += 1;
          if (sent !== n) return target.query(text, values);
          await target.query(text, values);
          throw new Error("the connection is lost");
        };
      }
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

class History {
  readonly #database: Database;
  readonly #caches = [
    new RowCache({ accessAgeMs: 0 }),
    new RowCache({ accessAgeMs: 0, rowBytes: 64_000, vectorBytes: 2_000 }),
  ];
  readonly #rows: { readonly kind: "message" | "summary"; readonly id: string }[] = [];
  readonly #calls: string[] = [];
  readonly #conversations = new Map<number, string>();
  #model: number;
  #models = 1;
  #said = 0;

  constructor(database: Database, model: number) {
    this.#database = database;
    this.#model = model;
  }

  async run(event: Event): Promise<void> {
    const random = generator(event.seed);
    const database = this.#database;
    const row = this.#rows[Math.floor(random() * this.#rows.length)];
    switch (event.what) {
      case "say":
      case "call":
        return this.#write(event, random);
      case "summary":
        return this.#summarize(random);
      case "model":
        // Seldom: it takes all vectors away.
        if (event.seed % 3 !== 0) return;
        this.#models += 1;
        this.#model = await createModel(database, `model ${this.#models} ${event.seed}`);
        return;
      case "sentence": {
        const call = this.#calls.pop();
        if (call !== undefined) await writeSentence(database, call, textOf(random, 9));
        return;
      }
      case "embed":
        if (row !== undefined) await this.#embed(row, random);
        return;
      case "access":
        if (row === undefined) return;
        await database.query(
          `insert into access values ($1, $2, 1, $3)
           on conflict (kind, id) do update set access_count = access.access_count + 1`,
          [row.kind, row.id, NOW.toISOString()],
        );
        return;
      case "failure":
        for (const cache of this.#caches) {
          const search = searcher(failing(database, event.n ?? 1), cache);
          await search({ query: textOf(random, 5), vector: vectorFor(random) }).catch(() => undefined);
        }
        return;
      default:
        return this.#ask(event, random);
    }
  }

  async #write({ what, session = 0, n = 1, seed }: Event, random: () => number): Promise<void> {
    const entries = Array.from({ length: n }, () => {
      this.#said += 1;
      const key = `${this.#said}`;
      const createdAt = new Date(NOW.getTime() - (5_000 - this.#said) * 60_000).toISOString();
      return what === "call"
        ? { ...said("", { key, createdAt }), role: "assistant" as const, toolName: "shell", toolArgs: { key } }
        : said(textOf(random, 3 + Math.floor(random() * 12)), { key, createdAt });
    });
    const report = await write(writerOf(this.#database), `session ${session}`, entries);
    this.#conversations.set(session, report.conversationId);
    for (const { id } of report.rows) {
      this.#rows.push({ kind: "message", id });
      if (what === "call") this.#calls.push(id);
      else if (seed % 2 === 0) await this.#embed({ kind: "message", id }, random);
    }
  }

  async #summarize(random: () => number): Promise<void> {
    const [conversation] = this.#conversations.values();
    if (conversation === undefined) return;
    const { rows } = await this.#database.query<{ id: string }>(
      "insert into summaries (id, conversation_id, content, latest_at) values (gen_random_uuid(), $1, $2, $3) returning id",
      [conversation, textOf(random, 20), NOW.toISOString()],
    );
    for (const { id } of rows) this.#rows.push({ kind: "summary", id });
  }

  async #embed(
    row: { readonly kind: "message" | "summary"; readonly id: string },
    random: () => number,
  ): Promise<void> {
    await setVector(this.#database, this.#model, row, vectorFor(random)).catch(() => undefined);
  }

  async #ask({ together, seed }: Event, random: () => number): Promise<void> {
    const asked = {
      query: textOf(random, 1 + Math.floor(random() * 6)),
      vector: seed % 4 === 0 ? null : vectorFor(random),
      ...(seed % 5 === 0 ? { filters: { before: new Date(NOW.getTime() - 4_990 * 60_000) } } : {}),
    };
    const expected = await searcher(this.#database, null)(asked);
    for (const cache of this.#caches) {
      const searches = Array.from({ length: together ? 2 : 1 }, () => searcher(this.#database, cache)(asked));
      for (const hits of await Promise.all(searches)) expectSame(hits, expected);
    }
  }
}

describeEachDatabase("searches between changes", (open) => {
  it("answer as if nothing was cached", async () => {
    const database = await open({ fresh: true });
    const history = new History(database, await createModel(database));
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 15, maxLength: 25, size: "max" }), async (events) => {
        for (const event of events) await history.run(event);
      }),
      // One history goes on: an example that failed cannot be repeated alone.
      { numRuns: 6, endOnFailure: true },
    );
  });
});
