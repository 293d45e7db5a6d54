/** Vectors of queries: quick, remembered, and never waited for while the encoder is unavailable. */

import { describe, expect, it, vi } from "vitest";
import { createQueryEmbedding, type QueryEmbeddingDeps } from "../../../../runtime/app/embedding/query.ts";
import type { EmbeddingService } from "../../../../runtime/contracts/embedding.ts";
import { createOllamaEmbedding } from "../../../../runtime/plugins/embeddings/ollama/index.ts";
import type { FakeEncoder } from "../../../fakes/embeddings/index.ts";
import { EVENTUALLY_MS } from "../../../lanes/patience.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";
import { fakeEncoder } from "./support.ts";

const same = (text: string) => text;

function queriesOf(fake: FakeEncoder, options: Partial<QueryEmbeddingDeps> = {}) {
  const service = createOllamaEmbedding({ model: "words", baseUrl: fake.url });
  return createQueryEmbedding({
    service,
    redact: same,
    logger: quietLogger,
    deadlineMs: EVENTUALLY_MS,
    halfOpenAfterMs: 50,
    ...options,
  });
}

const model = { id: 1, name: "words", dimensions: 64 };

describe("the vector of a query", () => {
  it("is asked for once while the query is remembered", async () => {
    const fake = await fakeEncoder();
    const { embed } = queriesOf(fake);
    const first = await embed("a car", undefined, model);
    expect(first).toHaveLength(64);
    expect(await embed("a car", undefined, model)).toBe(first);
    expect(fake.requests).toHaveLength(1);
    for (let n = 0; n < 256; n += 1) await embed(`query ${n}`, undefined, model);
    await embed("a car", undefined, model);
    expect(fake.requests).toHaveLength(258);
  });

  it("is made by the model that searches compare with, and is none when the server has that no longer", async () => {
    const fake = await fakeEncoder({ models: { words: 32, old: 64 } });
    const { embed } = queriesOf(fake);
    expect(await embed("a car", undefined, { ...model, name: "old" })).toHaveLength(64);
    expect(fake.requests[0]?.model).toBe("old");
    for (let n = 0; n < 5; n += 1) expect(await embed(`q${n}`, undefined, { ...model, name: "gone" })).toBeNull();
    expect(await embed("a car", undefined, { ...model, dimensions: 32 })).toHaveLength(32);
    expect(await embed("a bus", undefined, { ...model, dimensions: 64 })).toBeNull();
  });

  it("is not waited for while the encoder is unavailable; a probe in the background finds it back", async () => {
    const fake = await fakeEncoder({ fault: () => ({ kind: "hang" }) });
    const { embed, idle } = queriesOf(fake);
    // Every deadline runs out when the test says so, which is when the request has arrived.
    const deadlines: AbortController[] = [];
    const timeout = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => {
      const deadline = new AbortController();
      deadlines.push(deadline);
      return deadline.signal;
    });
    const runOut = () => deadlines.forEach((deadline) => void deadline.abort(new Error("too late")));
    for (let n = 1; n <= 2; n += 1) {
      const answer = embed(`query ${n}`, undefined, model);
      await expect.poll(() => fake.requests.length).toBe(n);
      runOut();
      expect(await answer).toBeNull();
    }
    for (let n = 0; n < 50; n += 1) expect(await embed(`more ${n}`, undefined, model)).toBeNull();
    expect(fake.requests.length).toBeLessThanOrEqual(3);
    fake.setFault(undefined);
    timeout.mockRestore();
    runOut();
    await expect
      .poll(async () => {
        await embed("knock", undefined, model);
        return (await embed("back?", undefined, model))?.length;
      })
      .toBe(64);
    await idle();
  });

  it("is not waited for either by the query that comes when the encoder has been left alone for long enough", async () => {
    const fake = await fakeEncoder({ fault: () => ({ kind: "status", status: 500 }) });
    const { embed, idle } = queriesOf(fake, { halfOpenAfterMs: 1 });
    for (let n = 0; n < 2; n += 1) await embed(`query ${n}`, undefined, model);
    fake.setFault(() => ({ kind: "hold" }));
    await expect
      .poll(async () => {
        expect(await embed("and now?", undefined, model)).toBeNull();
        return fake.open();
      })
      .toBe(1);
    expect(fake.requests.at(-1)?.texts).toEqual(["ok"]);
    fake.release();
    await idle();
    fake.setFault(undefined);
    expect(await embed("and now?", undefined, model)).toHaveLength(64);
  });

  it("is waited for until the deadline also where the encoder does not listen to it, and until its caller leaves", async () => {
    let asked = 0;
    const deaf: EmbeddingService = {
      model: "words",
      dimensions: 64,
      embed() {
        asked += 1;
        return new Promise(() => {});
      },
      close: async () => {},
    };
    const caller = new AbortController();
    const patient = createQueryEmbedding({
      service: deaf,
      redact: same,
      logger: quietLogger,
      deadlineMs: 2_000_000_000,
    });
    const answer = patient.embed("a car", caller.signal, model);
    caller.abort(new Error("gone"));
    await expect(answer).rejects.toThrow("gone");
    const hasty = createQueryEmbedding({
      service: deaf,
      redact: same,
      logger: quietLogger,
      deadlineMs: 10,
      halfOpenAfterMs: 2_000_000_000,
    });
    for (let n = 0; n < 2; n += 1) expect(await hasty.embed(`query ${n}`, undefined, model)).toBeNull();
    expect(asked).toBe(3);
    // By now it counts as unavailable, and nobody waits for it.
    expect(await hasty.embed("one more", undefined, model)).toBeNull();
    expect(asked).toBe(3);
  });

  it("does not blame the encoder for callers that leave", async () => {
    const fake = await fakeEncoder({ fault: ({ texts }) => (texts[0] === "slow" ? { kind: "hang" } : undefined) });
    const { embed } = queriesOf(fake);
    for (let n = 1; n <= 4; n += 1) {
      const caller = new AbortController();
      const answer = embed("slow", caller.signal, model);
      await expect.poll(() => fake.requests.length).toBe(n);
      caller.abort(new Error("gone"));
      await expect(answer).rejects.toThrow("gone");
    }
    expect(await embed("quick", undefined, model)).toHaveLength(64);
  });

  it("reads the head of a long query and nothing of an empty one", async () => {
    const fake = await fakeEncoder();
    const { embed } = queriesOf(fake);
    expect(await embed("  ", undefined, model)).toBeNull();
    expect(fake.requests).toHaveLength(0);
    expect(await embed("a long story. ".repeat(8_000), undefined, model)).toHaveLength(64);
    expect(fake.requests[0]?.texts).toHaveLength(4);
  });
});
