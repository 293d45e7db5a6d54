/** Tool calls get their sentences as jobs: soon, once, and visibly not at all where no acceptable answer comes. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { createQueueAdmin, type QueueAdmin } from "../../../runtime/app/queue-admin.ts";
import { CircuitBreaker } from "../../../runtime/app/synthesis/circuit-breaker.ts";
import { createSynthesisQueue, type SynthesisQueue } from "../../../runtime/app/transcript/synthesis-queue.ts";
import type { Writer } from "../../../runtime/app/transcript/writer.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import { ProviderError } from "../../../runtime/contracts/errors.ts";
import { QUEUES } from "../../../runtime/contracts/jobs.ts";
import type { TextModel } from "../../../runtime/contracts/text-model.ts";
import { createJobQueue } from "../../../runtime/workers/queue.ts";
import { startSynthesizer } from "../../../runtime/workers/synthesizer.ts";
import { describeEachDatabase, type OpenDatabase, quietLogger } from "../../support/databases.ts";
import { systemClock, write, writerOf } from "../../support/memory.ts";
import { describeCommand, endpointOf, playedModel, shellCall, synthesisOf } from "../app/synthesis/support.ts";

interface Node {
  readonly writer: Writer;
  readonly queue: SynthesisQueue;
  readonly admin: QueueAdmin;
  stop(): Promise<void>;
}

async function startNode(database: Database, model: TextModel): Promise<Node> {
  const jobs = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
  const queue = createSynthesisQueue({ database, jobs, logger: quietLogger });
  const breaker = new CircuitBreaker({ clock: systemClock, sleep: (ms, signal) => sleep(ms, undefined, { signal }) });
  await jobs.start();
  await startSynthesizer({ synthesis: synthesisOf(database, model), breaker, jobs });
  const stop = async () => {
    await queue.idle();
    await jobs.stop(200);
  };
  onTestFinished(stop);
  const writer = writerOf(database, { onWritten: ({ toolCalls }) => queue.add(toolCalls) });
  return { writer, queue, admin: createQueueAdmin({ database, jobs, synthesis: queue }), stop };
}

const commands = (count: number, name = "job") => Array.from({ length: count }, (_, n) => `${name} ${n}`);

/** Of the session's tool calls, in order. */
async function contents(database: Database, session: string): Promise<string[]> {
  const { rows } = await database.query<{ content: string }>(
    `select m.content from messages m join conversations c on c.id = m.conversation_id
      where c.session_key = $1 and m.tool_name is not null order by m.seq`,
    [session],
  );
  return rows.map(({ content }) => content);
}

async function described(database: Database, session: string): Promise<number> {
  return (await contents(database, session)).filter((content) => content !== "").length;
}

/** The suite's database, without jobs of the tests before. */
async function withoutJobs(open: OpenDatabase): Promise<Database> {
  const database = await open();
  await database.query("select 1 from pgboss.job limit 1").then(
    () => database.query("delete from pgboss.job"),
    () => undefined,
  );
  return database;
}

async function stateOf({ admin }: Node) {
  return (await admin.states()).find(({ queue }) => queue === QUEUES.synthesizeToolCall);
}

/** The waiting jobs' next attempt is their last, and it is due. */
async function lastAttempt(database: Database): Promise<void> {
  await database.query(
    "update pgboss.job set retry_count = retry_limit, start_after = now() where name = $1 and state in ('created', 'retry')",
    [QUEUES.synthesizeToolCall],
  );
}

