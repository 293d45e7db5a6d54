import { v7 } from "uuid";
import { beforeAll, expect, it } from "vitest";
import { createEmbeddingTable } from "../../../../runtime/app/recall/embedding-tables.ts";
import { createTermCounter } from "../../../../runtime/app/terms/terms.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import type { MemoryHit, SearchOptions } from "../../../../runtime/contracts/memory.ts";
import { NO_MODEL } from "../../../../runtime/domain/offline-answer.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import { memoryOf, said, write, writerOf } from "../../../support/memory.ts";
import { costOf, recording, type Sent } from "../../../support/plans.ts";

const contents = (hits: readonly MemoryHit[]) => hits.map(({ content }) => content);

const NOISE = Array.from({ length: 60 }, (_, index) => `We talked about the weather and the news of day ${index}.`);
const DEPLOYMENT = "The deployment of the billing service to node-3 failed with v1.2.3.";
const CLUSTER = "Kubernetes restarts the pods of the cluster when the probe fails.";
const PATH = "Look at runtime/app/transcript/writer.ts, it takes the lock first.";
const GERMAN = "Der Vertrag wurde am Montag unterschrieben.";

describeEachDatabase("search", (open) => {
  let database: Database;
  const search = async (query: string, options: SearchOptions = {}) => memoryOf(database).search(query, options);

  beforeAll(async () => {
    database = await open();
    const writer = writerOf(database);
    await write(
      writer,
      "ada",
      [...NOISE, DEPLOYMENT, CLUSTER, PATH].map((text) => said(text)),
      { user: "ada" },
    );
    await write(writer, "bob", [said(GERMAN), said("Bob prefers the deployment on Fridays.")], {
      user: "bob",
      agent: "coder",
    });
    await write(writer, "old", [said("An old deployment note", { createdAt: "2020-01-01T12:00:00Z" })], {
      user: "ada",
    });
  });

  it("finds by any of the words, best first, though no row has them all", async () => {
    const hits = await search("Which deployment of the invoicing software went wrong on the billing service?");
    expect(hits[0]?.content).toBe(DEPLOYMENT);
    expect(hits[0]?.score).toBeGreaterThan(hits[1]?.score ?? 1);
  });

  it("weighs a rare word more than a common one", async () => {
    const hits = await search("weather probe");
    expect(hits[0]?.content).toBe(CLUSTER);
  });

  it("reports each part of a score within its range", async () => {
    for (const { score, scores } of await search("deployment node-3 weather")) {
      expect(score).toBeGreaterThan(0);
      expect(score).toBeLessThanOrEqual(1);
      expect(scores.fts).toBeGreaterThan(0);
      expect(scores.fts).toBeLessThanOrEqual(1);
      expect(scores.semantic).toBe(0);
      expect(scores.temporal).toBeGreaterThanOrEqual(0);
      expect([0.5, 0.6, 0.8, 0.9]).toContain(scores.importance);
    }
  });

  it("finds identifiers and parts of paths letter by letter", async () => {
    expect((await search("node-3"))[0]?.content).toBe(DEPLOYMENT);
    expect((await search("v1.2.3"))[0]?.content).toBe(DEPLOYMENT);
    expect((await search("transcript/writer.ts"))[0]?.content).toBe(PATH);
  });

  it("finds misspelled words", async () => {
    expect((await search("kubrenetes"))[0]?.content).toBe(CLUSTER);
    expect((await search("kubrenetes", { mode: "trigram" }))[0]?.content).toBe(CLUSTER);
    expect(await search("kubrenetes", { mode: "fts" })).toEqual([]);
  });

  it("finds by regular expression in any case, newest first", async () => {
    expect(contents(await search("^der vertrag .*\\.$", { mode: "regex" }))).toEqual([GERMAN]);
    expect(contents(await search("(?c)^der vertrag", { mode: "regex" }))).toEqual([]);
    const days = await search("day (58|59)\\.", { mode: "regex" });
    expect(contents(days)).toEqual([NOISE[59], NOISE[58]]);
  });

  it.each(["(", "[z-a]", "a{2,1}", "*"])("answers that the regular expression %s is none", async (regex) => {
    await expect(search(regex, { mode: "regex" })).rejects.toMatchObject({
      code: "MEMORY_INVALID_ARGUMENT",
      details: { issues: [{ path: "query" }] },
    });
  });

  it("is harmless for any text", async () => {
    for (const text of [
      "'",
      "\\",
      "a' | 'b",
      "!! & | <->",
      "\0\ud800",
      `deployment\0 at ${"night\0".repeat(40)} of\0the boat`,
      "'; drop table messages; --",
      "🙂",
      "the of and",
    ]) {
      for (const mode of ["hybrid", "fts", "trigram"] as const) await search(text, { mode });
    }
    expect((await search("deployment")).length).toBeGreaterThan(0);
  });

  it("filters by agent, time and whose conversation it is", async () => {
    const found = async (options: SearchOptions) => contents(await search("deployment", options)).sort();
    const bobs = "Bob prefers the deployment on Fridays.";
    expect(await found({})).toEqual([bobs, DEPLOYMENT, "An old deployment note"].sort());
    expect(await found({ agent: "coder" })).toEqual([bobs]);
    expect(await found({ visibility: { channel: "agent", user: "ada" } })).toEqual(
      ["An old deployment note", DEPLOYMENT].sort(),
    );
    expect(await found({ visibility: { channel: "telegram", user: "ada" } })).toEqual([]);
    expect(await found({ before: "2020-01-02" })).toEqual(["An old deployment note"]);
    expect(await found({ since: "2020-01-02" })).toEqual([bobs, DEPLOYMENT].sort());
    expect(await found({ since: "2020-01-01T12:00:00Z", before: "2020-01-01T12:00:01Z" })).toEqual([
      "An old deployment note",
    ]);
    for (const mode of ["trigram", "regex"] as const) {
      expect(await found({ mode, agent: "coder" })).toEqual([bobs]);
      expect(await found({ mode, visibility: { channel: "agent", user: "bob" } })).toEqual([bobs]);
    }
    await expect(search("x", { since: "2021-01-01", before: "2020-01-01" })).rejects.toMatchObject({
      code: "MEMORY_INVALID_ARGUMENT",
    });
    await expect(search("x", { since: "soon" })).rejects.toMatchObject({ code: "MEMORY_INVALID_ARGUMENT" });
  });

  it("ranks by the weights that it is given", async () => {
    const database = await open({ fresh: true });
    const old = "marmalade, marmalade, marmalade";
    const late = "Somewhere on a shelf or in a cupboard there was a little marmalade, too, as far as anybody can tell.";
    await write(writerOf(database), "s", [said(old, { createdAt: "2001-01-01T00:00:00Z" }), said(late)]);
    const best = async (fts: number, temporal: number) =>
      (await memoryOf(database, { weights: { fts, temporal, semantic: 0, importance: 0 } }).search("marmalade"))[0];
    expect((await best(1, 0))?.content).toBe(old);
    expect((await best(0, 1))?.content).toBe(late);
  });

  it("finds words where all rows that were counted have none", async () => {
    const database = await open({ fresh: true });
    await write(writerOf(database), "s", [said("👍"), said("🎉🎉"), said("and of the"), said("🚢")]);
    await createTermCounter(database).run();
    await write(writerOf(database), "s", [said("the ships in the harbour")]);
    const memory = memoryOf(database);
    expect(contents(await memory.search("harbour", { mode: "fts" }))).toEqual(["the ships in the harbour"]);
    expect(await memory.getContextForTurn("the harbour", "main")).toContain("the ships in the harbour");
    await memory.idle();
  });

  it("looks up 64 words of a long query while rows are not counted, and finds by a rare one of them", async () => {
    const database = await open({ fresh: true });
    const words = Array.from({ length: 450 }, (_, n) => `w${n}`);
    const rows = Array.from({ length: 100 }, (_, n) => said(`${n} ${words.join(" ")}`));
    await write(writerOf(database), "s", [...rows, said("the marmalade")]);
    const sent: Sent[] = [];
    const memory = memoryOf(recording(database, sent));
    const hits = await memory.search(`${words.join(" ")} marmalade`, { mode: "fts" });
    // What follows in the background counts the rows.
    const searched = [...sent];
    await memory.idle();
    expect(contents(hits)).toContain("the marmalade");
    for (const one of searched) expect((await costOf(database, one)).rows, one.text).toBeLessThanOrEqual(64 * 110);
  });

  it("compares letters with the head of a long query alone", async () => {
    const query = `kubrenetes ${"and ".repeat(60)} unterschrieben unterschriebene unterschriebener`;
    expect(contents(await search(query, { mode: "trigram" }))).toEqual([CLUSTER]);
  });

  it("keeps to the limit and to an order that does not change", async () => {
    const first = await search("weather", { limit: 7 });
    expect(first).toHaveLength(7);
    expect((await search("weather", { limit: 7 })).map(({ id }) => id)).toEqual(first.map(({ id }) => id));
  });

  it("answers by vectors only where there is a model", async () => {
    await expect(search("deployment", { mode: "vector" })).rejects.toMatchObject({ code: "MEMORY_INVALID_ARGUMENT" });
  });

  it("finds what stands beside a hit, but no tool call that has no sentence yet", async () => {
    const call = said("", { role: "assistant", toolName: "shell" });
    await write(writerOf(database), "beside", [
      said("Is the wharf crane repaired?"),
      call,
      said("Since Tuesday, yes."),
    ]);
    expect(contents(await search("wharf crane")).toSorted()).toEqual([
      "Is the wharf crane repaired?",
      "Since Tuesday, yes.",
    ]);
  });

  it("answers with the whole content of a long row", async () => {
    const long = `zanzibar ${"and so on ".repeat(3_000)}`;
    await write(writerOf(database), "long", [said(long)]);
    expect(contents(await search("zanzibar"))).toEqual([long]);
  });
});

