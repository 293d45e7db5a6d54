import { expect, it } from "vitest";
import { countAccess } from "../../../../../runtime/app/recall/access.ts";
import { RowCache } from "../../../../../runtime/app/recall/rows/row-cache.ts";
import { writeSentence } from "../../../../../runtime/app/synthesis/row.ts";
import type { Database } from "../../../../../runtime/contracts/database.ts";
import type { Visibility } from "../../../../../runtime/contracts/memory.ts";
import { describeEachDatabase } from "../../../../support/databases.ts";
import { said, write, writerOf } from "../../../../support/memory.ts";
import { createModel, NOW, searcher, setVector } from "./store.ts";

const HEAD = [1, 0, 0, 0, 0, 0, 0, 0];
const TAIL = [0, 0, 0, 0, 0, 0, 0, 1];
const at = (minute: number) => new Date(NOW.getTime() - (100 - minute) * 60_000).toISOString();
const contentsOf = (hits: readonly { readonly content: string }[]) => hits.map(({ content }) => content);

/** The same database; what it answers about what follows a message goes through `hold` before the search has it. */
function holding(database: Database, hold: () => Promise<void>): Database {
  return new Proxy(database, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === "query") {
        return async (text: string, values: readonly unknown[]) => {
          const answer = await target.query(text, values);
          if (text.includes("o.seq > ")) await hold();
          return answer;
        };
      }
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** The same database after its server was started anew. */
function restarted(database: Database): Database {
  return new Proxy(database, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === "query") {
        return (text: string, values: readonly unknown[]) =>
          target.query(text.replaceAll("pg_postmaster_start_time()", "timestamptz 'epoch'"), values);
      }
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

describeEachDatabase("rows that a node remembers", (open) => {
  it("are followed by a message that another node has committed since, at once", async () => {
    const database = await open({ fresh: true });
    const node = searcher(database);
    await write(writerOf(database), "s", [said("Where is the marmalade kept?", { createdAt: at(1) })]);
    const query = "where is the marmalade kept";
    expect(contentsOf(await node({ query, vector: HEAD }))).toEqual(["Where is the marmalade kept?"]);
    for (const [n, answer] of ["On the upper shelf.", "Behind the flour.", "A third thing."].entries()) {
      await write(writerOf(database), "s", [said(answer, { createdAt: at(2 + n) })]);
      const hits = await Promise.all([node({ query, vector: HEAD }), node({ query, vector: HEAD })]);
      // Two rows beside a found one count.
      for (const found of hits) expect(contentsOf(found).includes(answer), answer).toBe(n < 2);
    }
  });

  it("are followed by all that a search has read, though another one has read less before", async () => {
    const database = await open({ fresh: true });
    const cache = new RowCache();
    const asked = { query: "where is the marmalade kept", vector: HEAD };
    const say = (text: string, minute: number) =>
      write(writerOf(database), "s", [said(text, { createdAt: at(minute) })]);
    const started = () => {
      const included = Promise.withResolvers<void>();
      const goOn = Promise.withResolvers<void>();
      const held = holding(database, async () => {
        included.resolve();
        await goOn.promise;
      });
      return { hits: searcher(held, cache)(asked), included: included.promise, goOn: goOn.resolve };
    };
    await say("Where is the marmalade kept?", 1);
    await searcher(database, cache)(asked);
    await say("On the upper shelf.", 2);
    const first = started();
    await first.included;
    await say("Behind the flour.", 3);
    const second = started();
    await second.included;
    first.goOn();
    expect(contentsOf(await first.hits)).toContain("On the upper shelf.");
    second.goOn();
    expect(contentsOf(await second.hits)).toContain("Behind the flour.");
  });

  it("are forgotten when another database takes the place of theirs, copied from the same template", async () => {
    const [one, other] = await Promise.all([open({ fresh: true }), open({ fresh: true })]);
    const cache = new RowCache();
    const shared = "11111111-1111-4111-8111-111111111111";
    await write(writerOf(one), "s", [said("the marmalade of one", { id: shared })]);
    await write(writerOf(other), "s", [said("the marmalade of the other", { id: shared })]);
    expect(contentsOf(await searcher(one, cache)({ query: "marmalade" }))).toEqual(["the marmalade of one"]);
    expect(contentsOf(await searcher(other, cache)({ query: "marmalade" }))).toEqual(["the marmalade of the other"]);
  });

  it("are found by text as soon as they are committed, wherever", async () => {
    const database = await open({ fresh: true });
    const node = searcher(database);
    for (let n = 0; n < 5; n += 1) {
      await write(writerOf(database), `s${n % 2}`, [said(`marmalade number ${n}`)]);
      expect(await node({ query: "marmalade" })).toHaveLength(n + 1);
    }
  });

  it("are read anew when the content of a tool call comes later", async () => {
    const database = await open({ fresh: true });
    const model = await createModel(database);
    const node = searcher(database);
    const { rows } = await write(writerOf(database), "s", [
      said("Look for the marmalade.", { createdAt: at(1) }),
      {
        role: "assistant",
        content: "",
        toolName: "look",
        toolArgs: { for: "it" },
        key: "call",
        createdAt: at(2),
        cap: false,
      },
    ]);
    const call = rows[1]?.id ?? "";
    const query = "where is the marmalade jar";
    const before = await node({ query, vector: TAIL });
    expect(before).toHaveLength(1);
    await writeSentence(database, call, "The marmalade is in the cellar.");
    await setVector(database, model, { kind: "message", id: call }, TAIL);
    const hit = (await node({ query, vector: TAIL })).find(({ id }) => id === call);
    expect(hit?.content).toBe("The marmalade is in the cellar.");
    expect(hit?.scores.semantic).toBe(1);
    expect(hit?.scores.fts).toBeGreaterThan(0);
  });

  it("get their vector when it comes later", async () => {
    const database = await open({ fresh: true });
    const model = await createModel(database);
    const node = searcher(database);
    const { rows } = await write(writerOf(database), "s", [said("the marmalade")]);
    expect((await node({ query: "marmalade", vector: TAIL }))[0]?.scores.semantic).toBe(0);
    await setVector(database, model, { kind: "message", id: rows[0]?.id ?? "" }, TAIL);
    expect((await node({ query: "marmalade", vector: TAIL }))[0]?.scores.semantic).toBe(1);
  });

  it("are compared by the current model, whatever number it has", async () => {
    const database = await open({ fresh: true });
    const { rows } = await write(writerOf(database), "s", [said("the marmalade")]);
    const row = { kind: "message" as const, id: rows[0]?.id ?? "" };
    const node = searcher(database);
    const ask = async () => (await node({ query: "marmalade", vector: TAIL }))[0]?.scores.semantic;
    const first = await createModel(database, "first");
    await setVector(database, first, row, TAIL);
    expect(await ask()).toBe(1);
    const second = await createModel(database, "second");
    await setVector(database, second, row, HEAD);
    expect(await ask()).toBe(0);
    // As after a restore: another model, and its vectors, under a number that was in use.
    await database.query(`drop table embeddings_${second}`);
    await database.query("delete from embedding_models where id = $1", [second]);
    await database.query("select setval(pg_get_serial_sequence('embedding_models', 'id'), $1, false)", [second]);
    await setVector(database, await createModel(database, "second"), row, TAIL);
    expect(await ask()).toBe(1);
  });

  it("are forgotten when the server was started anew: it may have gone back to an earlier state", async () => {
    const database = await open({ fresh: true });
    const cache = new RowCache();
    const query = "where is the marmalade kept";
    const { rows } = await write(writerOf(database), "s", [
      said("Where is the marmalade kept?", { createdAt: at(1) }),
      said("On the upper shelf.", { createdAt: at(2) }),
    ]);
    expect(await searcher(database, cache)({ query, vector: HEAD })).toHaveLength(2);
    await database.script(`alter table messages disable trigger user;
      delete from message_keys where message_id = '${rows[1]?.id}'; delete from messages where id = '${rows[1]?.id}';
      alter table messages enable trigger user`);
    const hits = await searcher(restarted(database), cache)({ query, vector: HEAD });
    expect(contentsOf(hits)).toEqual(["Where is the marmalade kept?"]);
  });

  it("are shown only to callers who could find them in the store", async () => {
    const database = await open({ fresh: true });
    const node = searcher(database);
    const writer = writerOf(database);
    await write(writer, "a", [said("marmalade of Ada"), said("and her toast")], { user: "ada" });
    await write(writer, "b", [said("marmalade of Bob"), said("and his toast")], { user: "bob", agent: "other" });
    expect(await node({ query: "marmalade of toast", vector: HEAD })).toHaveLength(4);
    const of = async (filters: Parameters<typeof node>[0]["filters"]) =>
      contentsOf(await node({ query: "the marmalade of toast", vector: HEAD, ...(filters ? { filters } : {}) })).sort();
    expect(await of({ visibility: { channel: "agent", user: "bob" } })).toEqual(["and his toast", "marmalade of Bob"]);
    expect(await of({ visibility: { channel: "elsewhere", user: "bob" } })).toEqual([]);
    expect(await of({ agent: "main" })).toEqual(["and her toast", "marmalade of Ada"]);
  });

  it("stand beside a found one only when they pass the filters themselves, to the fraction of a millisecond", async () => {
    const database = await open({ fresh: true });
    const node = searcher(database);
    const { rows } = await write(writerOf(database), "s", [
      said("the jam", { createdAt: at(1) }),
      said("the marmalade jar", { createdAt: at(2) }),
      said("the toast", { createdAt: at(3) }),
    ]);
    await database.script(`alter table messages disable trigger user;
      update messages set created_at = created_at + interval '400 microseconds', agent = 'other' where id = '${rows[2]?.id}';
      alter table messages enable trigger user`);
    const of = async (filters: NonNullable<Parameters<typeof node>[0]["filters"]>) =>
      contentsOf(await node({ query: "marmalade jar", vector: HEAD, filters })).sort();
    expect(await of({})).toEqual(["the jam", "the marmalade jar", "the toast"]);
    expect(await of({ agent: "main" })).toEqual(["the jam", "the marmalade jar"]);
    expect(await of({ since: new Date(at(2)) })).toEqual(["the marmalade jar", "the toast"]);
    expect(await of({ before: new Date(at(3)) })).toEqual(["the jam", "the marmalade jar"]);
    expect(await of({ before: new Date(Date.parse(at(3)) + 1) })).toEqual([
      "the jam",
      "the marmalade jar",
      "the toast",
    ]);
    expect(await of({ exclude: new Set([rows[0]?.id.toUpperCase() ?? ""]) })).toEqual([
      "the marmalade jar",
      "the toast",
    ]);
  });

  it("have beneath a summary what it was stored with, read as often as the store said a minute before at most", async () => {
    const database = await open({ fresh: true });
    let seconds = 0;
    const node = searcher(database, new RowCache(), () => new Date(NOW.getTime() + seconds * 1_000));
    const { rows, conversationId } = await write(writerOf(database), "s", [said("the toast"), said("the butter")], {
      user: "ann",
    });
    const elsewhere = await write(writerOf(database), "t", [said("a knife of somebody else")], { user: "bob" });
    const [leaf, branch] = ["22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333"];
    await database.query(
      `insert into summaries (id, conversation_id, parent_id, depth, content) values
         ($2, $3, null, 1, 'All about breakfast'), ($1, $3, $2, 0, 'Breakfast with marmalade')`,
      [leaf, branch, conversationId],
    );
    const ids = [...rows, ...elsewhere.rows].map(({ id }) => id);
    await database.query(
      "insert into summary_sources select $1, id, n from unnest($2::uuid[]) with ordinality as source (id, n)",
      [leaf, ids],
    );
    const shown = async (visibility: Visibility) => {
      const hits = await node({ query: "breakfast", filters: { visibility } });
      const under = hits.flatMap(({ children = [], sources = [] }) => [...children, ...sources]);
      return under.map(({ content, access_count }) => `${content} ${access_count}`).sort();
    };
    const own = { channel: "agent", user: "ann" };
    const mine = ["Breakfast with marmalade 0", "the butter 0", "the toast 0"];
    // The first search only meets the store, the second one is told, the third one remembers.
    for (const time of ["first", "second", "third"]) {
      expect(await shown({ all: true }), time).toEqual([...mine, "a knife of somebody else 0"].sort());
      expect(await shown(own), time).toEqual(mine);
    }
    await countAccess(database, [
      { kind: "message", id: ids[0] ?? "", count: 3, lastMs: NOW.getTime() },
      { kind: "summary", id: leaf, count: 2, lastMs: NOW.getTime() },
    ]);
    // The leaf is found by itself, too, and so has the count of now.
    seconds = 59;
    expect(await shown(own)).toEqual(["Breakfast with marmalade 2", "the butter 0", "the toast 0"]);
    seconds = 60;
    expect(await shown(own)).toEqual(["Breakfast with marmalade 2", "the butter 0", "the toast 3"]);
  });

  it("tell how often they were read as the store has it now", async () => {
    const database = await open({ fresh: true });
    const node = searcher(database);
    const { rows } = await write(writerOf(database), "s", [said("the marmalade")]);
    for (const count of [1, 2]) {
      await database.query(
        `insert into access values ('message', $1, 1, $2)
         on conflict (kind, id) do update set access_count = access.access_count + 1`,
        [rows[0]?.id, NOW.toISOString()],
      );
      expect((await node({ query: "marmalade" }))[0]?.access_count).toBe(count);
    }
  });
});
