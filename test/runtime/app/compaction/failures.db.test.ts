/** Models that are unavailable, that answer nonsense, that hang, and stores that go away: nothing is lost, nobody starves. */

import { expect, it } from "vitest";
import { givenUpConversations, retryConversations } from "../../../../runtime/app/compaction/given-up.ts";
import { compactionStatus } from "../../../../runtime/app/compaction/status.ts";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { MemoryError, ProviderError } from "../../../../runtime/contracts/errors.ts";
import type { TextModel } from "../../../../runtime/contracts/text-model.ts";
import { MAX_ATTEMPTS } from "../../../../runtime/domain/summaries/steps.ts";
import { answerFrom } from "../../../fakes/chat-completions/answer.ts";
import type { TextFault } from "../../../fakes/chat-completions/index.ts";
import { describeDatabase } from "../../../support/databases.ts";
import { said, write, writerOf } from "../../../support/memory.ts";
import { through } from "../../../support/through.ts";
import { compactorOf, counted, fakeModel, makeDue, never, summariesOf, talk, workOf } from "./support.ts";

/** No statement of it has much to do. */
async function writeInParts(database: Database, session: string, entries: ReturnType<typeof said>[]): Promise<string> {
  let id = "";
  for (let from = 0; from < entries.length; from += 10) {
    id = (await write(writerOf(database), session, entries.slice(from, from + 10))).conversationId;
  }
  return id;
}

const inPrompt =
  (word: string, fault: TextFault) =>
  ({ lastUser }: { lastUser: string }) =>
    lastUser.includes(word) ? fault : undefined;