describeEachDatabase("search over summaries", (open) => {
  it("lets summaries compete with messages and opens up the best, in the order of what they cover", async () => {
    const database = await open({ fresh: true });
    const writer = writerOf(database);
    const { conversationId, rows } = await write(
      writer,
      "s",
      ["The harbour of Trieste opened early.", "A ship came in.", "It carried coffee."].map((text) => said(text)),
      { user: "ada" },
    );
    const [leaf, branch] = [v7(), v7()];
    await database.query(
      `insert into summaries (id, conversation_id, parent_id, depth, kind, content, message_count, earliest_at, latest_at)
       values ($2, $3, null, 1, 'branch', 'Coffee trade through Trieste harbour, overview', 1, now(), now()),
              ($1, $3, $2, 0, 'leaf', 'Trieste harbour: a ship with coffee arrived', 3, now(), now())`,
      [leaf, branch, conversationId],
    );
    for (const [ordinal, row] of rows.entries()) {
      await database.query("insert into summary_sources values ($1, $2, $3)", [leaf, row.id, rows.length - ordinal]);
    }
    const memory = memoryOf(database);
    const hits = await memory.search("coffee trieste harbour");
    const leafHit = hits.find(({ id }) => id === leaf);
    const branchHit = hits.find(({ id }) => id === branch);
    expect(hits.slice(0, 2).map(({ kind }) => kind)).toEqual(["summary", "summary"]);
    expect(leafHit).toMatchObject({ kind: "summary", depth: 0, summary_kind: "leaf", agent: "main", channel: "agent" });
    expect(leafHit?.sources?.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).reverse());
    expect(branchHit?.children?.map(({ id }) => id)).toEqual([leaf]);
    const [plain] = await memory.search("coffee trieste harbour", { expand: false, scope: "summaries" });
    expect(plain?.children ?? plain?.sources).toBeUndefined();
    expect((await memory.search("coffee", { scope: "messages" })).map(({ kind }) => kind)).toEqual(["message"]);
    expect(await memory.search("coffee", { visibility: { channel: "agent", user: "bob" } })).toEqual([]);
    await memory.idle();
  });
});

