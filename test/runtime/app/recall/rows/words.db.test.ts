import fc from "fast-check";
import { expect, it } from "vitest";
import { lexemeCounts } from "../../../../../runtime/domain/lexemes.ts";
import { describeEachDatabase } from "../../../../support/databases.ts";

const UNUSUAL = [
  "it's",
  "''",
  "C:\\temp\\new",
  "a\\'b",
  "https://example.org/a?b='c'&d=\\e",
  "O'Brien@example.org",
  "/usr/lib/x,y:z",
  "-3.14e5",
  "node-37:1A",
  "日本語",
  "🙂",
  "naïve-café",
  "<a href='x'>",
  "&amp;",
  "x".repeat(3_000),
];
const text = fc
  .array(
    fc.oneof(fc.constantFrom(...UNUSUAL), fc.string({ unit: "binary", maxLength: 12 }), fc.string({ maxLength: 20 })),
    {
      maxLength: 40,
    },
  )
  .map((words) => words.join(" ").replaceAll("\0", "").toWellFormed());
/** Any lexemes, with weights, positions beyond those that are kept, or none. */
const AS_WRITTEN = "array_to_tsvector($1::text[])";
const EXPECTED = "coalesce(json_object_agg(lexeme, coalesce(cardinality(positions), 1)), '{}') from unnest(";

describeEachDatabase("words read from the text of a tsvector", (open) => {
  it("are those that the database has, as often", async () => {
    const database = await open();
    const counted = async (tsvector: string, value: unknown) => {
      const { rows } = await database.query<{ text: string; counts: Record<string, number> }>(
        `select (${tsvector})::text as text, (select ${EXPECTED}${tsvector})) as counts`,
        [value],
      );
      for (const { text, counts } of rows) expect(lexemeCounts(text)).toEqual(new Map(Object.entries(counts)));
    };
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 20, maxLength: 20 }), async (texts) => {
        for (const config of ["english", "simple"]) {
          const { rows } = await database.query<{ text: string; counts: Record<string, number> }>(
            `select tsv::text as text, (select ${EXPECTED}tsv)) as counts
             from unnest($1::text[]) as given (content)
             cross join lateral (select setweight(to_tsvector('${config}', content), 'B') as tsv) as made`,
            [texts],
          );
          for (const { text, counts } of rows) expect(lexemeCounts(text)).toEqual(new Map(Object.entries(counts)));
        }
        const lexemes = [...new Set(texts.flatMap((one) => one.split(" ")))].filter(
          (one) => one !== "" && one.length < 500,
        );
        await counted(AS_WRITTEN, lexemes);
      }),
      { numRuns: 25 },
    );
    await counted("to_tsvector('simple', $1::text)", `${"often ".repeat(20_000)}${"it's a\\b ".repeat(300)}`);
    await counted("to_tsvector('english', $1::text)", `${"often rarely ".repeat(9_000)} end`);
  });
});
