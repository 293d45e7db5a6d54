import { expect, it, onTestFinished } from "vitest";
import type { Schedule } from "../../../../runtime/app/schedules/schedule.ts";
import { ScheduledTurns, type SchedulesDeps } from "../../../../runtime/app/schedules/schedules.ts";
import { createScheduleStore } from "../../../../runtime/app/schedules/store.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { RuntimeError } from "../../../../runtime/contracts/errors.ts";
import { planOf } from "../../../../runtime/domain/schedule.ts";
import { describeEachDatabase, quietLogger } from "../../../support/databases.ts";
import { end, type Harness, type HarnessOptions, hang, startHarness, text } from "../../../support/turn-harness.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2030, 0, 31, 7, 30);
const NEVER = new AbortController().signal;

/** Agents of the store, on a node, with one schedule at eight that speaks in its own session. */
async function world(database: Database, options: Partial<HarnessOptions> = {}) {
  const harness = await startHarness({ database, script: () => [text("Good morning."), end()], ...options });
  onTestFinished(() => harness.stop());
  const time = { now: START };
  const node = (schedules: readonly Schedule[], given: Partial<SchedulesDeps> = {}) =>
    new ScheduledTurns({
      schedules,
      store: createScheduleStore(database),
      turns: harness.turns,
      placement: { hosted: () => [harness.agentName] },
      isDraining: () => false,
      clock: { now: () => new Date(time.now), monotonic: () => time.now },
      newId: () => crypto.randomUUID(),
      logger: quietLogger,
      ...given,
    });
  const schedule = (changes: Partial<Schedule> = {}): Schedule => {
    const { cron, timezone } = { cron: "0 8 * * *", timezone: "UTC", ...changes };
    return {
      agent: harness.agentName,
      name: "morning",
      prompt: "Say good morning.",
      enabled: true,
      address: { channel: harness.channel.id, conversation: "schedule:morning", user: "" },
      sends: false,
      ...changes,
      cron,
      timezone,
      plan: planOf(cron, timezone),
    };
  };
  const turns = async () => {
    const { rows } = await database.query<{ external_id: string; state: string; owner: boolean }>(
      "select i.external_id, t.state, i.owner from inbox i join turns t on t.inbox_id = i.id where i.agent = $1 order by i.seq",
      [harness.agentName],
    );
    return rows;
  };
  const ids = async () => (await turns()).map(({ external_id: id }) => id);
  return { harness, time, node, schedule, turns, ids };
}

/** Until no turn of the harness runs or waits to run. */
async function untilIdle({ harness, turns }: { harness: Harness; turns: () => Promise<readonly { state: string }[]> }) {
  harness.dispatcher.kick();
  await expect
    .poll(async () => (await turns()).every(({ state }) => state === "done" || state === "failed"))
    .toBe(true);
}

