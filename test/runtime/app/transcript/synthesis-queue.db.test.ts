import { expect, it } from "vitest";
import { createSynthesisQueue } from "../../../../runtime/app/transcript/synthesis-queue.ts";
import type { JobQueue } from "../../../../runtime/contracts/jobs.ts";
import { describeEachDatabase, silent } from "../../../support/databases.ts";
import { said, write, writerOf } from "../../../support/memory.ts";

type Jobs = Pick<JobQueue, "enqueue" | "failedKeys">;

/** A queue that holds each key once, as the real one does. */
function heldKeys(dead: readonly string[] = []): Jobs & { readonly keys: Set<string> } {
  const keys = new Set<string>();
  return {
    keys,
    enqueue: async (_queue, _data, options) => {
      const key = options?.key ?? "";
      if (keys.has(key)) return null;
      keys.add(key);
      return key;
    },
    failedKeys: async () => new Set(dead),
  };
}

const broken: Jobs = {
  enqueue: async () => {
    throw new Error("the queue is down");
  },
  failedKeys: async () => new Set(),
};

const call = (key: string) => said("", { key, role: "assistant", toolName: "shell", toolArgs: { n: key } });

describeEachDatabase("the queue of tool calls", (open) => {
  it("takes tool calls without content after they are stored, and nothing else", async () => {
    const database = await open({ fresh: true });
    const jobs = heldKeys();
    const queue = createSynthesisQueue({ database, jobs, logger: silent });
    const writer = writerOf(database, { onWritten: ({ toolCalls }) => queue.add(toolCalls) });
    const named = said("I listed the files.", { key: "named", toolName: "shell" });
    const { rows } = await write(writer, "s", [said("hello"), call("a"), named]);
    await queue.settled();
    expect([...jobs.keys]).toEqual([rows[1]?.id]);
  });

  it("costs no row when it is down, and sweeps up afterwards what was missed", async () => {
    const database = await open({ fresh: true });
    const down = createSynthesisQueue({ database, jobs: broken, logger: silent });
    const writer = writerOf(database, { onWritten: ({ toolCalls }) => down.add(toolCalls) });
    const { rows } = await write(writer, "s", [call("a"), call("b"), call("c")]);
    await down.settled();
    expect(rows.every(({ inserted }) => inserted)).toBe(true);
    const [a, b, c] = rows.map(({ id }) => id);
    const jobs = heldKeys([b ?? ""]);
    const up = createSynthesisQueue({ database, jobs, logger: silent });
    expect(await up.sweep()).toBe(2);
    expect([...jobs.keys]).toEqual([a, c]);
    expect(await up.sweep()).toBe(0);
  });
});
