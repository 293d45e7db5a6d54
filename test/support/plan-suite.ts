import { v7 } from "uuid";
import { expect, it } from "vitest";
import { createCorpus } from "../../bench/support/corpus.ts";
import { fillStore, queryVector } from "../../bench/support/filled-store.ts";
import {
  readConversation,
  readMessages,
  readSummaries,
  readSystemMessages,
} from "../../runtime/app/compaction/sources.ts";
import { compactionStatus } from "../../runtime/app/compaction/status.ts";
import { claim as claimConversation, markDue } from "../../runtime/app/compaction/work.ts";
import { claim } from "../../runtime/app/embedding/work.ts";
import { createMemoryTools } from "../../runtime/app/memory-tools.ts";
import { countAccess } from "../../runtime/app/recall/access.ts";
import { cosinesOf } from "../../runtime/app/recall/rows/cosines.ts";
import { rowsOf } from "../../runtime/app/recall/rows/load-rows.ts";
import { CachedRows } from "../../runtime/app/recall/rows/row-cache.ts";
import { countBatch } from "../../runtime/app/terms/count.ts";
import { createTermCounter } from "../../runtime/app/terms/terms.ts";
import { createSynthesisQueue } from "../../runtime/app/transcript/synthesis-queue.ts";
import type { Database } from "../../runtime/contracts/database.ts";
import { memoryOf, said, systemClock, write, writerOf } from "./memory.ts";
import { type Cost, costOf, recording, type Sent } from "./plans.ts";
import { quietLogger } from "./quiet-logger.ts";

/**
 * What the statements of the memory read in a large store, whatever its size: the same bounds hold for any number of
 * messages. Nothing reads a table of the transcript from one end to the other.
 */

export interface PlanSuite {
  readonly database: Database;
  readonly messages: number;
}

interface Bounds {
  /** Rows read by one statement. */
  readonly rows: number;
  /** Pages of 8 kB touched by one statement. */
  readonly buffers: number;
}

/** A search looks at some thousand rows at most, and at as many places of an index. */
const SEARCH: Bounds = { rows: 20_000, buffers: 20_000 };
const FEW: Bounds = { rows: 1_000, buffers: 2_000 };
/** A thousand rows of one index, or the next thousand of each of three. */
const WALKED: Bounds = { rows: 4_000, buffers: 10_000 };
/** Tables that grow with the transcript, and rows of them that may be read in sequence where a limit ends it. */
const LARGE = /^(messages|summaries|summary_sources|conversations|message_keys|embeddings_\d+|search_terms)$/;
const SEQUENTIAL_ROWS = 4_000;

const DIMENSIONS = 64;

