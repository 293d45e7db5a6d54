/** The model in this process, with a stand-in for the library that is not installed with Cairn. */

import { describe, expect, it } from "vitest";
import { createInProcessEmbedding } from "../../../../runtime/plugins/embeddings/in-process/index.ts";
import type { Library } from "../../../../runtime/plugins/embeddings/in-process/library.ts";
import { vectorOf } from "../../../fakes/embeddings/vectors.ts";

interface StandIn {
  readonly library: Library;
  readonly loaded: string[];
  disposed: number;
}

function standIn(answer?: (texts: readonly string[]) => unknown): StandIn {
  const made: StandIn = {
    loaded: [],
    disposed: 0,
    library: {
      env: { cacheDir: null, localModelPath: "/models/" },
      async pipeline(_task, model, { local_files_only: local }) {
        made.loaded.push(`${made.library.env.localModelPath} ${model} ${local}`);
        if (model === "broken") throw new Error("no such model");
        const extract = async (texts: readonly string[]) => ({
          tolist: () => answer?.(texts) ?? texts.map((text) => vectorOf(text, 8)),
        });
        return Object.assign(extract, { dispose: async () => void made.disposed++ });
      },
    },
  };
  return made;
}

describe("the in-process embedding service", () => {
  it("loads its model once, at the first call, with its cache under the home directory, and frees it", async () => {
    const made = standIn();
    const { library, loaded } = made;
    const load = async () => library;
    const service = createInProcessEmbedding({ model: "Xenova/some", cacheDirectory: "/home/x/models", load });
    expect(loaded).toEqual([]);
    const [first, second] = await Promise.all([service.embed(["sea", "car"]), service.embed(["ocean"])]);
    expect(first).toHaveLength(2);
    expect(second[0]).toEqual(first[0]);
    expect(loaded).toEqual(["/models/ Xenova/some false"]);
    expect([service.dimensions, library.env.cacheDir]).toEqual([8, "/home/x/models"]);
    await service.close();
    expect(made.disposed).toBe(1);
  });

  it("takes a directory's files, and nothing else", async () => {
    const made = standIn();
    const load = async () => made.library;
    const service = createInProcessEmbedding({ model: "/srv/models/mini", cacheDirectory: "/c", load });
    await service.embed(["x"]);
    expect(made.loaded).toEqual(["/srv/models mini true"]);
    await service.close();
    expect(made.disposed).toBe(1);
  });

  it("says what to install where the library is missing", async () => {
    const service = createInProcessEmbedding({ model: "m", cacheDirectory: "/c" });
    await expect(service.embed(["x"])).rejects.toMatchObject({
      code: "PROVIDER_REJECTED_REQUEST",
      message: expect.stringContaining("@huggingface/transformers, which is not installed"),
      details: { hint: expect.stringContaining("npm install") },
    });
  });

  it("tries to load again what could not be loaded", async () => {
    const made = standIn();
    const service = createInProcessEmbedding({ model: "broken", cacheDirectory: "/c", load: async () => made.library });
    await expect(service.embed(["x"])).rejects.toMatchObject({ code: "PROVIDER_UNREACHABLE" });
    await expect(service.embed(["x"])).rejects.toThrow("no such model");
    expect(made.loaded).toHaveLength(2);
  });

  it("refuses what the model should not have answered", async () => {
    const made = standIn(() => [[Number.NaN]]);
    const service = createInProcessEmbedding({ model: "m", cacheDirectory: "/c", load: async () => made.library });
    await expect(service.embed(["x"])).rejects.toMatchObject({ code: "PROVIDER_BAD_RESPONSE" });
  });

  it("stops waiting when the caller does", async () => {
    const service = createInProcessEmbedding({
      model: "m",
      cacheDirectory: "/c",
      load: () => new Promise<never>(() => undefined),
    });
    const caller = new AbortController();
    const answer = service.embed(["x"], { signal: caller.signal });
    caller.abort(new Error("gone"));
    await expect(answer).rejects.toThrow("gone");
  });
});
