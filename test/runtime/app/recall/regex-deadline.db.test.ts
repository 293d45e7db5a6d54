import { expect, it } from "vitest";
import type { Database } from "../../../../runtime/contracts/database.ts";
import type { Clock } from "../../../../runtime/contracts/ports.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import { eventually } from "../../../support/eventually.ts";
import { memoryOf, said, write, writerOf } from "../../../support/memory.ts";

/** Takes seconds on the row below, and every store takes it. */
const ENDLESS = "^(a|aa|aaa)*(a|aa|aaa)*[^a]b";

describeEachDatabase("a regular expression that never comes to an end", (open, backend) => {
  it.each(["^(a*)(a*)(a*)(a*)\\1\\2\\3\\4$", "a(?=a*b)", "(((a{1,30}){1,30}){1,30})b"])(
    "is refused before it costs the store its thread, or ends at its deadline: %s",
    async (query) => {
      const database = await open();
      await write(writerOf(database), "refused", [said("a".repeat(16_000))]);
      const memory = memoryOf(database);
      const asked = memory.search(query, { mode: "regex" }).catch((error: unknown) => error);
      if (backend === "embedded" || query.includes("{")) {
        expect(await asked).toMatchObject({
          code: "MEMORY_INVALID_ARGUMENT",
          details: { issues: [{ path: "query" }] },
        });
      }
      // Others' writes go on all the while.
      await write(writerOf(database), "others", [said(`goes on ${query}`)]);
      await asked;
      await memory.idle();
    },
  );

  it("ends at its deadline, and the store works on; after two the caller is refused for a minute, and no other caller", async () => {
    const database = await open();
    let now = 0;
    const clock: Clock = { now: () => new Date(), monotonic: () => now };
    await write(writerOf(database), "s", [said("and so on, in the harbour")]);
    const memory = memoryOf(timingOut(database), { clock });
    const endless = (caller: string) => memory.search(ENDLESS, { mode: "regex", caller });
    const plain = (caller: string) => memory.search("and so", { mode: "regex", caller });
    await expect(endless("token a")).rejects.toMatchObject({ code: "MEMORY_TIMEOUT", retryable: true });
    expect(await eventually(() => plain("token a"))).toHaveLength(1);
    // At once: the later ones do not run beside the one that is going to be the second.
    const outcomes = await Promise.allSettled([endless("token a"), endless("token a"), plain("token a")]);
    expect(outcomes.map((one) => (one.status === "rejected" ? one.reason.code : "found"))).toEqual([
      "MEMORY_TIMEOUT",
      "RUNTIME_RATE_LIMITED",
      "RUNTIME_RATE_LIMITED",
    ]);
    expect(await eventually(() => plain("token b"))).toHaveLength(1);
    expect(await memory.search("harbour", { caller: "token a" })).toHaveLength(1);
    now += 59_000;
    await expect(plain("token a")).rejects.toMatchObject({ status: 429, details: { retryAfterS: 1 } });
    now += 1_001;
    expect(await plain("token a")).toHaveLength(1);
    await memory.idle();
  });
});

/** The store, with the statement of the endless expression held up there until its deadline, as a slow row holds it. */
function timingOut(database: Database): Database {
  return {
    ...database,
    backend: database.backend,
    query: (text, values, options) => database.query(text, values, options),
    transaction: (work, options) =>
      database.transaction(
        (tx) =>
          work({
            ...tx,
            query: async (text, values) => {
              if (values?.includes(ENDLESS)) await tx.query("select pg_sleep(30)");
              return tx.query(text, values);
            },
          }),
        options,
      ),
  };
}