describeEachDatabase("a schedule", (open) => {
  it("starts its prompt as the owner's message when its time has come, once, and its outcome is kept", async () => {
    const one = await world(await open());
    const node = one.node([one.schedule()]);
    await node.tick(NEVER);
    expect(await one.turns()).toEqual([]);
    one.time.now = START + HOUR;
    await node.tick(NEVER);
    await node.tick(NEVER);
    expect(await one.turns()).toMatchObject([
      { external_id: "schedule:morning:2030-01-31T08:00:00.000Z", owner: true },
    ]);
    await untilIdle(one);
    await node.tick(NEVER);
    expect(await one.harness.transcript()).toMatchObject([
      { role: "user", content: "Say good morning.", metadata: { schedule: "morning" } },
      { role: "assistant", content: "Good morning." },
    ]);
    expect(await node.list()).toMatchObject([
      {
        name: "morning",
        state: "active",
        next_at: "2030-02-01T08:00:00.000Z",
        last: { at: "2030-01-31T08:30:00.000Z", state: "done", error: null },
        problem: null,
      },
    ]);
  });

  it("of two nodes that find it due at once is started by one", async () => {
    const one = await world(await open());
    const nodes = [one.node([one.schedule()]), one.node([one.schedule()])];
    await Promise.all(nodes.map((node) => node.tick(NEVER)));
    one.time.now = START + HOUR;
    await Promise.all([...nodes, ...nodes].map((node) => node.tick(NEVER)));
    expect(await one.ids()).toEqual(["schedule:morning:2030-01-31T08:00:00.000Z"]);
  });

  it("is started once by two nodes of which one has another prompt still", async () => {
    const one = await world(await open());
    const first = one.node([one.schedule()]);
    await first.tick(NEVER);
    one.time.now = START + HOUR;
    const other = one.node([one.schedule({ prompt: "Say good day." })]);
    await Promise.all([first.tick(NEVER), other.tick(NEVER)]);
    expect(await one.ids()).toHaveLength(1);
  });

  it("that was missed for days runs once, for the newest time", async () => {
    const one = await world(await open());
    await one.node([one.schedule()]).tick(NEVER);
    one.time.now = START + 5 * 24 * HOUR + HOUR;
    const next = one.node([one.schedule()]);
    await next.tick(NEVER);
    await next.tick(NEVER);
    expect(await one.ids()).toEqual(["schedule:morning:2030-02-05T08:00:00.000Z"]);
  });

  it("that came due while the node was draining runs after that, once", async () => {
    const one = await world(await open());
    let draining = false;
    const node = one.node([one.schedule()], { isDraining: () => draining });
    await node.tick(NEVER);
    draining = true;
    one.time.now = START + HOUR;
    await node.tick(NEVER);
    expect(await one.ids()).toEqual([]);
    draining = false;
    await node.tick(NEVER);
    expect(await one.ids()).toHaveLength(1);
  });

  it("is not started by a node that does not host its agent, and is late where none does", async () => {
    const one = await world(await open());
    await one.node([one.schedule()]).tick(NEVER);
    const other = one.node([one.schedule()], { placement: { hosted: () => [] } });
    one.time.now = START + 34 * MINUTE;
    await other.tick(NEVER);
    expect(await other.list()).toMatchObject([{ problem: null }]);
    one.time.now = START + 36 * MINUTE;
    await other.tick(NEVER);
    expect(await one.ids()).toEqual([]);
    expect(await other.list()).toMatchObject([{ problem: expect.stringContaining("2030-01-31T08:00") }]);
  });

  it("starts nothing twice when the clock jumps an hour ahead and back, and goes on at the next time", async () => {
    const one = await world(await open());
    const node = one.node([one.schedule({ cron: "0 * * * *" })]);
    await node.tick(NEVER);
    one.time.now = START + HOUR;
    await node.tick(NEVER);
    await untilIdle(one);
    one.time.now = START;
    await node.tick(NEVER);
    one.time.now = START + 40 * MINUTE;
    await node.tick(NEVER);
    expect(await one.ids()).toEqual(["schedule:morning:2030-01-31T08:00:00.000Z"]);
    one.time.now = START + 91 * MINUTE;
    await node.tick(NEVER);
    expect((await one.ids()).slice(1)).toEqual(["schedule:morning:2030-01-31T09:00:00.000Z"]);
  });

  it("goes on, and starts nothing twice, when the clock was ahead by a day for a while", async () => {
    const one = await world(await open());
    const node = one.node([one.schedule({ cron: "*/30 * * * *" })]);
    const at = async (now: number) => {
      one.time.now = now;
      await node.tick(NEVER);
      await untilIdle(one);
    };
    for (const now of [START, START + 24 * HOUR, START + MINUTE, START + 31 * MINUTE, START + 61 * MINUTE])
      await at(now);
    const times = ["02-01T07:30", "01-31T08:00", "01-31T08:30"];
    const ids = times.map((time) => `schedule:morning:2030-${time}:00.000Z`);
    expect(await one.ids()).toEqual(ids);
    // The time that came while the clock was wrong.
    await at(START + 24 * HOUR + MINUTE);
    expect(await one.ids()).toEqual(ids);
    expect(await node.list()).toMatchObject([{ next_at: "2030-02-01T08:00:00.000Z", problem: null }]);
  });

  it.each<[string, Partial<Schedule>]>([
    ["another cron", { cron: "0 8 * * *" }],
    ["another time zone", { timezone: "Europe/Berlin" }],
  ])("with %s runs by that from now on, and not for the past of it", async (_what, changes) => {
    const one = await world(await open());
    await one.node([one.schedule({ cron: "0 9 * * *" })]).tick(NEVER);
    one.time.now = START + HOUR + MINUTE;
    const changed = one.node([one.schedule({ cron: "0 9 * * *", ...changes })]);
    await changed.tick(NEVER);
    await changed.tick(NEVER);
    expect(await one.ids()).toEqual([]);
    one.time.now = START + 24 * HOUR + 2 * HOUR;
    await changed.tick(NEVER);
    expect(await one.ids()).toHaveLength(1);
  });

  it("with another prompt says that the next time", async () => {
    const one = await world(await open());
    await one.node([one.schedule()]).tick(NEVER);
    one.time.now = START + HOUR;
    await one.node([one.schedule({ prompt: "Say good day." })]).tick(NEVER);
    await untilIdle(one);
    expect(await one.harness.transcript()).toMatchObject([{ content: "Say good day." }, {}]);
  });

  it("that was removed ends, and begins anew when it comes back", async () => {
    const one = await world(await open());
    await one.node([one.schedule()]).tick(NEVER);
    one.time.now = START + HOUR;
    await one.node([]).tick(NEVER);
    expect(await one.node([]).list()).toEqual([]);
    one.time.now = START + 2 * HOUR;
    await one.node([one.schedule()]).tick(NEVER);
    expect(await one.ids()).toEqual([]);
  });

  it("that is disabled runs nothing, and makes up for nothing when it is enabled again", async () => {
    const one = await world(await open());
    await one.node([one.schedule()]).tick(NEVER);
    const disabled = one.node([one.schedule({ enabled: false })]);
    await disabled.tick(NEVER);
    one.time.now = START + HOUR;
    await disabled.tick(NEVER);
    expect(await disabled.list()).toMatchObject([{ state: "disabled", next_at: null, problem: null }]);
    const enabled = one.node([one.schedule()]);
    await enabled.tick(NEVER);
    await enabled.tick(NEVER);
    expect(await one.ids()).toEqual([]);
  });

  it("that is paused runs nothing on any node, and makes up for nothing when it is resumed", async () => {
    const one = await world(await open());
    const [node, other] = [one.node([one.schedule()]), one.node([one.schedule()])];
    const { agentName } = one.harness;
    await node.tick(NEVER);
    expect(await other.pause(agentName, "morning")).toMatchObject({ state: "paused", next_at: null });
    one.time.now = START + 25 * HOUR;
    await node.tick(NEVER);
    expect(await node.list()).toMatchObject([{ state: "paused", problem: null }]);
    expect(await other.resume(agentName, "morning")).toMatchObject({
      state: "active",
      next_at: "2030-02-02T08:00:00.000Z",
    });
    await node.tick(NEVER);
    expect(await one.ids()).toEqual([]);
    // One that is not paused is resumed without a change: what it has missed is made up for.
    one.time.now = START + 49 * HOUR;
    await other.resume(agentName, "morning");
    await node.tick(NEVER);
    expect(await one.ids()).toHaveLength(1);
  });

  it("can be paused before it has ever been due", async () => {
    const one = await world(await open());
    const node = one.node([one.schedule()]);
    await node.pause(one.harness.agentName, "morning");
    one.time.now = START + HOUR;
    await node.tick(NEVER);
    await node.tick(NEVER);
    expect(await one.ids()).toEqual([]);
  });

  it("runs by hand beside its plan, also while it is paused", async () => {
    const one = await world(await open());
    const node = one.node([one.schedule()]);
    const { agentName, turns } = one.harness;
    await node.pause(agentName, "morning");
    const run = await node.run(agentName, "morning");
    expect(run).toMatchObject({ agent: agentName, name: "morning", started: true });
    expect(await turns.wait(agentName, run.turn_id)).toMatchObject({ text: "Good morning." });
    expect(await node.list()).toMatchObject([{ state: "paused", last: { turn_id: run.turn_id, state: "done" } }]);
    await node.resume(agentName, "morning");
    one.time.now = START + HOUR;
    await node.tick(NEVER);
    expect(await one.ids()).toHaveLength(2);
    await expect(node.run(agentName, "evening")).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
    await expect(node.pause("nobody", "morning")).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
  });

  it("whose run is still at work has one more that waits, however often it comes due", async () => {
    const release = Promise.withResolvers<void>();
    const one = await world(await open(), {
      script: async ({ options }) => {
        await Promise.race([release.promise, hang(options.signal)]);
        return [text("At last."), end()];
      },
    });
    const node = one.node([one.schedule({ cron: "0 * * * *" })]);
    await node.tick(NEVER);
    one.time.now += HOUR;
    await node.tick(NEVER);
    await expect.poll(async () => (await one.turns())[0]?.state).toBe("running");
    for (let hours = 0; hours < 4; hours += 1) {
      one.time.now += HOUR;
      await node.tick(NEVER);
    }
    const run = await node.run(one.harness.agentName, "morning");
    expect(run.started).toBe(false);
    expect(await one.turns()).toMatchObject([
      { external_id: "schedule:morning:2030-01-31T08:00:00.000Z", state: "running" },
      { external_id: "schedule:morning:2030-01-31T09:00:00.000Z", state: "queued" },
    ]);
    release.resolve();
    await untilIdle(one);
    await node.tick(NEVER);
    expect(await one.ids()).toHaveLength(2);
  });

  it("whose run was interrupted and goes on has another one that waits", async () => {
    const database = await open();
    const one = await world(database, {
      script: async ({ options }) => {
        await hang(options.signal);
        return [end()];
      },
    });
    const node = one.node([one.schedule()]);
    const { turn_id: first } = await node.run(one.harness.agentName, "morning");
    await expect.poll(async () => (await one.turns())[0]?.state).toBe("running");
    // As between the end of a node and the claim of another one.
    await database.query("update turns set state = 'queued', attempt = 1 where id = $1", [first]);
    expect(await node.run(one.harness.agentName, "morning")).toMatchObject({ started: true });
    expect(await one.ids()).toHaveLength(2);
    expect(await node.run(one.harness.agentName, "morning")).toMatchObject({ started: false });
  });

  it("that speaks in a conversation is answered there, in the session of its user", async () => {
    const one = await world(await open());
    const { harness } = one;
    const address = { channel: harness.channel.id, conversation: "chat-7", user: "ada" };
    const node = one.node([one.schedule({ address, sends: true })]);
    const { turn_id: turnId } = await node.run(harness.agentName, "morning");
    await harness.turns.wait(harness.agentName, turnId);
    await expect.poll(() => harness.sent).toMatchObject([{ address, text: "Good morning.", turnId }]);
    await harness.say("And you?", { address, session: "chat-7" });
    expect(harness.requests.at(-1)?.messages.map(({ content }) => content)).toContain("Say good morning.");
    expect(await node.list()).toMatchObject([{ channel: harness.channel.id, conversation: "chat-7" }]);
  });

  it("whose last run failed says so, also when its turn is not there any more", async () => {
    const database = await open();
    const one = await world(database, {
      script: () => {
        throw new Error("no model");
      },
    });
    const node = one.node([one.schedule()]);
    await node.tick(NEVER);
    one.time.now = START + HOUR;
    await node.tick(NEVER);
    await untilIdle(one);
    expect(await node.list()).toMatchObject([{ problem: expect.stringMatching(/last run failed/) }]);
    await node.tick(NEVER);
    await database.query("delete from inbox where agent = $1", [one.harness.agentName]);
    expect(await node.list()).toMatchObject([
      { last: { state: "failed" }, problem: expect.stringMatching(/last run failed/) },
    ]);
  });

  it("that the inbox refuses for good is recorded as failed, and the others run", async () => {
    const one = await world(await open());
    const accept: SchedulesDeps["turns"]["accept"] = async (message) => {
      if (message.text === "bad") throw new RuntimeError("RUNTIME_INVALID_REQUEST", "It is too long.");
      return one.harness.turns.accept(message);
    };
    const schedules = [one.schedule({ name: "bad", prompt: "bad" }), one.schedule()];
    const node = one.node(schedules, { turns: { accept } });
    await node.tick(NEVER);
    one.time.now = START + HOUR;
    await node.tick(NEVER);
    await node.tick(NEVER);
    expect(await one.ids()).toHaveLength(1);
    expect(await node.list()).toMatchObject([
      { last: { turn_id: null, state: "failed", error: "It is too long." }, next_at: "2030-02-01T08:00:00.000Z" },
      { last: { error: null } },
    ]);
  });

  it("that cannot be started now is tried again, and the others run meanwhile", async () => {
    const one = await world(await open());
    let unavailable = true;
    const accept: SchedulesDeps["turns"]["accept"] = async (message) => {
      if (unavailable && message.externalId.startsWith("schedule:first:")) {
        throw new RuntimeError("RUNTIME_NOT_READY", "Not now.");
      }
      return one.harness.turns.accept(message);
    };
    const node = one.node([one.schedule({ name: "first" }), one.schedule()], { turns: { accept } });
    await node.tick(NEVER);
    one.time.now = START + HOUR;
    await expect(node.tick(NEVER)).rejects.toMatchObject({ code: "RUNTIME_NOT_READY" });
    expect(await one.ids()).toEqual(["schedule:morning:2030-01-31T08:00:00.000Z"]);
    unavailable = false;
    await node.tick(NEVER);
    expect((await one.ids()).slice(1)).toEqual(["schedule:first:2030-01-31T08:00:00.000Z"]);
  });

  it("whose node dies between the message and its own record starts no second run", async () => {
    const database = await open();
    const one = await world(database);
    const store = createScheduleStore(database);
    const dying = one.node([one.schedule()], {
      store: { ...store, advance: () => Promise.reject(new Error("killed")) },
    });
    await dying.tick(NEVER);
    one.time.now = START + HOUR;
    await expect(dying.tick(NEVER)).rejects.toThrow("killed");
    await untilIdle(one);
    const next = one.node([one.schedule()]);
    await next.tick(NEVER);
    expect(await one.ids()).toHaveLength(1);
    expect(await next.list()).toMatchObject([{ last: { state: "done" } }]);
  });
});
