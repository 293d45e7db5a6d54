/** Housekeeping forgets what was delivered long ago, and nothing that was said. */

import { expect, it, onTestFinished } from "vitest";
import { createHousekeeping } from "../../../runtime/workers/housekeeping.ts";
import { createTickers } from "../../../runtime/workers/ticker.ts";
import { describeEachDatabase, quietLogger } from "../../support/databases.ts";
import { end, startHarness, text } from "../../support/turn-harness.ts";

describeEachDatabase("housekeeping", (open) => {
  it("removes accepted messages seven days after their end, with their turns, and keeps the transcript and what was used", async () => {
    const database = await open({ fresh: true });
    const harness = await startHarness({ database, script: () => [text("ok"), end()] });
    const [old, unsent, recent] = [await harness.say("old"), await harness.say("unsent"), await harness.say("recent")];
    await harness.stop();
    const age = (turnId: string) =>
      database.query(
        "update inbox set done_at = now() - interval '8 days' where id = (select inbox_id from turns where id = $1)",
        [turnId],
      );
    await age(old.turn_id);
    await age(unsent.turn_id);
    await database.query("update outbox set state = 'pending' where turn_id = $1", [unsent.turn_id]);

    const swept = Promise.withResolvers<void>();
    const housekeeping = createHousekeeping({
      database,
      tickers: createTickers(),
      logger: quietLogger,
      tasks: {
        broken: async () => Promise.reject(new Error("a task that fails")),
        last: async () => swept.resolve(),
      },
    });
    onTestFinished(() => housekeeping.stop());
    housekeeping.start();
    await swept.promise;

    const { rows } = await database.query<{ id: string }>("select id from turns order by seq");
    expect(rows.map(({ id }) => id)).toEqual([unsent.turn_id, recent.turn_id]);
    expect((await harness.transcript()).filter(({ role }) => role === "user").map(({ content }) => content)).toEqual([
      "old",
      "unsent",
      "recent",
    ]);
    const used = await database.query("select calls from model_usage where agent = $1", [harness.agentName]);
    expect(used.rows).toEqual([{ calls: 3 }]);
  });
});
