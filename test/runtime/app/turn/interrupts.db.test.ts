/** /interrupt and /stop while a turn is being claimed or is ending: they reach the turn that is meant, and no other one. */

import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { through } from "../../../support/through.ts";
import { end, type Harness, type HarnessOptions, hang, startHarness, text } from "../../../support/turn-harness.ts";

describeDatabase("interrupts of turns", (open) => {
  const running: Harness[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((harness) => harness.stop()));
  });
  async function start(options: Omit<HarnessOptions, "database">, database?: Database): Promise<Harness> {
    const harness = await startHarness({ database: database ?? (await open()), ...options });
    running.push(harness);
    return harness;
  }

  /** The store, whose answers to a statement are kept back until they are let go of, once `hold` was called. */
  function holding(database: Database, mark: string) {
    const reached = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    let holds = false;
    const held = through(database, {
      query: async (statement, ...rest) => {
        const answer = await database.query<never>(statement, ...rest);
        if (holds && statement.includes(mark) && answer.count > 0) {
          holds = false;
          reached.resolve();
          await released.promise;
        }
        return answer;
      },
    });
    return {
      database: held,
      hold: () => {
        holds = true;
      },
      reached: reached.promise,
      release: () => released.resolve(),
    };
  }

  const says = (...hanging: string[]): HarnessOptions["script"] => {
    return async ({ messages, options }) => {
      const last = String(messages.at(-1)?.content);
      if (hanging.includes(last)) await hang(options.signal);
      return [text(`re: ${last}`), end()];
    };
  };

  it("never abort the text of /interrupt itself, although the turn before it ends in the same moment", async () => {
    const store = holding(await open(), "inbox:accept");
    const gate = Promise.withResolvers<void>();
    const harness = await start(
      {
        script: async ({ messages, options }) => {
          const last = String(messages.at(-1)?.content);
          // Aborted while it is answered, it would end without an answer.
          await (last === "long" ? gate.promise : Promise.race([sleep(300), hang(options.signal)]));
          return [text(`re: ${last}`), end()];
        },
      },
      store.database,
    );
    const long = await harness.turns.accept(harness.message("long"));
    await expect.poll(() => harness.requests.length).toBe(1);
    store.hold();
    const command = harness.command("/interrupt urgent");
    await store.reached;
    gate.resolve();
    await expect.poll(() => harness.requests.length).toBe(2);
    store.release();
    const { data } = await command;
    expect(data).toMatchObject({ interrupted: false });
    const urgent = await harness.turns.wait(harness.agentName, String(data?.turn_id));
    expect(urgent).toMatchObject({ text: "re: urgent", interrupted: false });
    expect(await harness.turns.wait(harness.agentName, long.turnId)).toMatchObject({ interrupted: false });
  });

  it.each(["/interrupt urgent", "/stop"])("%s aborts a turn whose claim is on its way", async (line) => {
    const store = holding(await open(), "turn:claim");
    // Not found by a renewal of the lease, either.
    const harness = await start({ script: says("ordinary"), limits: { leaseMs: 3_600_000 } }, store.database);
    store.hold();
    const { turnId } = await harness.turns.accept(harness.message("ordinary"));
    await store.reached;
    const command = harness.command(line);
    await sleep(50);
    store.release();
    const { data } = await command;
    expect(data).toMatchObject(line === "/stop" ? { stopped: true } : { interrupted: true });
    expect(await harness.turns.wait(harness.agentName, turnId)).toMatchObject({ text: "", notice: "Stopped." });
    if (line === "/stop") return;
    expect((await harness.turns.wait(harness.agentName, String(data?.turn_id))).text).toBe("re: urgent");
  });

  it("abort a turn that another node had begun to claim before the text came in line ahead of it", async () => {
    const harness = await start({ script: says("ordinary"), limits: { leaseMs: 900 } });
    const { turnId } = await harness.turns.accept(harness.message("ordinary"));
    await expect.poll(() => harness.requests.length).toBe(1);
    // What the other node's command leaves behind: it saw no running turn.
    const urgent = await harness.inbox.accept(harness.message("urgent"), 1);
    expect(await harness.turns.wait(harness.agentName, turnId)).toMatchObject({ text: "", notice: "Stopped." });
    expect((await harness.turns.wait(harness.agentName, urgent.turnId)).text).toBe("re: urgent");
  });

  it("let an ordinary message wait for the turn before it, however often the lease is renewed", async () => {
    const gate = Promise.withResolvers<void>();
    const harness = await start({
      script: async ({ messages }) => {
        const last = String(messages.at(-1)?.content);
        if (last === "first") await gate.promise;
        return [text(`re: ${last}`), end()];
      },
      limits: { leaseMs: 300 },
    });
    const first = await harness.turns.accept(harness.message("first"));
    const second = await harness.turns.accept(harness.message("second"));
    await expect.poll(() => harness.requests.length).toBe(1);
    await sleep(300);
    gate.resolve();
    expect((await harness.turns.wait(harness.agentName, first.turnId)).text).toBe("re: first");
    expect((await harness.turns.wait(harness.agentName, second.turnId)).text).toBe("re: second");
  });
});
