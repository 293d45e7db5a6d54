import { beforeAll, expect, it } from "vitest";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import { eventually } from "../../../support/eventually.ts";

describeEachDatabase("notifications", (open, backend) => {
  let database: Database;

  beforeAll(async () => {
    database = await open();
  });

  const notify = (channel: string, payload: string) => database.query("select pg_notify($1, $2)", [channel, payload]);

  it("reach every handler of their channel, in order, until it stops listening", async () => {
    const first: string[] = [];
    const second: string[] = [];
    const stopFirst = await database.listen("Cairn-Test", (payload) => first.push(payload));
    const stopSecond = await database.listen("Cairn-Test", (payload) => second.push(payload));
    await notify("Cairn-Test", "1");
    await notify("other", "x");
    await notify("Cairn-Test", "2");
    await eventually(() =>
      expect([first, second]).toEqual([
        ["1", "2"],
        ["1", "2"],
      ]),
    );
    await stopFirst();
    await notify("Cairn-Test", "3");
    await eventually(() => expect(second).toEqual(["1", "2", "3"]));
    await stopSecond();
    expect(first).toEqual(["1", "2"]);
  });

  it("come with the commit, and never for what was rolled back", async () => {
    const heard: string[] = [];
    const stop = await database.listen("commits", (payload) => heard.push(payload));
    await database
      .transaction(async (tx) => {
        await tx.query("select pg_notify('commits', 'undone')");
        throw new Error("undo");
      })
      .catch(() => {});
    await database.transaction(async (tx) => {
      await tx.query("select pg_notify('commits', 'done')");
      expect(heard).toEqual([]);
    });
    await eventually(() => expect(heard).toEqual(["done"]));
    await stop();
  });

  it("survive a handler that throws", async () => {
    const heard: string[] = [];
    const stopBad = await database.listen("fragile", () => {
      throw new Error("handler");
    });
    const stop = await database.listen("fragile", (payload) => heard.push(payload));
    await notify("fragile", "a");
    await notify("fragile", "b");
    await eventually(() => expect(heard).toEqual(["a", "b"]));
    await stopBad();
    await stop();
  });

  it.runIf(backend === "embedded")("go on after the store's thread was ended, and wake their handlers", async () => {
    const heard: string[] = [];
    const stop = await database.listen("reopened", (payload) => heard.push(payload));
    const endless = "select count(*) from generate_series(1, 100000000000)";
    await expect(database.transaction((tx) => tx.query(endless), { statementTimeoutMs: 200 })).rejects.toMatchObject({
      code: "MEMORY_TIMEOUT",
    });
    await eventually(() => expect(heard).toEqual([""]));
    await eventually(() => notify("reopened", "again"));
    await eventually(() => expect(heard).toEqual(["", "again"]));
    await stop();
  });
});
