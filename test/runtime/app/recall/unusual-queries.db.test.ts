/** What nobody should ask: whatever the words, each mode answers with what fits, or with a clear error. */

import { beforeAll, expect, it } from "vitest";
import type { Database } from "../../../../runtime/contracts/database.ts";
import type { SearchOptions } from "../../../../runtime/contracts/memory.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import { memoryOf, said, write, writerOf } from "../../../support/memory.ts";

const HEBREW = "הספינה הגיעה לנמל בבוקר";
const ARABIC = "وصلت السفينة إلى الميناء";
const MIXED = "The harbour is called נמל, and everybody was happy 🎉🗿.";
const PLAIN = "The lighthouse keeper lit the lamp.";

describeEachDatabase("a query", (open) => {
  let database: Database;
  const found = async (query: string, options: SearchOptions = {}) => {
    const memory = memoryOf(database);
    const hits = await memory.search(query, { limit: 1, ...options });
    await memory.idle();
    return hits.map(({ content }) => content);
  };

  beforeAll(async () => {
    database = await open();
    for (const [n, text] of [HEBREW, ARABIC, MIXED, PLAIN].entries())
      await write(writerOf(database), `odd/${n}`, [said(text)]);
  });

  it.each(["hybrid", "fts", "trigram"] as const)(
    "of 100 kB finds by its first words, and one that fits nothing finds nothing (%s)",
    async (mode) => {
      const long = "kaleidoscope ".repeat(8_000);
      expect(long.length).toBeGreaterThan(100_000);
      expect(await found(`lighthouse ${long}`, { mode })).toEqual([PLAIN]);
      expect(await found(`${long} lighthouse`, { mode })).toEqual([]);
      expect(await found("x".repeat(100_000), { mode })).toEqual([]);
    },
  );

  it("of 100 kB is no regular expression that anybody waits for", async () => {
    const outcome = await found("x".repeat(100_000), { mode: "regex" }).catch((error: unknown) => error);
    expect(outcome).toMatchObject({ code: "MEMORY_INVALID_ARGUMENT", details: { issues: [{ path: "query" }] } });
  });

  it("of stop words alone finds nothing by words, and is no error", async () => {
    for (const query of ["the of and", "who are you", "it"]) expect(await found(query, { mode: "fts" })).toEqual([]);
    await found("the of and");
  });

  it.each([
    ["lighthouse & !keeper | (lamp <-> :*)", PLAIN],
    ['"lighthouse keeper" -harbour AND lamp*', PLAIN],
    ["light'house''s lighthouse\\ ' %_", PLAIN],
  ])("with operators and quotes, %s, means its words", async (query, content) => {
    for (const mode of ["hybrid", "fts"] as const) expect(await found(query, { mode })).toEqual([content]);
  });

  it.each([
    ["הספינה", HEBREW],
    ["לנמל בבוקר", HEBREW],
    ["السفينة", ARABIC],
    ["\u200fالميناء\u200e", ARABIC],
  ])("that is written from right to left, %s, finds its words", async (query, content) => {
    for (const mode of ["hybrid", "fts"] as const) expect(await found(query, { mode })).toEqual([content]);
    expect(await found(query.replace(/[\u200e\u200f]/g, ""), { mode: "regex" })).toEqual([content]);
  });

  it("of emoji finds them as they are", async () => {
    expect(await found("🎉🗿", { mode: "regex" })).toEqual([MIXED]);
    expect(await found("happy 🎉")).toEqual([MIXED]);
    for (const mode of ["hybrid", "fts", "trigram"] as const) await found("🎉👩‍👩‍👧‍👦", { mode });
  });
});
