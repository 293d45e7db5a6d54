import { expect, it } from "vitest";
import { describeEachDatabase } from "../../../support/databases.ts";
import { eventually } from "../../../support/eventually.ts";
import { memoryOf, said, write, writerOf } from "../../../support/memory.ts";

describeEachDatabase("a regular expression that never comes to an end", (open) => {
  it("ends at its deadline, and the store goes on", async () => {
    const database = await open();
    await write(writerOf(database), "s", [said("a".repeat(20_001)), said("and so on")]);
    const memory = memoryOf(database);
    const endless = memory.search("^(a*)(a*)(a*)(a*)\\1\\2\\3\\4$", { mode: "regex" });
    await expect(endless).rejects.toMatchObject({ code: "MEMORY_TIMEOUT", retryable: true });
    expect(await eventually(() => memory.search("and so", { mode: "regex" }))).toHaveLength(1);
    await memory.settled();
  });
});
