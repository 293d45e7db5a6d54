import { expect, it } from "vitest";
import { createSynthesisQueue } from "../../../../runtime/app/transcript/synthesis-queue.ts";
import type { JobQueue } from "../../../../runtime/contracts/jobs.ts";
import { describeDatabase, quietLogger } from "../../../support/databases.ts";
import { said, write, writerOf } from "../../../support/memory.ts";

type Jobs = Pick<JobQueue, "enqueueAll" | "failedKeys" | "liveKeys">;

/** A queue that holds each key once, as the real one does. */
function heldKeys(dead: readonly string[] = []): Jobs & { readonly keys: Set<string> } {
  const keys = new Set<string>();
  return {
    keys,
    enqueueAll: async (_queue, jobs) => {
      const before = keys.size;
      for (const { key } of jobs) keys.add(key);
      return keys.size - before;
    },
    failedKeys: async () => new Set(dead),
    liveKeys: async () => keys,
  };
}

const broken: Jobs = {
  enqueueAll: async () => {
    throw new Error("the queue is down");
  },
  failedKeys: async () => new Set(),
  liveKeys: async () => new Set(),
};

const call = (key: string) => said("", { key, role: "assistant", toolName: "shell", toolArgs: { n: key } });

describeDatabase("the queue of tool calls", (open) => {
  it("takes tool calls without content after they are stored, and nothing else", async () => {
    const database = await open({ fresh: true });
    const jobs = heldKeys();
    const queue = createSynthesisQueue({ database, jobs, logger: quietLogger });
    const writer = writerOf(database, { onWritten: ({ toolCalls }) => queue.add(toolCalls) });
    const named = said("I listed the files.", { key: "named", toolName: "shell" });
    const { rows } = await write(writer, "s", [said("hello"), call("a"), named]);
    await queue.idle();
    expect([...jobs.keys]).toEqual([rows[1]?.id]);
  });

  it("costs no row when it is down, and sweeps up afterwards what was missed", async () => {
    const database = await open({ fresh: true });
    const down = createSynthesisQueue({ database, jobs: broken, logger: quietLogger });
    const writer = writerOf(database, { onWritten: ({ toolCalls }) => down.add(toolCalls) });
    const { rows } = await write(writer, "s", [call("a"), call("b"), call("c")]);
    await down.idle();
    expect(rows.every(({ inserted }) => inserted)).toBe(true);
    const [a, b, c] = rows.map(({ id }) => id);
    const jobs = heldKeys([b ?? ""]);
    const up = createSynthesisQueue({ database, jobs, logger: quietLogger });
    expect(await up.sweep()).toBe(2);
    expect([...jobs.keys]).toEqual([a, c]);
    expect(await up.sweep()).toBe(0);
  });

  it("offers to a queue that was unavailable what it did not take, until it does, and nothing twice", async () => {
    const database = await open({ fresh: true });
    const held = heldKeys();
    let unavailable = true;
    const jobs: Jobs = {
      ...held,
      enqueueAll: (name, list) => (unavailable ? broken : held).enqueueAll(name, list),
    };
    const queue = createSynthesisQueue({ database, jobs, logger: quietLogger });
    const writer = writerOf(database, { onWritten: ({ toolCalls }) => queue.add(toolCalls) });
    const written: string[] = [];
    for (const session of ["s", "t"]) {
      const { rows } = await write(writer, session, [call(`${session} a`), call(`${session} b`)]);
      written.push(...rows.map(({ id }) => id));
    }
    await queue.idle();
    expect([...held.keys]).toEqual([]);
    unavailable = false;
    await expect.poll(() => [...held.keys].sort()).toEqual(written.sort());
    queue.stop();
  });

  it("backfills what has no job, once, and counts the same before it does", async () => {
    const database = await open({ fresh: true });
    const { rows } = await write(writerOf(database), "s", [said("hello"), ...["a", "b", "c", "d"].map(call)]);
    const [, a, b, c, d] = rows.map(({ id }) => id);
    const jobs = heldKeys([b ?? ""]);
    jobs.keys.add(a ?? "");
    const queue = createSynthesisQueue({ database, jobs, logger: quietLogger });
    const counted = await queue.backfill({ dryRun: true });
    expect(counted).toEqual({ candidates: 4, enqueued: 2, queued: 1, failed: 1 });
    expect([...jobs.keys]).toEqual([a]);
    expect(await queue.backfill({ dryRun: false })).toEqual(counted);
    expect([...jobs.keys]).toEqual([a, c, d]);
    const again = { candidates: 4, enqueued: 0, queued: 3, failed: 1 };
    expect(await queue.backfill({ dryRun: true })).toEqual(again);
    expect(await queue.backfill({ dryRun: false })).toEqual(again);
  });

  it("backfills more rows than fit on a page, and says when the queue is down", async () => {
    const database = await open({ fresh: true });
    const calls = Array.from({ length: 1_001 }, (_, n) => call(`many ${n}`));
    await write(writerOf(database), "s", calls);
    const jobs = heldKeys();
    const queue = createSynthesisQueue({ database, jobs, logger: quietLogger });
    expect(await queue.backfill({ dryRun: false })).toMatchObject({ candidates: 1_001, enqueued: 1_001 });
    expect(jobs.keys.size).toBe(1_001);
    const down = createSynthesisQueue({ database, jobs: broken, logger: quietLogger });
    await expect(down.backfill({ dryRun: false })).rejects.toThrow("the queue is down");
    await expect(queue.backfill({ dryRun: true, signal: AbortSignal.abort() })).rejects.toThrow();
  });
});
