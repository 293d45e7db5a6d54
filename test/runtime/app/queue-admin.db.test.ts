import { randomUUID } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { createQueueAdmin } from "../../../runtime/app/queue-admin.ts";
import { createSynthesisQueue } from "../../../runtime/app/transcript/synthesis-queue.ts";
import { QUEUES } from "../../../runtime/contracts/jobs.ts";
import { createJobQueue } from "../../../runtime/workers/queue.ts";
import { describeEachDatabase, silent } from "../../support/databases.ts";
import { said, write, writerOf } from "../../support/memory.ts";

describeEachDatabase("the operator's view of the queues", (open) => {
  it("backfills where no queue runs yet, once, and lets what has died since wait again", async () => {
    const database = await open({ fresh: true });
    const jobs = createJobQueue({ database, logger: silent, newId: randomUUID });
    onTestFinished(() => jobs.stop(1_000));
    const synthesis = createSynthesisQueue({ database, jobs, logger: silent });
    const admin = createQueueAdmin({ jobs, synthesis });
    const calls = ["a", "b", "c"].map((key) => said("", { key, role: "assistant", toolName: "shell" }));
    const { rows } = await write(writerOf(database), "s", [said("hello"), ...calls]);
    const ofSynthesis = async () => (await admin.states()).find(({ queue }) => queue === QUEUES.synthesizeToolCall);

    // A store whose queue never ran still knows a pattern from a typing error.
    await expect(admin.retryFailed(QUEUES.embed, { errorPattern: "(" })).rejects.toMatchObject({
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
    expect(await ofSynthesis()).toMatchObject({ waiting: 3, failed: 0, lastError: null });
    expect(await jobs.liveKeys(QUEUES.synthesizeToolCall)).toEqual(new Set(rows.slice(1).map(({ id }) => id)));

    await database.query(
      `update pgboss.job set state = 'failed', completed_on = now(), output = '{"message":"the model is away"}'
        where singleton_key = $1`,
      [rows[1]?.id],
    );
    expect(await ofSynthesis()).toMatchObject({ waiting: 2, failed: 1, lastError: "the model is away" });
    expect(await admin.backfillToolSynth({ dryRun: false })).toEqual({
      candidates: 3,
      enqueued: 0,
      queued: 2,
      failed: 1,
    });
    expect(await admin.retryFailed(QUEUES.synthesizeToolCall, { errorPattern: "AWAY" })).toMatchObject({ retried: 1 });
    expect(await ofSynthesis()).toMatchObject({ waiting: 3, failed: 0, lastError: null });
  });
});
