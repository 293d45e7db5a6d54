import { expect, it } from "vitest";
import { createMemoryTools } from "../../../../runtime/app/memory-tools.ts";
import type { Database, Queryable, Transaction } from "../../../../runtime/contracts/database.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import { memoryOf, said, systemClock, write, writerOf } from "../../../support/memory.ts";

/** The statements that searches send, as the planner sees them in a store of 20,000 messages: none reads all of them. */

interface Sent {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Notes what is sent, and passes it on. */
function recording(database: Database, sent: Sent[]): Database {
  const over = <Over extends Queryable>(target: Over): Over =>
    new Proxy(target, {
      get(object, name) {
        if (name === "query") {
          return (text: string, values: readonly unknown[] = []) => {
            sent.push({ text, values });
            return object.query(text, values);
          };
        }
        if (name === "transaction") {
          return (work: (tx: Transaction) => Promise<unknown>, options?: object) =>
            database.transaction((tx) => work(over(tx)), options);
        }
        const value: unknown = Reflect.get(object, name);
        return typeof value === "function" ? value.bind(object) : value;
      },
    });
  return over(database);
}

async function plansOf(database: Database, sent: readonly Sent[]): Promise<string> {
  const plans: string[] = [];
  for (const { text, values } of sent.filter((one) => /\b(?:from|join) messages\b/.test(one.text))) {
    const { rows } = await database.query<{ "QUERY PLAN": string }>(`explain (costs off) ${text}`, values);
    plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
  }
  return plans.join("\n\n");
}

describeEachDatabase("plans", (open, backend) => {
  it.skipIf(backend === "embedded")("use the indexes for every way to find a message", async () => {
    const database = await open({ fresh: true });
    const { conversationId } = await write(writerOf(database), "plans", [said("a needle-7 in the haystack")], {
      user: "ada",
    });
    const longer = { statementTimeoutMs: 50_000 };
    await database.transaction(
      (tx) =>
        tx.query(
          `insert into messages (id, conversation_id, agent, channel, role, content, created_at)
           select gen_random_uuid(), $1, case when n % 100 = 0 then 'rare' else 'main' end, 'agent', 'user',
             'straw number ' || n || ' of ' || md5(n::text) || case when n % 2 = 0 then ' common' else '' end,
             now() - make_interval(secs => n)
           from generate_series(1, 20000) as n`,
          [conversationId],
        ),
      longer,
    );
    // Empties the list of new rows too, as autovacuum does.
    await database.script("vacuum analyze", longer);

    const sent: Sent[] = [];
    const memory = memoryOf(recording(database, sent));
    const tools = createMemoryTools({
      database: recording(database, sent),
      memory,
      clock: systemClock,
      timezone: "UTC",
    });
    const visibility = { channel: "agent", user: "ada" };
    const cases: Record<string, { readonly run: () => Promise<unknown>; readonly uses: RegExp }> = {
      "a rare word": { run: () => memory.search("haystack", { mode: "fts" }), uses: /messages_content_tsv/ },
      "a rare and a common word": { run: () => memory.search("common haystack"), uses: /messages_content_tsv/ },
      "only a common word": {
        run: () => memory.search("straw", { mode: "fts" }),
        uses: /messages_created|messages_content_tsv/,
      },
      "an identifier": { run: () => memory.search("needle-7"), uses: /messages_content_trgm/ },
      "a misspelled word": { run: () => memory.search("haistack"), uses: /messages_content_trgm/ },
      "similar letters": { run: () => memory.search("hayistack", { mode: "trigram" }), uses: /messages_content_trgm/ },
      "a regular expression": {
        run: () => memory.search("needle-[0-9]", { mode: "regex" }),
        uses: /messages_content_trgm/,
      },
      "an agent and a time": {
        run: () => memory.search("haystack", { agent: "rare", since: "2020-01-01", visibility }),
        uses: /messages_content_tsv/,
      },
      "the context of a turn": {
        run: () => memory.getContextForTurn("where is the common haystack", "main", { visibility }),
        uses: /messages_content_tsv/,
      },
      "a session's history": { run: () => memory.getSessionHistory("plans"), uses: /messages_conversation/ },
      "the newest messages": {
        run: () => tools.call("memory_browse", {}, { visibility: { all: true } }),
        uses: /messages_created/,
      },
      "the newest of an agent": {
        run: () => tools.call("memory_browse", { agent: "rare" }, { visibility: { all: true } }),
        uses: /messages_agent_created|messages_created/,
      },
    };
    // A word that nobody said does not hide what the common ones find.
    expect((await memory.search("zanzibar straw")).length).toBeGreaterThan(0);
    expect(await memory.getContextForTurn("zanzibar straw", "main")).not.toBe("");
    for (const [name, { run, uses }] of Object.entries(cases)) {
      sent.length = 0;
      await run();
      await memory.settled();
      const plan = await plansOf(database, sent);
      expect(plan, name).toMatch(uses);
      expect(plan, name).not.toMatch(/Seq Scan on messages/);
    }
  });
});