describeEachDatabase("the synthesizer", (open, backend) => {
  it("writes a sentence for every tool call that is stored, and asks for each once", async () => {
    const database = await withoutJobs(open);
    const { fake, model } = await endpointOf();
    const node = await startNode(database, model);
    await write(
      node.writer,
      "live",
      commands(6).map((command) => shellCall(command)),
    );
    await expect
      .poll(() => contents(database, "live"))
      .toEqual(commands(6).map((c) => describeCommand(`"command": "${c}"`)));
    await expect.poll(async () => (await stateOf(node))?.completed).toBe(6);
    expect(fake.requests).toHaveLength(6);
  });

  it("ends a request that hangs when the node stops; the job counts no attempt and the next start does it", async () => {
    const database = await withoutJobs(open);
    const { fake, model } = await endpointOf({ fault: () => ({ kind: "hang" }) });
    const node = await startNode(database, model);
    await write(node.writer, "hang", [shellCall("sleep 9")]);
    await fake.waitForRequests(1);
    await node.stop();
    await expect.poll(() => fake.counters().open).toBe(0);
    const { rows } = await database.query("select state, retry_count from pgboss.job where name = $1", [
      QUEUES.synthesizeToolCall,
    ]);
    expect(rows).toEqual([{ state: "created", retry_count: 0 }]);
    fake.setFault(undefined);
    await startNode(database, model);
    await expect.poll(() => contents(database, "hang")).toEqual(["Ran the command `sleep 9` in a shell."]);
  });

  it("keeps a job dead with its error while the endpoint refuses, and does it after retry-failed", async () => {
    const database = await withoutJobs(open);
    const { fake, model } = await endpointOf({
      fault: () => ({ kind: "status", status: 400, message: "no such model" }),
    });
    const node = await startNode(database, model);
    await write(node.writer, "dead", [shellCall("make")]);
    await fake.waitForRequests(1);
    await expect.poll(async () => (await stateOf(node))?.waiting).toBe(1);
    await lastAttempt(database);
    await expect.poll(async () => (await stateOf(node))?.failed).toBe(1);
    expect((await stateOf(node))?.last_error).toContain("no such model");
    expect(await contents(database, "dead")).toEqual([""]);
    expect(await node.admin.backfillToolSynth({ dryRun: false })).toMatchObject({ enqueued: 0, failed: 1 });
    expect(await node.admin.retryFailed(QUEUES.synthesizeToolCall, { errorPattern: "other" })).toMatchObject({
      retried: 0,
    });
    fake.setFault(undefined);
    expect(await node.admin.retryFailed(QUEUES.synthesizeToolCall, { errorPattern: "no such model" })).toEqual({
      matched: 1,
      retried: 1,
      skipped: 0,
    });
    await expect.poll(() => contents(database, "dead")).toEqual(["Ran the command `make` in a shell."]);
    await expect.poll(async () => await stateOf(node)).toMatchObject({ failed: 0, waiting: 0, last_error: null });
  });

  it("retries after answers that are not acceptable, and says at the end why it died", async () => {
    const database = await withoutJobs(open);
    const model = playedModel(() => "<html>Welcome</html>");
    const node = await startNode(database, model);
    await write(node.writer, "garbage", [shellCall("make")]);
    await expect.poll(() => model.requests.length).toBe(2);
    await expect.poll(async () => (await stateOf(node))?.waiting).toBe(1);
    await lastAttempt(database);
    await expect.poll(async () => (await stateOf(node))?.failed).toBe(1);
    expect((await stateOf(node))?.last_error).toContain("not taken");
    expect(await contents(database, "garbage")).toEqual([""]);
  });

  it("backfills what was stored without a queue, and nothing twice", async () => {
    const database = await open({ fresh: true });
    await write(
      writerOf(database),
      "old",
      commands(9, "old").map((command) => shellCall(command)),
    );
    const model = playedModel(({ user }) => describeCommand(user));
    const node = await startNode(database, model);
    expect(await node.admin.backfillToolSynth({ dryRun: true })).toMatchObject({ candidates: 9, enqueued: 9 });
    const [first, second] = await Promise.all([
      node.admin.backfillToolSynth({ dryRun: false }),
      node.admin.backfillToolSynth({ dryRun: false }),
    ]);
    // One that the other's job has described since it was listed gets a job again, which finds nothing to do.
    expect(first.enqueued + second.enqueued).toBeGreaterThanOrEqual(9);
    await expect.poll(async () => await described(database, "old")).toBe(9);
    await expect.poll(async () => await stateOf(node)).toMatchObject({ waiting: 0, active: 0, failed: 0 });
    expect(model.requests).toHaveLength(9);
    expect(await node.admin.backfillToolSynth({ dryRun: false })).toMatchObject({ candidates: 0, enqueued: 0 });
  });

  it("uses up the attempts of few jobs while the endpoint is unavailable, and does all when it is back", async () => {
    const database = await withoutJobs(open);
    let unavailable = true;
    const both = Promise.withResolvers<void>();
    const model = playedModel(async ({ user }, n) => {
      if (!unavailable) return describeCommand(user);
      if (n === 2) both.resolve();
      await both.promise;
      throw new ProviderError("PROVIDER_UNREACHABLE", "nobody there");
    });
    const node = await startNode(database, model);
    await write(
      node.writer,
      "away",
      commands(8).map((command) => shellCall(command)),
    );
    await node.queue.idle();
    // The two that were taken first have met it, and two others are held up.
    const states = async () => {
      const { rows } = await database.query<{ state: string }>("select state::text from pgboss.job order by 1");
      return rows.map(({ state }) => state);
    };
    const waiting = ["created", "created", "created", "created"];
    await expect.poll(states).toEqual(["active", "active", ...waiting, "retry", "retry"]);
    expect(model.requests).toHaveLength(2);
    await node.stop();
    unavailable = false;
    await database.query("update pgboss.job set start_after = now() where state = 'retry'");
    await startNode(database, model);
    await expect.poll(async () => await described(database, "away")).toBe(8);
    expect(model.requests).toHaveLength(10);
  });

  it("does nothing for a job whose message has its content", async () => {
    const database = await withoutJobs(open);
    const model = playedModel(({ user }) => describeCommand(user));
    const node = await startNode(database, model);
    const { rows } = await write(writerOf(database), "done", [shellCall("date", { content: "Looked at the clock." })]);
    node.queue.add(rows.map(({ id }) => id));
    await expect.poll(async () => (await stateOf(node))?.completed).toBe(1);
    expect(model.requests).toHaveLength(0);
  });

  it.runIf(backend === "postgres")("shares the calls of one store among nodes, each described once", async () => {
    const database = await withoutJobs(open);
    const model = playedModel(({ user }) => describeCommand(user));
    const nodes = [await startNode(database, model), await startNode(database, model)];
    await Promise.all(
      nodes.map((node, n) =>
        write(
          node.writer,
          "shared",
          commands(10, `n${n}`).map((command) => shellCall(command)),
        ),
      ),
    );
    await expect.poll(async () => await described(database, "shared")).toBe(20);
    expect(model.requests).toHaveLength(20);
  });
});