describeEachDatabase("access counts", (open) => {
  it("rise by one for each row of an answer, after it is given, and are reported by the next", async () => {
    const database = await open({ fresh: true });
    await write(writerOf(database), "s", [said("a lighthouse"), said("another lighthouse"), said("something else")]);
    const memory = memoryOf(database);
    const counts = async () => (await memory.search("lighthouse")).map(({ access_count }) => access_count);
    expect(await counts()).toEqual([0, 0]);
    await memory.idle();
    expect(await counts()).toEqual([1, 1]);
    await Promise.all(Array.from({ length: 8 }, () => memory.search("lighthouse")));
    await memory.idle();
    expect(await counts()).toEqual([10, 10]);
    await memory.idle();
    const { rows } = await database.query("select count(*) as n from access");
    expect(rows).toEqual([{ n: 2 }]);
  });

  it("that cannot be written are logged and do not fail the search", async () => {
    const database = await open({ fresh: true });
    await write(writerOf(database), "s", [said("a lighthouse")]);
    await database.query("alter table access add constraint refused check (access_count < 0)");
    const warnings: string[] = [];
    const logger = {
      debug: () => {},
      info: () => {},
      error: () => {},
      warn: (_fields: object, message: string) => warnings.push(message),
      child: () => logger,
    };
    const memory = memoryOf(database, { logger });
    expect(await memory.search("lighthouse")).toHaveLength(1);
    await memory.idle();
    expect(warnings).toHaveLength(1);
  });
});