/** Fills the store and adds one test for each way to use it. `open` answers a migrated, empty database. */
export function testPlans(open: () => Promise<Database>, messages: number, timeoutMs: number): void {
  const corpus = createCorpus({ messages });
  let store: Promise<Database> | undefined;

  /** Three rows of a role and a channel that no other row has, in the middle of all of them. */
  async function rareRows(database: Database): Promise<void> {
    const createdAt = new Date(Date.now() - messages * 20_000).toISOString();
    const entries = [1, 2, 3].map((n) => said(`lamp ${n} was lit`, { role: "tool", createdAt }));
    await write(writerOf(database), "lighthouse", entries, { agent: "keeper", channel: "lighthouse" });
  }

  async function filled(): Promise<Database> {
    const database = await open();
    await fillStore(database, { messages, dimensions: DIMENSIONS, summaries: true });
    await createTermCounter(database).run();
    await database.script("analyze", { statementTimeoutMs: 60_000 });
    return database;
  }

  function bounded(name: string, bounds: Bounds, run: (use: Use) => Promise<unknown>): void {
    it(`${name}: at most ${bounds.rows} rows and ${bounds.buffers} pages a statement`, {
      timeout: timeoutMs,
    }, async () => {
      store ??= filled();
      const database = await store;
      const sent: Sent[] = [];
      await run(await useOf(database, sent));
      expect(sent.length, "statements").toBeGreaterThan(0);
      for (const one of sent) expectWithin(await costOf(database, one), bounds, one);
    });
  }

  interface Use {
    readonly database: Database;
    /** What it has sent. */
    readonly sent: readonly Sent[];
    readonly memory: ReturnType<typeof memoryOf>;
    readonly tools: ReturnType<typeof createMemoryTools>;
  }

  async function useOf(plain: Database, sent: Sent[]): Promise<Use> {
    const database = recording(plain, sent);
    const vector = await queryVector(plain, 3);
    const memory = memoryOf(database, { embed: async () => vector });
    return {
      database,
      sent,
      memory,
      tools: createMemoryTools({ database, memory, clock: systemClock, timezone: "UTC" }),
    };
  }

  const search = (query: string, options?: Parameters<Use["memory"]["search"]>[1]) => async (use: Use) => {
    await use.memory.search(query, options);
    await use.memory.idle();
  };
  /** The second search has rows of the first one in its cache, their vectors not, and some were the last of a conversation. */
  const repeatedly = (query: string, options: Parameters<Use["memory"]["search"]>[1]) => async (use: Use) => {
    for (const text of ["the lantern of the harbour", "a lantern in the harbour"])
      await write(writerOf(use.database), "main:agent:0", [said(text)]);
    await search(`${query} lantern`, { ...options, mode: "fts" })(use);
    await write(writerOf(use.database), "main:agent:0", [said("and another one")]);
    // Another node counts what it has shown.
    await countAccess(use.database, [{ kind: "message", id: v7(), count: 1, lastMs: 0 }]);
    await search(`${query} harbour lantern`, options)(use);
  };
  const rare = corpus.word(30_000);
  const common = corpus.word(3);
  const user = { channel: "agent", user: "user-7" };
  const tenth = new Date(Date.now() - messages * 4_000).toISOString();

  bounded("a question", SEARCH, search(corpus.question(3)));
  bounded("a question by words", SEARCH, search(corpus.question(4), { mode: "fts" }));
  bounded("a question by vectors", SEARCH, search(corpus.question(4), { mode: "vector" }));
  bounded("a rare word", SEARCH, search(rare, { mode: "fts" }));
  bounded("a rare and a common word", SEARCH, search(`${common} ${rare}`));
  bounded("a common word", SEARCH, search(common, { mode: "fts" }));
  bounded("several common words", SEARCH, search([1, 2, 3, 4, 5].map(corpus.word).join(" "), { mode: "fts" }));
  bounded("a long text", SEARCH, search(Array.from({ length: 400 }, (_, n) => corpus.word(n * 7)).join(" ")));
  bounded("an identifier", SEARCH, search("node-37"));
  bounded("a part of a path", SEARCH, search("part30/file7"));
  bounded("similar letters", SEARCH, search(`${rare.slice(0, 4)}x${rare.slice(4)}`, { mode: "trigram" }));
  bounded("a regular expression", SEARCH, search("src/app/part30/file[0-9]+", { mode: "regex" }));
  bounded("messages alone", SEARCH, search(corpus.question(5), { scope: "messages" }));
  bounded("summaries alone", SEARCH, search(corpus.question(5), { scope: "summaries" }));
  bounded("an agent with many messages", SEARCH, search(corpus.question(6), { agent: "main" }));
  bounded("an agent with few messages", SEARCH, search(corpus.question(6), { agent: "agent-6", mode: "fts" }));
  bounded("a user", SEARCH, search(corpus.question(7), { visibility: user }));
  bounded("the last tenth of the time", SEARCH, search(corpus.question(8), { since: tenth, mode: "fts" }));
  bounded("cached rows", SEARCH, async (use) => {
    await repeatedly(corpus.question(9), {})(use);
    for (const read of ["from access where kind", "with found as", "v.embedding", "left(m.content"])
      expect(
        use.sent.some(({ text }) => text.includes(read)),
        read,
      ).toBe(true);
  });
  for (const bytes of [0, 1e9]) {
    bounded(`200 rows that are not cached, vectors ${bytes === 0 ? "compared" : "read"}`, SEARCH, async (use) => {
      const plain = await (store ?? open());
      const { rows } = await plain.query<{ readonly id: string }>(
        `select id from messages where seq % ${Math.floor(messages / 200)} = 7`,
      );
      const refs = rows.map(({ id }) => ({ kind: "message" as const, id }));
      const cache = new CachedRows({ rowBytes: 1e9, vectorBytes: Math.max(1, bytes) });
      const vector = await queryVector(use.database, 3);
      const model = { id: 1, dimensions: DIMENSIONS };
      const cosines = await cosinesOf(use.database, cache, { rows: refs, vector, model, messages });
      expect([cosines.size > 0, cache.bytes.vectors > 0]).toEqual([true, bytes > 0]);
      expect(await rowsOf(use.database, cache, refs, ["lantern"])).toHaveLength(refs.length);
    });
  }
  bounded("cached rows of a user", SEARCH, repeatedly(corpus.question(10), { visibility: user }));
  bounded("the context of a turn", SEARCH, ({ memory }) =>
    memory.getContextForTurn(corpus.question(9), "main", { visibility: user }),
  );
  bounded("the history of a session", FEW, ({ memory }) => memory.getSessionHistory("main:agent:0"));
  bounded("the newest messages", FEW, ({ tools }) => tools.call("memory_browse", {}, { visibility: { all: true } }));
  bounded("the newest of an agent", FEW, ({ tools }) =>
    tools.call("memory_browse", { agent: "agent-6" }, { visibility: { all: true } }),
  );
  bounded("the oldest since a time", FEW, ({ tools }) =>
    tools.call("memory_browse", { since: tenth, order: "asc" }, { visibility: { all: true } }),
  );
  bounded("the newest of a user", FEW, ({ tools }) => tools.call("memory_browse", {}, { visibility: user }));
  for (const order of ["desc", "asc"]) {
    bounded(`the few of a rare role, ${order}`, FEW, async ({ database, tools }) => {
      await rareRows(database);
      await tools.call("memory_browse", { role: "tool", order }, { visibility: { all: true } });
    });
    bounded(`the few of a rare channel, ${order}`, FEW, async ({ database, tools }) => {
      await rareRows(database);
      await tools.call("memory_browse", { channel: "lighthouse", order }, { visibility: { all: true } });
    });
  }
  bounded("the newest of a rare role and a common agent", WALKED, async ({ database, tools }) => {
    await rareRows(database);
    await tools.call("memory_browse", { role: "tool", agent: "main" }, { visibility: { all: true } });
  });
  for (const order of ["desc", "asc"]) {
    bounded(`of an agent, a role and a channel, ${order}`, WALKED, ({ tools }) =>
      tools.call(
        "memory_browse",
        { agent: "agent-2", role: "user", channel: "agent", order },
        { visibility: { all: true } },
      ),
    );
  }
  bounded("a message in full", FEW, async ({ database, tools }) => {
    const { rows } = await database.query<{ id: string }>("select id from messages order by created_at, seq limit 1");
    await tools.call("memory_get_full", { id: rows[0]?.id ?? "" }, { visibility: { all: true } });
  });
  bounded("writing a message", FEW, ({ database }) => write(writerOf(database), "main:agent:0", [said("one more")]));
  bounded("claiming rows to embed", { rows: 5_000, buffers: 20_000 }, ({ database }) =>
    claim(database, {
      modelId: 1,
      owner: "00000000-0000-4000-8000-000000000001",
      limit: 32,
      limitFailed: 2,
      leaseMs: 1_000,
      scanned: { message: 0, summary: 0 },
    }),
  );
  bounded("looking which conversations are due", { rows: 15_000, buffers: 20_000 }, ({ database }) =>
    markDue(database, new AbortController().signal),
  );
  bounded(
    "claiming a conversation and reading what to summarize",
    { rows: 2_000, buffers: 5_000 },
    async ({ database }) => {
      const { conversationId: id } = await write(writerOf(database), "main:agent:0", [said("to be summarized")]);
      await database.query(
        "insert into compaction_work (conversation_id, due_at) values ($1, now()) on conflict do nothing",
        [id],
      );
      await claimConversation(database, "00000000-0000-4000-8000-000000000001", 1_000);
      const conversation = await readConversation(database, id, 0);
      await readMessages(database, id, conversation?.summarizedSeq ?? 0);
      await readSummaries(database, id, "leaf", 8);
      const { rows } = await database.query<{ id: string }>("select id from summaries where conversation_id = $1", [
        id,
      ]);
      await readSystemMessages(
        database,
        rows.map((row) => row.id),
      );
    },
  );
  bounded("looking for tool calls without a sentence", FEW, async ({ database }) => {
    const call = said("", { role: "assistant", toolName: "shell", toolArgs: { command: "make" } });
    await write(writerOf(database), "main:agent:0", [call]);
    const none = async () => new Set<string>();
    const jobs = { enqueueAll: async () => 1, failedKeys: none, liveKeys: none };
    const { candidates } = await createSynthesisQueue({ database, jobs, logger: quietLogger }).backfill({
      dryRun: false,
    });
    expect(candidates).toBe(1);
  });
  bounded("how compaction stands", FEW, ({ database }) => compactionStatus(database));
  bounded("counting the words of new rows", { rows: 20_000, buffers: 20_000 }, async ({ database }) => {
    await write(writerOf(database), "main:agent:0", [said("words that are new")]);
    await countBatch(database, "message", 100);
  });
}

function expectWithin({ rows, buffers, sequential, plan }: Cost, bounds: Bounds, { text }: Sent): void {
  const report = `${text}\n${plan}`;
  expect(rows, report).toBeLessThanOrEqual(bounds.rows);
  expect(buffers, report).toBeLessThanOrEqual(bounds.buffers);
  for (const [table, read] of Object.entries(sequential)) {
    if (LARGE.test(table)) expect(read, `${table} is read in sequence\n${report}`).toBeLessThanOrEqual(SEQUENTIAL_ROWS);
  }
}