describeDatabase("compaction, when something fails,", (open) => {
  it.each<[string, TextFault, RegExp]>([
    ["is empty", { kind: "empty" }, /It was empty/],
    ["is nothing but reasoning", { kind: "reasoning-only" }, /It was empty/],
    ["is over its budget", { kind: "over-budget", words: 12_000 }, /had \d+ tokens; 7000 are allowed/],
    ["was cut off", { kind: "cut-off" }, /cut off at its limit of 7000/],
    ["holds LaTeX", { kind: "says", text: "It grew by $\\alpha_1 \\times 2$." }, /LaTeX/],
    ["makes a commit up", { kind: "says", text: "Merged as 9f8e7d6c5b." }, /9f8e7d6c5b/],
  ])("asks again when an answer %s, and says why", async (name, fault, words) => {
    const database = await open();
    const fake = await fakeModel({ fault: ({ number }) => (number === 1 ? fault : undefined) });
    const id = await talk(database, `again: ${name}`, 10, "topic");
    const compactor = compactorOf(database, fake);
    expect(await compactor.run(never)).toMatchObject({ stored: { leaf: 1 }, failed: 0 });
    expect(fake.requests).toHaveLength(2);
    expect(fake.requests[0]?.lastUser).not.toMatch(words);
    expect(fake.requests[1]?.lastUser).toMatch(words);
    expect(compactor.pauses).toEqual([]);
    expect((await summariesOf(database, id))[0]?.content).toBe(
      answerFrom({ lastUser: fake.requests[0]?.lastUser ?? "" }),
    );
  });

  it("refuses an answer over the budget three times, cuts none, and backs off with what is wrong", async () => {
    const database = await open();
    const fake = await fakeModel({ fault: () => ({ kind: "over-budget", words: 12_000 }) });
    const id = await talk(database, "verbose", 10);
    expect(await compactorOf(database, fake).run(never)).toMatchObject({
      stored: { leaf: 0 },
      failed: 1,
      unavailable: null,
    });
    expect(fake.requests).toHaveLength(3);
    expect(await summariesOf(database, id)).toEqual([]);
    const error = expect.stringMatching(/no acceptable summary in 3 answers.*\d+ tokens where 7000 are allowed/);
    expect(await workOf(database, id)).toEqual({ attempts: 1, error, claimed: false, due: true, failed: false });
    // It is not tried again before its time, whatever else is done.
    expect(await compactorOf(database, fake).run(never)).toMatchObject({ failed: 0 });
    expect(fake.requests).toHaveLength(3);
    await makeDue(database);
    await compactorOf(database, await fakeModel()).run(never);
    expect(await workOf(database, id)).toEqual({ attempts: 0, error: null, claimed: false, due: false, failed: false });
    expect(await counted(database, id)).toEqual({ twice: 0, never: 0, once: 10 });
  });

  it("lets ten poisoned conversations at the head of the queue hold up no other, marks them as failed and retries them", async () => {
    const database = await open({ fresh: true });
    const poisoned: string[] = [];
    for (let n = 0; n < 10; n += 1) poisoned.push(await talk(database, `poison/${n}`, 10, "poison"));
    const healthy = await talk(database, "healthy", 10);
    const fake = await fakeModel({ fault: inPrompt("poison", { kind: "says", text: "See \\frac{a}{b}." }) });
    const compactor = compactorOf(database, fake, { parallel: 1 });
    expect(await compactor.run(never)).toMatchObject({ stored: { leaf: 1 }, failed: 10 });
    expect(await summariesOf(database, healthy)).toHaveLength(1);
    expect(await compactionStatus(database)).toMatchObject({
      due: 0,
      failing: 10,
      given_up: 0,
      last_error: expect.stringContaining("LaTeX"),
    });
    for (let attempt = 2; attempt <= MAX_ATTEMPTS; attempt += 1) {
      await makeDue(database);
      await compactor.run(never);
    }
    expect(await compactionStatus(database)).toMatchObject({ due: 0, failing: 0, given_up: 10 });
    expect(await givenUpConversations(database)).toEqual({ failed: 10, last_error: expect.stringContaining("LaTeX") });
    const asked = fake.requests.length;
    await makeDue(database);
    await talk(database, "poison/0", 5, "poison later");
    await compactor.run(never);
    expect(fake.requests).toHaveLength(asked);

    fake.setFault(undefined);
    expect(await retryConversations(database, { errorPattern: "no such error" })).toMatchObject({ matched: 0 });
    expect(await retryConversations(database, { dryRun: true })).toEqual({ matched: 10, retried: 10, skipped: 0 });
    expect(await retryConversations(database, { errorPattern: "latex" })).toEqual({
      matched: 10,
      retried: 10,
      skipped: 0,
    });
    expect(await compactor.run(never)).toMatchObject({ stored: { leaf: 10 }, failed: 0 });
    expect(await compactionStatus(database)).toMatchObject({ due: 0, failing: 0, given_up: 0, last_error: null });
    expect(await counted(database)).toEqual({ twice: 0, never: 0, once: 115 });
    for (const id of poisoned) expect(await summariesOf(database, id)).toHaveLength(1);
  });

  it.each<[string, TextFault]>([
    ["is not there", { kind: "status", status: 503 }],
    ["wants another key", { kind: "status", status: 401 }],
    ["fails at everything", { kind: "status", status: 500 }],
    ["breaks every answer off", { kind: "cut" }],
    ["asks for an hour's patience", { kind: "status", status: 429, retryAfterS: 3_600 }],
  ])("blames no conversation when the model %s, and goes on once it is back", async (name, fault) => {
    const database = await open();
    const ids = [await talk(database, `${name}/1`, 10), await talk(database, `${name}/2`, 10)];
    const fake = await fakeModel({ fault: () => fault });
    const compactor = compactorOf(database, fake, { parallel: 1 });
    const { unavailable, failed, stored } = await compactor.run(never);
    expect([unavailable?.code, failed, stored.leaf]).toEqual([expect.stringMatching(/^PROVIDER_/), 0, 0]);
    expect(compactor.state()).toEqual({ state: "unavailable", model: "writer", reason: unavailable?.message });
    expect(await compactionStatus(database)).toMatchObject({ last_error: unavailable?.message });
    for (const id of ids)
      expect(await workOf(database, id)).toEqual({
        attempts: 0,
        error: null,
        claimed: false,
        due: true,
        failed: false,
      });
    fake.setFault(undefined);
    expect(await compactor.run(never)).toMatchObject({ stored: { leaf: 2 }, failed: 0, unavailable: null });
    expect(compactor.state()).toEqual({ state: "on", model: "writer", reason: null });
    expect(await compactionStatus(database)).toMatchObject({ last_error: null, last_run_at: expect.any(Date) });
  });

  it("blames the conversation that alone makes the model fail: the others are summarized", async () => {
    const database = await open();
    const bad = await talk(database, "breaks the server", 10, "unspeakable");
    const good = await talk(database, "does not", 10);
    const fake = await fakeModel({ fault: inPrompt("unspeakable", { kind: "status", status: 500 }) });
    const compactor = compactorOf(database, fake);
    expect(await compactor.run(never)).toMatchObject({ stored: { leaf: 1 }, failed: 1, unavailable: null });
    expect(compactor.pauses).toEqual([5_000, 10_000, 15_000]);
    expect(await workOf(database, bad)).toMatchObject({ attempts: 1, due: true });
    expect(await summariesOf(database, good)).toHaveLength(1);
    fake.setFault(undefined);
    await makeDue(database);
    await compactor.run(never);
  });

  it("records why a conversation failed, and why the model is unavailable, also where the store cannot hold the words", async () => {
    const database = await open();
    const bad = await talk(database, "odd complaint", 10, "unspeakable");
    let allUnavailable = false;
    const model: TextModel = {
      model: "writer",
      async complete({ user }) {
        if (allUnavailable || user.includes("unspeakable"))
          throw new ProviderError("PROVIDER_SERVER_ERROR", "What is \0?");
        return { text: answerFrom({ lastUser: user }), truncated: false };
      },
    };
    const compactor = compactorOf(database, await fakeModel(), { model });
    expect(await compactor.run(never)).toMatchObject({ failed: 1, unavailable: null });
    const error = "What is \ufffd?";
    expect(await workOf(database, bad)).toMatchObject({ attempts: 1, error, claimed: false, due: true });
    allUnavailable = true;
    const other = await talk(database, "complains at everything", 10);
    expect(await compactor.run(never)).toMatchObject({ failed: 0, unavailable: { code: "PROVIDER_SERVER_ERROR" } });
    expect(await compactionStatus(database)).toMatchObject({ last_error: error });
    expect(await workOf(database, other)).toMatchObject({ attempts: 0, claimed: false, due: true });
    await makeDue(database);
    expect(await compactorOf(database, await fakeModel()).run(never)).toMatchObject({
      stored: { leaf: 2 },
      unavailable: null,
    });
  });

  it("stores a summary without the characters that no store takes", async () => {
    const database = await open();
    const id = await talk(database, "odd answer", 10);
    const fake = await fakeModel({ fault: () => ({ kind: "says", text: "They talked\0 about it." }) });
    expect(await compactorOf(database, fake).run(never)).toMatchObject({ stored: { leaf: 1 }, failed: 0 });
    expect(await summariesOf(database, id)).toMatchObject([{ content: "They talked\ufffd about it." }]);
  });

  it("blames the conversation whose summary the store refuses for what it holds: all others are summarized", async () => {
    const database = await open({ fresh: true });
    const bad = await talk(database, "refused", 10);
    await database.script(
      `create function refuse() returns trigger language plpgsql as
         $$ begin raise exception 'too long for an index' using errcode = '54000'; end $$;
       create trigger refuse before insert on summaries for each row when (new.conversation_id = '${bad}')
         execute function refuse()`,
    );
    const good = [];
    for (let n = 0; n < 4; n += 1) good.push(await talk(database, `taken ${n}`, 10));
    const compactor = compactorOf(database, await fakeModel());
    expect(await compactor.run(never)).toMatchObject({ stored: { leaf: 4 }, failed: 1, unavailable: null });
    expect(await workOf(database, bad)).toMatchObject({ attempts: 1, claimed: false, due: true });
    for (const id of good) expect(await summariesOf(database, id)).toHaveLength(1);
  });

  it("goes on with the others while the model hangs at one conversation, and ends its request when the node stops", async () => {
    const database = await open();
    const hangs = await talk(database, "hangs", 10, "abyss");
    const others = [await talk(database, "goes on/1", 10), await talk(database, "goes on/2", 10)];
    const fake = await fakeModel({ fault: inPrompt("abyss", { kind: "hang" }) });
    const stopping = new AbortController();
    const running = compactorOf(database, fake)
      .run(stopping.signal)
      .catch((error: unknown) => error);
    for (const id of others) await expect.poll(async () => (await summariesOf(database, id)).length).toBe(1);
    stopping.abort(new Error("the node stops"));
    expect(await running).toMatchObject({ message: "the node stops" });
    await fake.waitUntil(({ counters }) => counters().closed === 1);
    // The next node need not wait for the claim to run out.
    expect(await workOf(database, hangs)).toEqual({
      attempts: 0,
      error: null,
      claimed: false,
      due: true,
      failed: false,
    });
    fake.setFault(undefined);
    await compactorOf(database, fake).run(never);
    expect(await counted(database, hangs)).toEqual({ twice: 0, never: 0, once: 10 });
  });

  it("counts a model that hangs for longer than anybody may have a conversation as a failure of that conversation", async () => {
    const database = await open();
    const id = await talk(database, "hangs for hours", 10);
    const fake = await fakeModel({ fault: () => ({ kind: "hang" }) });
    const times = { leaseMs: 60_000, renewMs: 10_000, longestMs: 50 };
    expect(await compactorOf(database, fake, { times }).run(never)).toMatchObject({
      failed: 1,
      unavailable: null,
    });
    expect(await workOf(database, id)).toMatchObject({
      attempts: 1,
      error: expect.stringContaining("no answer within"),
    });
    fake.setFault(undefined);
    await makeDue(database);
    await compactorOf(database, fake).run(never);
  });

  it("sends less at a time to a model whose window is smaller than configured", async () => {
    const database = await open();
    const entries = Array.from({ length: 70 }, (_, n) => said(`${n}: ${"ice on the harbour, ".repeat(60)}`));
    const id = await writeInParts(database, "small window", entries);
    const fake = await fakeModel({
      fault: ({ lastUser }) =>
        lastUser.length > 60_000
          ? { kind: "status", status: 400, message: "This model's maximum context length is 20000 tokens." }
          : undefined,
    });
    expect(await compactorOf(database, fake, { parallel: 1 }).run(never)).toMatchObject({
      failed: 0,
      unavailable: null,
    });
    const leaves = await summariesOf(database, id);
    expect(leaves.flatMap(({ sources }) => sources)).toEqual(entries.map(({ content }) => content));
    expect(await counted(database, id)).toEqual({ twice: 0, never: 0, once: 70 });
  });

  it("sends no less of the others where one conversation alone is too long for the model, and asks it no more than needed", async () => {
    const database = await open({ fresh: true });
    const long = (text: string) => Array.from({ length: 70 }, (_, n) => said(`${n}: ${`${text} `.repeat(60)}`));
    const dense = await writeInParts(database, "dense", long("dense on the harbour,"));
    const refused = { kind: "status", status: 400, message: "This model's maximum context length is 20000." } as const;
    let refusals = 0;
    const fake = await fakeModel({
      fault({ lastUser }) {
        if (!lastUser.includes("dense") || lastUser.length < 60_000) return undefined;
        refusals += 1;
        return refused;
      },
    });
    const compactor = compactorOf(database, fake, { parallel: 1 });
    expect(await compactor.run(never)).toMatchObject({ failed: 0, unavailable: null });
    expect((await summariesOf(database, dense)).length).toBeGreaterThan(1);
    // From 128k to 16k tokens, once.
    expect(refusals).toBe(3);
    const other = await writeInParts(database, "other", long("ice on the harbour,"));
    expect(await compactor.run(never)).toMatchObject({ stored: { leaf: 1 }, failed: 0 });
    expect((await summariesOf(database, other)).map(({ sources }) => sources.length)).toEqual([70]);
    expect(await counted(database)).toEqual({ twice: 0, never: 0, once: 140 });
  });

  it("notices a server that reads only the end of what it is sent, and blames no conversation", async () => {
    const database = await open();
    const id = await talk(database, "silently cut", 10, "ice on the harbour, ".repeat(400));
    const fake = await fakeModel({ inputTokens: () => 4_096 });
    const { unavailable } = await compactorOf(database, fake).run(never);
    expect(unavailable).toMatchObject({
      message: expect.stringMatching(/about \d+ tokens and read 4096/),
      details: { hint: expect.stringContaining("memory.summarizer.context_window") },
    });
    expect(await summariesOf(database, id)).toEqual([]);
    expect(await workOf(database, id)).toMatchObject({ attempts: 0, due: true });
    await compactorOf(database, await fakeModel()).run(never);
  });

  it("lets others go on that are short enough for a server that cuts what is long", async () => {
    const database = await open({ fresh: true });
    const long = await talk(database, "cut", 10, "ice on the harbour, ".repeat(400));
    const fake = await fakeModel({ inputTokens: ({ lastUser }) => (lastUser.length > 20_000 ? 4_096 : 100) });
    await compactorOf(database, fake, { parallel: 1 }).run(never);
    const short = await talk(database, "short", 10);
    const compactor = compactorOf(database, fake, { parallel: 1 });
    await makeDue(database);
    expect(await compactor.run(never)).toMatchObject({
      stored: { leaf: 1 },
      failed: 0,
      unavailable: expect.any(Error),
    });
    expect(compactor.state()).toMatchObject({ state: "unavailable", reason: expect.stringContaining("read 4096") });
    expect(await summariesOf(database, short)).toHaveLength(1);
    // It has its turn again later, as if it had not had it.
    expect(await workOf(database, long)).toMatchObject({ attempts: 0, error: null, claimed: false, due: true });
    expect(await compactorOf(database, fake).run(never)).toMatchObject({ stored: { leaf: 0 }, unavailable: null });
    await makeDue(database);
    await compactorOf(database, await fakeModel()).run(never);
    expect(await counted(database)).toEqual({ twice: 0, never: 0, once: 20 });
  });

  it("stores a summary once that it already had when the store became unreachable, also when the commit's answer got lost", async () => {
    const database = await open();
    const id = await talk(database, "commit lost", 10);
    const fake = await fakeModel();
    const faults = ["before", "lost", "before"];
    const flaky = through(database, {
      backend: "postgres",
      async transaction(work, options) {
        const fault = faults.shift();
        if (fault === "before") throw new MemoryError("MEMORY_UNAVAILABLE", "The store is unavailable.");
        const result = await database.transaction(work, options);
        if (fault === "lost") throw new MemoryError("MEMORY_UNAVAILABLE", "The connection was lost.");
        return result;
      },
    });
    const compactor = compactorOf(flaky, fake, { parallel: 1 });
    expect(await compactor.run(never)).toMatchObject({ stored: { leaf: 1 }, failed: 0 });
    expect(compactor.pauses).toEqual([1_000, 2_000, 4_000]);
    expect(fake.requests).toHaveLength(1);
    expect(await summariesOf(database, id)).toHaveLength(1);
    expect(await counted(database, id)).toEqual({ twice: 0, never: 0, once: 10 });
  });
});
