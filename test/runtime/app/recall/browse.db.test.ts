/** Browsing by filters each of which lets many rows through, and all of them together hardly any. */

import { beforeAll, expect, it } from "vitest";
import { createMemoryTools } from "../../../../runtime/app/memory-tools.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { memoryOf, said, systemClock, write, writerOf } from "../../../support/memory.ts";
import { costOf, recording, type Sent } from "../../../support/plans.ts";

const TIMEOUT = 180_000;
/** Of each kind: more than one call looks at. */
const EACH = 22_000;

interface Page {
  readonly messages: readonly { readonly content: string; readonly created_at: string }[];
  readonly next_cursor: string | null;
  readonly looked_until?: string;
}

describeDatabase("browsing by filters that hardly meet", (open) => {
  let database: Database;
  const sent: Sent[] = [];

  beforeAll(async () => {
    database = await open({ fresh: true });
    const first = await write(writerOf(database), "s", [said("met first", MET)], { channel: "web" });
    const { conversationId: id } = first;
    const half = EACH / 2;
    await bulk(id, 1, half);
    await write(writerOf(database), "s", [said("met in the middle", { ...MET, createdAt: at(half) })], {
      channel: "web",
    });
    await bulk(id, half + 1, EACH);
    await write(writerOf(database), "s", [said("met last", { ...MET, createdAt: at(EACH + 1) })], { channel: "web" });
    await database.script("analyze messages");
  }, TIMEOUT);

  const MET = { role: "assistant", createdAt: "2026-01-01T00:00:00.000Z" } as const;
  const at = (n: number) => new Date(Date.parse(MET.createdAt) + n * 1_000).toISOString();
  /** Assistants on the command line and users on the web, of one agent, in turns. */
  const bulk = (conversation: string, from: number, to: number) =>
    // A transaction of these tests has more time than a statement.
    database.transaction((tx) =>
      tx.query(
        `insert into messages (id, conversation_id, agent, channel, role, content, created_at)
         select gen_random_uuid(), $1, 'main', channel, role, 'x', $2::timestamptz + make_interval(secs => n)
         from generate_series($3::int, $4::int) as n,
           (values ('cli', 'assistant'), ('web', 'user')) as kinds (channel, role)`,
        [conversation, MET.createdAt, from, to],
      ),
    );

  async function pages(args: object): Promise<Page[]> {
    const over = recording(database, sent);
    const tools = createMemoryTools({ database: over, memory: memoryOf(over), clock: systemClock, timezone: "UTC" });
    const seen: Page[] = [];
    let cursor: string | null = null;
    do {
      // The result is the tool's own.
      const page = (await tools.call("memory_browse", { ...args, cursor }, { visibility: { all: true } })) as Page;
      seen.push(page);
      cursor = page.next_cursor;
    } while (cursor !== null);
    return seen;
  }
  const contents = (seen: readonly Page[]) => seen.flatMap(({ messages }) => messages.map(({ content }) => content));
  const all = ["met last", "met in the middle", "met first"];

  it.each([
    ["desc", {}, all, 2],
    ["asc", {}, all.toReversed(), 2],
    ["desc", { agent: "main" }, all, 2],
    ["desc", { since: "2026-01-01T00:00:01Z" }, all.slice(0, 2), 2],
    ["asc", { before: "2026-01-01T03:00:00Z" }, ["met first"], 1],
    ["desc", { before: "2026-01-01T03:10:00Z" }, all.slice(1), 1],
    ["asc", { since: "2026-01-01T03:00:00Z" }, all.toReversed().slice(1), 1],
  ])(
    "finds every row once, %s, with %j, and tells how far each page has looked",
    {
      timeout: TIMEOUT,
    },
    async (order, args, found, calls) => {
      const seen = await pages({ role: "assistant", channel: "web", order, ...args });
      expect(contents(seen)).toEqual(found);
      expect(seen).toHaveLength(calls);
      expect(seen.at(-1)).not.toHaveProperty("looked_until");
      const until = seen.slice(0, -1).map(({ looked_until = "" }) => looked_until);
      expect(until).not.toContain("");
      expect(until).toEqual(order === "asc" ? until.toSorted() : until.toSorted().reverse());
      for (const [n, { messages }] of seen.entries())
        for (const { created_at } of messages)
          expect(order === "asc" ? created_at <= (until[n] ?? "9") : created_at >= (until[n] ?? "")).toBe(true);
    },
  );

  it("ends a page where it has looked at 20,000 rows", { timeout: TIMEOUT }, async () => {
    const [first] = await pages({ role: "assistant", channel: "web" });
    // From the newest of 22,003 rows, one a second.
    expect(first?.looked_until).toMatch(/^2026-01-01T00:33:2\d/);
    expect(contents(await pages({ role: "assistant", channel: "web", limit: 1 }))).toEqual(all);
  });

  it("looks at nothing but the rarest, and finds full pages at once where filters meet", {
    timeout: TIMEOUT,
  }, async () => {
    await write(writerOf(database), "other", [said("rare", { role: "tool", createdAt: "2025-01-01T00:00:00Z" })]);
    for (const order of ["asc", "desc"]) {
      sent.length = 0;
      expect(await pages({ role: "tool", agent: "main", order })).toEqual([
        { messages: [expect.objectContaining({ content: "rare" })], next_cursor: null },
      ]);
      expect(sent).toHaveLength(3);
    }
    sent.length = 0;
    const users = await pages({ role: "user", channel: "web", agent: "main", limit: 200, before: at(1_000) });
    expect(contents(users)).toHaveLength(999);
    expect(users.map(({ messages }) => messages.length)).toEqual([200, 200, 200, 200, 199]);
  });

  it("reads at most 4,000 rows and 10,000 pages a statement", { timeout: TIMEOUT }, async () => {
    sent.length = 0;
    for (const order of ["asc", "desc"]) {
      await pages({ role: "assistant", channel: "web", order });
      await pages({ role: "tool", channel: "nowhere", agent: "nobody", order });
      await pages({ role: "user", agent: "main", order, limit: 200, before: at(500) });
    }
    expect(sent.length).toBeGreaterThan(40);
    for (const one of sent) {
      const { rows, buffers, sequential, plan } = await costOf(database, one);
      expect(rows, plan).toBeLessThanOrEqual(4_000);
      expect(buffers, plan).toBeLessThanOrEqual(10_000);
      expect(sequential, plan).toEqual({});
    }
  });
});