describeEachDatabase("answers that were given without a model", (open) => {
  it("are found by their letters, and not as knowledge", async () => {
    const database = await open({ fresh: true });
    const echo = `Here is what I remember:\n- 2026-01-05: Grandmother's miso recipe.\n\n${NO_MODEL}`;
    await write(writerOf(database), "s", [
      said("Grandmother's miso recipe needs barley."),
      said("What is the miso recipe?"),
      said(echo, { role: "assistant" }),
      said("And the soup?"),
    ]);
    const memory = memoryOf(database);
    const found = async (query: string, options: SearchOptions = {}) => contents(await memory.search(query, options));
    expect(await found("miso recipe")).toEqual(expect.arrayContaining(["Grandmother's miso recipe needs barley."]));
    for (const query of ["miso", "miso recipe", "reciep", "remember the recipe of grandmother"]) {
      expect(await found(query), query).not.toContain(echo);
    }
    expect(await memory.getContextForTurn("miso recipe", "main")).not.toContain(NO_MODEL);
    expect(await found("look things up", { mode: "regex" })).toEqual([echo]);
    await memory.idle();
  });
});

describeEachDatabase("search by vectors", (open) => {
  const vectors: Record<string, number[]> = { sea: [1, 0, 0], ship: [0.9, 0.1, 0], desk: [0, 0, 1] };

  async function withVectors(): Promise<Database> {
    const database = await open({ fresh: true });
    const { rows: models } = await database.query<{ id: number }>(
      "insert into embedding_models (name, dimensions, current) values ('tiny', 3, true) returning id",
    );
    const id = models[0]?.id ?? 0;
    await createEmbeddingTable(database, database.backend, { id, dimensions: 3 });
    const { rows } = await write(writerOf(database), "s", [said("ship"), said("desk"), said("sea")]);
    for (const [index, name] of ["ship", "desk", "sea"].entries()) {
      await database.query(`insert into embeddings_${id} (kind, id, embedding) values ('message', $1, $2)`, [
        rows[index]?.id,
        JSON.stringify(vectors[name]),
      ]);
    }
    return database;
  }

  it("finds what is near in meaning, with its similarity", async () => {
    const memory = memoryOf(await withVectors(), { embed: async () => [1, 0, 0] });
    const hits = await memory.search("ocean", { mode: "vector" });
    expect(contents(hits)).toEqual(["sea", "ship", "desk"]);
    expect(hits.map(({ scores }) => scores.semantic.toFixed(2))).toEqual(["1.00", "0.99", "0.00"]);
    expect(contents(await memory.search("ocean", { limit: 1 }))).toEqual(["sea"]);
    const mixed = await memory.search("desk");
    expect(mixed.map(({ content, scores }) => [content, scores.fts > 0])).toContainEqual(["desk", true]);
    expect(await memory.getContextForTurn("ocean", "main")).toMatch(/main\/user\] sea\n.*main\/user\] ship\n<\/memory/);
    await memory.idle();
  });

  it("does not fill up with what has no word of the query and nothing of its meaning", async () => {
    const database = await withVectors();
    await write(writerOf(database), "another", [said("a lighthouse")]);
    // Nothing is near to it.
    const memory = memoryOf(database, { embed: async () => [0, -1, 0] });
    expect(contents(await memory.search("lighthouse"))).toEqual(["a lighthouse"]);
    expect(contents(await memory.search("lighthuose"))).toEqual(["a lighthouse"]);
    expect(await memory.search("volcano")).toEqual([]);
    expect(await memory.search("volcano", { mode: "vector" })).toHaveLength(3);
    await memory.idle();
  });

  it("goes by text when the model cannot be reached, and says so when asked for vectors alone", async () => {
    const memory = memoryOf(await withVectors(), {
      embed: async () => {
        throw new Error("the model is unavailable");
      },
    });
    expect(contents(await memory.search("desk"))).toEqual(["desk"]);
    await expect(memory.search("desk", { mode: "vector" })).rejects.toMatchObject({ code: "MEMORY_INVALID_ARGUMENT" });
    await memory.idle();
  });

  it("asks for the vector while the words are analyzed, once it knows by which model", async () => {
    const database = await withVectors();
    let analysis: Promise<unknown> = Promise.resolve();
    const held: Database = {
      ...database,
      async query(text: string, values?: readonly unknown[]) {
        if (text.includes("search_totals")) await analysis;
        return database.query(text, values);
      },
    } as Database;
    const asked = Promise.withResolvers<void>();
    const memory = memoryOf(held, {
      embed: async (text) => {
        if (text === "second") asked.resolve();
        return [1, 0, 0];
      },
    });
    await memory.search("first");
    // The analysis goes on once the encoder was asked.
    analysis = asked.promise;
    expect(contents(await memory.search("second"))).toEqual(["sea", "ship", "desk"]);
    await memory.idle();
  });

  it("asks again when another model has become the current one", async () => {
    const database = await withVectors();
    const asked: (string | undefined)[] = [];
    const memory = memoryOf(database, {
      embed: async (_, __, model) => {
        asked.push(model?.name);
        return [1, 0, 0];
      },
    });
    await memory.search("ocean");
    await database.query("update embedding_models set name = 'other'");
    expect(contents(await memory.search("ocean"))).toEqual(["sea", "ship", "desk"]);
    await memory.search("ocean", { mode: "fts" });
    expect(asked).toEqual(["tiny", "tiny", "other"]);
    await database.query("update embedding_models set current = false");
    await expect(memory.search("ocean", { mode: "vector" })).rejects.toMatchObject({ code: "MEMORY_INVALID_ARGUMENT" });
    await memory.idle();
  });

  it("tells of an analysis that fails, and of no vector that fails after it", async () => {
    const database = await withVectors();
    let failing = false;
    const held: Database = {
      ...database,
      async query(text: string, values?: readonly unknown[]) {
        if (failing && text.includes("search_totals")) throw new Error("the store is unavailable");
        return database.query(text, values);
      },
    } as Database;
    const caller = new AbortController();
    const gone = Promise.withResolvers<void>();
    const memory = memoryOf(held, {
      embed: async (_, signal) => {
        if (!failing) return [1, 0, 0];
        return new Promise((_, reject) => {
          signal?.addEventListener("abort", () => {
            reject(signal.reason);
            gone.resolve();
          });
        });
      },
    });
    await memory.search("ocean");
    failing = true;
    await expect(memory.search("ocean", { signal: caller.signal })).rejects.toThrow("the store is unavailable");
    caller.abort();
    await gone.promise;
    await memory.idle();
  });
});
