/** Both servers' interfaces, through the same tests: what is asked, what is accepted, what is said when it fails. */

import { describe, expect, it, onTestFinished } from "vitest";
import type { EmbeddingService } from "../../../../runtime/contracts/embedding.ts";
import { createOllamaEmbedding } from "../../../../runtime/plugins/embeddings/ollama/index.ts";
import {
  createOpenaiCompatibleEmbedding,
  type EmbeddingSettings,
} from "../../../../runtime/plugins/embeddings/openai-compatible/index.ts";
import { type FakeEncoder, type FakeEncoderOptions, startFakeEncoder } from "../../../fakes/embeddings/index.ts";
import { vectorOf } from "../../../fakes/embeddings/vectors.ts";

type Create = (settings: EmbeddingSettings) => EmbeddingService;

describe.each<[string, string, Create]>([
  ["openai-compatible", "/v1", createOpenaiCompatibleEmbedding],
  ["ollama", "", createOllamaEmbedding],
])("the %s embedding service", (_, path, create) => {
  async function started(
    options: FakeEncoderOptions = {},
    settings: Partial<EmbeddingSettings> = {},
  ): Promise<{ fake: FakeEncoder; service: EmbeddingService }> {
    const fake = await startFakeEncoder(options);
    const service = create({ model: "words", baseUrl: `${fake.url}${path}`, ...settings });
    onTestFinished(async () => {
      await service.close();
      await fake.close();
    });
    return { fake, service };
  }

  it("answers one vector a text, in their order, and learns the model's dimensions", async () => {
    const { service, fake } = await started();
    expect(service.dimensions).toBeNull();
    const texts = ["a car", "the sea", "a doctor"];
    const vectors = await service.embed(texts);
    expect(vectors).toEqual(texts.map((text) => vectorOf(text, 64)));
    expect(service.dimensions).toBe(64);
    expect(fake.requests).toHaveLength(1);
    expect(await service.embed([])).toEqual([]);
    expect(fake.requests).toHaveLength(1);
  });

  it("sends the key and the wanted dimensions, and another model's name without them", async () => {
    const { service, fake } = await started({ dimensions: 16 }, { apiKey: "secret-key\n", dimensions: 16 });
    await service.embed(["x"]);
    expect(fake.requests[0]?.headers["authorization"]).toBe("Bearer secret-key");
    expect(fake.requests[0]?.body).toMatchObject({ model: "words", dimensions: 16 });
    await service.embed(["x"], { model: "older" });
    expect(fake.requests[1]?.body).toMatchObject({ model: "older" });
    expect(fake.requests[1]?.body).not.toHaveProperty("dimensions");
  });

  it.each([
    ["too few vectors", { kind: "missing" }, "1 vectors for 2 texts"],
    ["no numbers", { kind: "nan" }, /finite|JSON/],
    ["a page of HTML", { kind: "garbage" }, /JSON|list/],
  ] as const)("refuses an answer with %s", async (_, fault, words) => {
    const { service } = await started({ fault: () => fault });
    await expect(service.embed(["x", "y"])).rejects.toMatchObject({
      code: "PROVIDER_BAD_RESPONSE",
      message: expect.stringMatching(words),
    });
    expect(service.dimensions).toBeNull();
  });

  it("refuses vectors of another length than the model's", async () => {
    const { service, fake } = await started();
    await service.embed(["x"]);
    fake.setFault(() => ({ kind: "dimensions", dimensions: 32 }));
    await expect(service.embed(["x"])).rejects.toMatchObject({
      code: "PROVIDER_BAD_RESPONSE",
      message: expect.stringContaining("32 dimensions in place of 64"),
    });
    expect(service.dimensions).toBe(64);
  });

  it.each([
    [500, "PROVIDER_SERVER_ERROR", true],
    [503, "PROVIDER_OVERLOADED", true],
    [429, "PROVIDER_RATE_LIMITED", true],
    [401, "PROVIDER_UNAUTHORIZED", false],
    [400, "PROVIDER_REJECTED_REQUEST", false],
  ] as const)("says what HTTP %i means, once and without the key", async (status, code, retryable) => {
    const message = "no: the-secret-key is not welcome";
    const { service, fake } = await started(
      { fault: () => ({ kind: "status", status, message, retryAfterS: 7 }) },
      { apiKey: "the-secret-key" },
    );
    const error: unknown = await service.embed(["x"]).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code, retryable, details: { retryAfterS: 7 } });
    expect(String(error)).toContain(`(HTTP ${status})`);
    // Of a key that was refused servers quote parts: nothing of that is repeated.
    if (status !== 401) expect(String(error)).toContain("no: [key] is not welcome");
    expect(JSON.stringify(error) + String(error)).not.toContain("the-secret-key");
    expect(fake.requests).toHaveLength(1);
  });

  it("gives up at its deadline, and at once when the caller does", async () => {
    const { service, fake } = await started({ fault: () => ({ kind: "hang" }) }, { timeoutMs: 100 });
    await expect(service.embed(["x"])).rejects.toMatchObject({ code: "PROVIDER_TIMEOUT" });
    const patient = create({ model: "words", baseUrl: `${fake.url}${path}` });
    const caller = new AbortController();
    const answer = patient.embed(["x"], { signal: caller.signal });
    await expect.poll(() => fake.open()).toBe(1);
    caller.abort(new Error("the caller has left"));
    await expect(answer).rejects.toThrow("the caller has left");
    await expect.poll(() => fake.open()).toBe(0);
  });

  it("says that nobody listens", async () => {
    const { service, fake } = await started();
    await fake.close();
    const error: unknown = await service.embed(["x"]).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "PROVIDER_UNREACHABLE", message: expect.stringContaining("ECONNREFUSED") });
  });
});
