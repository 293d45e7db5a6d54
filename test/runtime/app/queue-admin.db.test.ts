import { randomUUID } from "node:crypto";
import { expect, it, onTestFinished, vi } from "vitest";
import { MAX_ATTEMPTS } from "../../../runtime/app/embedding/embedding.ts";
import { createQueueAdmin } from "../../../runtime/app/queue-admin.ts";
import { createSynthesisQueue } from "../../../runtime/app/transcript/synthesis-queue.ts";
import { QUEUES, TICKERS } from "../../../runtime/contracts/jobs.ts";
import { createJobQueue } from "../../../runtime/workers/queue.ts";
import { createTickers } from "../../../runtime/workers/ticker.ts";
import { describeEachDatabase, quietLogger } from "../../support/databases.ts";
import { said, write, writerOf } from "../../support/memory.ts";
import { embedderOf, fakeEncoder, makeDue, never } from "./embedding/support.ts";

describeEachDatabase("the operator's view of the queues", (open) => {
  it("backfills where no queue runs yet, once, and lets what has died since wait again", async () => {
    const database = await open({ fresh: true });
    const jobs = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
    onTestFinished(() => jobs.stop(1_000));
    const synthesis = createSynthesisQueue({ database, jobs, logger: quietLogger });
    const admin = createQueueAdmin({ database, jobs, synthesis });
    const calls = ["a", "b", "c"].map((key) => said("", { key, role: "assistant", toolName: "shell" }));
    const { rows } = await write(writerOf(database), "s", [said("hello"), ...calls]);
    const ofSynthesis = async () => (await admin.states()).find(({ queue }) => queue === QUEUES.synthesizeToolCall);

    // A store whose queue never ran still knows a pattern from a typing error.
    await expect(admin.retryFailed(TICKERS.embed, { errorPattern: "(" })).rejects.toMatchObject({
      code: "MEMORY_INVALID_ARGUMENT",
    });
    expect(await admin.backfillToolSynth({ dryRun: true })).toMatchObject({ candidates: 3, enqueued: 3 });
    expect(await ofSynthesis()).toMatchObject({ waiting: 0 });
    // Two operators at once queue each job once.
    const both = await Promise.all([
      admin.backfillToolSynth({ dryRun: false }),
      admin.backfillToolSynth({ dryRun: false }),
    ]);
    expect(both.reduce((sum, { enqueued }) => sum + enqueued, 0)).toBe(3);
    expect(await ofSynthesis()).toMatchObject({ waiting: 3, failed: 0, last_error: null });
    // They are told as they are by /health, memory_stats and /api/admin/jobs.
    expect(Object.keys((await ofSynthesis()) ?? {})).toEqual(
      expect.arrayContaining(["last_error", "oldest_waiting_ms"]),
    );
    for (const key of Object.keys((await ofSynthesis()) ?? {})) expect(key).toMatch(/^[a-z_]+$/);
    await database.query(
      "update pgboss.job set created_on = now() - interval '2 hours', start_after = now() - interval '1 hour'",
    );
    expect(Math.round(((await ofSynthesis())?.oldest_waiting_ms ?? 0) / 60_000)).toBe(60);
    expect(await jobs.liveKeys(QUEUES.synthesizeToolCall)).toEqual(new Set(rows.slice(1).map(({ id }) => id)));

    await database.query(
      `update pgboss.job set state = 'failed', completed_on = now(), output = '{"message":"the model is unavailable"}'
        where singleton_key = $1`,
      [rows[1]?.id],
    );
    expect(await ofSynthesis()).toMatchObject({ waiting: 2, failed: 1, last_error: "the model is unavailable" });
    expect(await admin.backfillToolSynth({ dryRun: false })).toEqual({
      candidates: 3,
      enqueued: 0,
      queued: 2,
      failed: 1,
    });
    expect(await admin.retryFailed(QUEUES.synthesizeToolCall, { errorPattern: "UNAVAILABLE" })).toMatchObject({
      retried: 1,
    });
    expect(await ofSynthesis()).toMatchObject({ waiting: 3, failed: 0, last_error: null });
  });

  it("shows rows that the embedder gave up as failed work, and has those of an error tried again", async () => {
    const database = await open({ fresh: true });
    const jobs = createJobQueue({ database, logger: quietLogger, newId: randomUUID });
    const synthesis = createSynthesisQueue({ database, jobs, logger: quietLogger });
    const wakeEmbedder = vi.fn();
    const admin = createQueueAdmin({ database, jobs, tickers: createTickers(), synthesis, wakeEmbedder });
    const ofEmbed = async () => (await admin.states()).find(({ queue }) => queue === TICKERS.embed);
    const fake = await fakeEncoder({
      fault: ({ texts }) =>
        texts.some((text) => text.includes("poison")) ? { kind: "status", status: 500 } : undefined,
    });
    await write(writerOf(database), "s", [said("a car"), said("poison one"), said("poison two"), said(" ")]);
    const embedder = embedderOf(database, fake);
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      await makeDue(database);
      await embedder.run(never);
    }
    // What has nothing to embed in it is no failure that anybody could mend.
    expect(await ofEmbed()).toMatchObject({ failed: 2, last_error: expect.stringContaining("500") });

    const none = { matched: 0, retried: 0, skipped: 0 };
    expect(await admin.retryFailed(TICKERS.embed, { errorPattern: "no such error" })).toEqual(none);
    expect(await admin.retryFailed(TICKERS.compact, {})).toEqual(none);
    const both = { matched: 2, retried: 2, skipped: 0 };
    expect(await admin.retryFailed(TICKERS.embed, { errorPattern: "50\\d", dryRun: true })).toEqual(both);
    expect(await ofEmbed()).toMatchObject({ failed: 2 });
    expect(wakeEmbedder).not.toHaveBeenCalled();
    fake.setFault(undefined);
    expect(await admin.retryFailed(TICKERS.embed, { errorPattern: "50\\d" })).toEqual(both);
    expect(wakeEmbedder).toHaveBeenCalledOnce();
    expect(await ofEmbed()).toMatchObject({ failed: 0, last_error: null });
    expect(await embedder.run(never)).toEqual({ embedded: 2, failed: 0, unavailable: null });
    expect(await admin.retryFailed(TICKERS.embed, {})).toEqual(none);
  });
});
