import { isRecord } from "../../../runtime/contracts/values.ts";
import { vectorOf } from "../embeddings/vectors.ts";
import { openAiWire } from "../openai/wire.ts";
import { type FakeOptions, type FakeServer, startFake } from "../shared/server.ts";
import { ollamaWire } from "./wire.ts";

const DIMENSIONS = 64;

/** An Ollama on loopback that has these models: its chat, its list, its vectors, and OpenAI's chat completions under /v1. */
export function startOllamaFake(models: readonly string[], options?: FakeOptions): Promise<FakeServer> {
  const wire = ollamaWire(models);
  return startFake(
    {
      ...wire,
      also: { ...openAiWire, keyOf: wire.keyOf },
      other(method, path, body) {
        if (method === "GET" && path === "/api/tags") return { models: models.map((name) => ({ name, model: name })) };
        if (method === "GET" && path === "/v1/models")
          return { object: "list", data: models.map((id) => ({ id, object: "model", owned_by: "library" })) };
        if (method !== "POST" || path !== "/api/embed" || !isRecord(body)) return undefined;
        const texts = [body["input"]].flat().map(String);
        return { model: body["model"], embeddings: texts.map((text) => vectorOf(text, DIMENSIONS)) };
      },
    },
    options,
  );
}
