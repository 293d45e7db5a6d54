import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { Message } from "../../../../../runtime/contracts/message.ts";
import type { ChatChunk, Provider } from "../../../../../runtime/contracts/provider.ts";
import { createGeminiProvider } from "../../../../../runtime/plugins/providers/gemini/index.ts";
import { gemini } from "../../../../../runtime/plugins/providers/gemini/manifest.ts";
import { startGeminiFake } from "../../../../fakes/gemini/index.ts";
import { startOpenAiFake } from "../../../../fakes/openai/index.ts";
import type { FakeServer } from "../../../../fakes/shared/server.ts";
import { EVENTUALLY_MS } from "../../../../lanes/patience.ts";
import { chunks, failure, KEY, quietLogger, says, textIn } from "../support.ts";

let fake: FakeServer;
let provider: Provider;
beforeEach(async () => {
  fake = await startGeminiFake({ apiKey: KEY });
  provider = create({});
});
afterEach(() => fake.close());

const create = (settings: Partial<Parameters<typeof createGeminiProvider>[0]>): Provider =>
  createGeminiProvider({
    id: "main",
    model: "gemini-3.5-flash",
    apiKey: KEY,
    baseUrl: fake.baseUrl,
    maxRetries: 0,
    timeoutMs: EVENTUALLY_MS,
    logger: quietLogger,
    ...settings,
  });

const TOOLS = [{ name: "shell", description: "Runs a command.", parameters: { properties: {} } }];
const refusal = (message: string, body?: string) => ({
  fault: { kind: "status" as const, status: 400, message, ...(body === undefined ? {} : { body }) },
});
const partsOf = (request: number): unknown[] =>
  Object(fake.requests[request]?.body).contents.flatMap((content: { parts: unknown[] }) => content.parts);

/** A turn that asked for two tools, with their results. */
async function loop(model: string, maker = provider): Promise<Message[]> {
  fake.enqueue({
    text: "Let me look.",
    toolCalls: [
      { id: "fc_1", name: "shell", arguments: { command: "date" } },
      { name: "shell", arguments: { command: "id" } },
    ],
  });
  const reply = await maker.chat?.(says("go"), { model, tools: TOOLS });
  if (reply?.state === undefined) throw new Error("no state");
  return [
    ...says("go"),
    { role: "assistant", content: reply.text, toolCalls: reply.toolCalls, providerState: reply.state },
    ...reply.toolCalls.map(({ id }): Message => ({ role: "tool", toolCallId: id, content: `ok ${id}` })),
  ];
}

describe("a reply", () => {
  it.each([
    ["files", { inlineData: { mimeType: "image/png", data: "x".repeat(2_000_000) } }],
    ["signatures", { text: "so", thoughtSignature: "x".repeat(2_000_000) }],
    ["calls", { functionCall: { name: "shell", args: { command: "x".repeat(2_000_000) } } }],
  ])("is given up where its %s do not end", async (_what, part) => {
    const event = { candidates: [{ content: { parts: [part] } }] };
    const end = { candidates: [{ content: { parts: [{ text: "done" }] }, finishReason: "STOP" }] };
    fake.enqueue({
      bytes: [event, event, event, end].map((each) => Buffer.from(`data: ${JSON.stringify(each)}\r\n\r\n`)),
    });
    const error = await failure(chunks(provider, says("hello")));
    expect(error).toMatchObject({ code: "PROVIDER_BAD_RESPONSE" });
    expect(String(error)).toContain("more than 4,000,000 characters");
  });

  it("is given up where it does not end behind its finish reason", async () => {
    const parts = [{ text: "x".repeat(2_000_000) }];
    const event = { candidates: [{ content: { parts }, finishReason: "STOP" }] };
    fake.enqueue({ bytes: [event, event, event].map((each) => Buffer.from(`data: ${JSON.stringify(each)}\r\n\r\n`)) });
    const error = await failure(chunks(provider, says("hello")));
    expect(error).toMatchObject({ code: "PROVIDER_BAD_RESPONSE" });
    expect(String(error)).toContain("more than 4,000,000 characters");
  });

  it("comes as thoughts, text, whole tool calls and an end with its cached tokens", async () => {
    fake.enqueue({
      reasoning: "I should look.",
      text: ["Let me ", "look."],
      toolCalls: [{ name: "shell", arguments: { command: "date" } }],
      usage: { input: 100, output: 7, cached: 90 },
    });
    const list = await chunks(provider, says("what time is it?"), { thinking: "low", tools: TOOLS });
    expect(textIn(list, "reasoning")).toBe("I should look.");
    expect(textIn(list)).toBe("Let me look.");
    expect(list.filter(({ type }) => type !== "usage").slice(-2)).toMatchObject([
      { type: "tool_call", call: { id: "call_0", name: "shell", arguments: { command: "date" } } },
      {
        type: "end",
        stopReason: "tool_calls",
        usage: { inputTokens: 100, outputTokens: 11, cachedInputTokens: 90 },
        model: "gemini-3.5-flash",
        state: { provider: "main", model: "gemini-3.5-flash" },
      },
    ]);
  });

  it.each([
    ["length", "length"],
    ["refusal", "refusal"],
    ["end", "end"],
  ] as const)("says why it stopped: %s", async (stopReason, expected) => {
    fake.enqueue({ text: "Well", stopReason });
    expect((await chunks(provider, says("hi"))).at(-1)).toMatchObject({ type: "end", stopReason: expected });
  });

  it("says with each event what it has used so far, which is billed also where it is cut off or ended", async () => {
    const event = {
      candidates: [{ content: { parts: [{ text: "Half" }] } }],
      usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 3 },
    };
    fake.enqueue({ bytes: [Buffer.from(`data: ${JSON.stringify(event)}\r\n\r\n`)] });
    const list: ChatChunk[] = [];
    const error = await failure(
      (async () => {
        for await (const chunk of provider.chatStream(says("hi"))) list.push(chunk);
      })(),
    );
    expect(error).toMatchObject({ code: "PROVIDER_STREAM_TRUNCATED" });
    expect(list).toMatchObject([
      { type: "usage", usage: { inputTokens: 100, outputTokens: 3 } },
      { type: "text", text: "Half" },
    ]);
  });

  it("is a refusal where the prompt is blocked", async () => {
    const blocked = { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: { promptTokenCount: 4 } };
    fake.enqueue({ bytes: [Buffer.from(`data: ${JSON.stringify(blocked)}\r\n\r\n`)] });
    expect((await chunks(provider, says("hi"))).filter(({ type }) => type !== "usage")).toEqual([
      { type: "end", stopReason: "refusal", usage: { inputTokens: 4, outputTokens: 0 }, model: "gemini-3.5-flash" },
    ]);
  });

  it("that the service could not read, and says no more of, is a bad response", async () => {
    const event = { candidates: [{ finishReason: "MALFORMED_RESPONSE" }] };
    fake.enqueue({ bytes: [Buffer.from(`data: ${JSON.stringify(event)}\r\n\r\n`)] });
    expect(await failure(chunks(provider, says("hi")))).toMatchObject({
      code: "PROVIDER_BAD_RESPONSE",
      retryable: true,
      message: expect.stringContaining("MALFORMED_RESPONSE"),
    });
  });

  it("is whole when only the counts are lost", async () => {
    const event = { candidates: [{ content: { parts: [{ text: "All there" }] }, finishReason: "STOP" }] };
    fake.enqueue({
      bytes: [Buffer.from(`data: ${JSON.stringify(event)}\r\n\r\n`), Buffer.from('data: {"usageMetadata"')],
    });
    expect((await chunks(provider, says("hi"))).at(-1)).toMatchObject({ type: "end", stopReason: "end" });
  });
});

describe("signatures of calls", () => {
  it("go back with their calls, unmodified, and ids only where the service gave one", async () => {
    const messages = await loop("gemini-3.5-flash");
    expect(textIn(await chunks(provider, messages, { tools: TOOLS }))).toBe("done: ok fc_1 | ok call_1");
    const [, said, first, second, ...results] = partsOf(1);
    expect(said).toEqual({ text: "Let me look." });
    expect(first).toEqual({
      functionCall: { id: "fc_1", name: "shell", args: { command: "date" } },
      thoughtSignature: expect.any(String),
    });
    expect(second).toEqual({ functionCall: { name: "shell", args: { command: "id" } } });
    expect(results).toEqual([
      { functionResponse: { id: "fc_1", name: "shell", response: { output: "ok fc_1" } } },
      { functionResponse: { name: "shell", response: { output: "ok call_1" } } },
    ]);
  });

  it("are dropped when another model or provider takes over, which is told that there are none", async () => {
    const messages = await loop("gemini-3-pro");
    await chunks(provider, messages, { tools: TOOLS });
    await chunks(create({ id: "other" }), messages, { model: "gemini-3-pro", tools: TOOLS });
    await chunks(provider, messages, { model: "gemini-2.5-flash", tools: TOOLS });
    const signatures = [1, 2, 3].map((number) =>
      partsOf(number).flatMap((part) => Object(part).thoughtSignature ?? []),
    );
    expect(signatures).toEqual([["skip_thought_signature_validator"], ["skip_thought_signature_validator"], []]);
  });

  it("that the service refuses are left out of this call, and only of this one", async () => {
    const messages = await loop("gemini-3.5-flash");
    fake.enqueue(refusal("Invalid thought signature."));
    await chunks(provider, messages, { tools: TOOLS });
    await chunks(provider, messages, { tools: TOOLS });
    const signed = fake.requests.slice(1).map((request) => JSON.stringify(request.body).includes("skip_thought"));
    expect(signed).toEqual([false, true, false]);
  });
});

describe("a model that refuses a part of a request", () => {
  it("is asked once more without thinking, and from then on without it", async () => {
    fake.enqueue(refusal("Thinking is not supported for this model."));
    await chunks(provider, says("hi"), { thinking: "high" });
    await chunks(provider, says("hi"), { thinking: "high" });
    const asked = fake.requests.map((request) => "thinkingConfig" in Object(request.body).generationConfig);
    expect(asked).toEqual([true, false, false]);
  });

  it("gets the system text as the user's first words when it takes no instruction", async () => {
    fake.enqueue(refusal("Developer instruction is not enabled for models/gemma-3-27b-it"));
    await chunks(provider, says("hi"), { model: "gemma-3-27b-it", system: "You are Cairn." });
    expect(fake.requests.map((request) => "systemInstruction" in Object(request.body))).toEqual([true, false]);
    expect(partsOf(1)).toEqual([{ text: "You are Cairn." }, { text: "hi" }]);
  });
});

describe("errors of the service", () => {
  it("pass on the pause that stands in the body", async () => {
    const body = JSON.stringify({
      error: {
        code: 429,
        message: "You exceeded your current quota.",
        status: "RESOURCE_EXHAUSTED",
        details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.07s" }],
      },
    });
    fake.enqueue({ fault: { kind: "status", status: 429, body } });
    expect(await failure(chunks(provider, says("hi")))).toMatchObject({
      code: "PROVIDER_RATE_LIMITED",
      details: { retryAfterS: 35 },
      message: expect.stringContaining("exceeded your current quota"),
    });
  });

  it("tell a conversation that is too long", async () => {
    fake.enqueue(refusal("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."));
    expect(await failure(chunks(provider, says("hi")))).toMatchObject({ code: "PROVIDER_CONTEXT_TOO_LONG" });
  });
});

describe("availability and the list of models", () => {
  it("need a key, and the list has plain names", async () => {
    const signal = AbortSignal.timeout(EVENTUALLY_MS);
    expect(await provider.isAvailable()).toBe(true);
    expect(await create({ apiKey: undefined, baseUrl: undefined }).isAvailable()).toBe(false);
    expect(await provider.listModels?.(signal)).toEqual({ names: ["gemini-fake"], complete: true });
    expect(await create({ apiKey: "wrong" }).listModels?.(signal)).toBeNull();
  });

  it("without a key, fails before anything is sent", async () => {
    const error = await failure(chunks(create({ apiKey: "", baseUrl: undefined }), says("hi")));
    expect(error).toMatchObject({ code: "PROVIDER_UNAUTHORIZED", message: expect.stringContaining("no API key") });
  });
});

describe("the environment", () => {
  it("has no say, and nothing is printed of it", async () => {
    for (const [name, value] of Object.entries({
      GOOGLE_API_KEY: "env-google-key",
      GEMINI_API_KEY: "env-gemini-key",
      GOOGLE_GEMINI_BASE_URL: "http://127.0.0.1:1",
      GOOGLE_GENAI_USE_VERTEXAI: "true",
    })) {
      vi.stubEnv(name, value);
    }
    const warn = vi.spyOn(console, "warn");
    onTestFinished(() => {
      vi.unstubAllEnvs();
      vi.restoreAllMocks();
    });
    expect(textIn(await chunks(provider, says("hi")))).toBe("echo: hi");
    expect(fake.requests[0]?.headers["x-goog-api-key"]).toBe(KEY);
    expect(warn).not.toHaveBeenCalled();
  });
});

describe("an address of chat completions", () => {
  it("is used as one, as it was before there was a provider of Gemini's own API", async () => {
    const gateway = await startOpenAiFake({ apiKey: KEY });
    onTestFinished(() => gateway.close());
    const needs = { id: "gemini", model: "gemini-flash-latest", apiKey: KEY, logger: quietLogger };
    const at = (baseUrl: string) =>
      // Neither has a use for the memory.
      gemini.create({ ...needs, baseUrl, timezone: "UTC" } as unknown as Parameters<typeof gemini.create>[0]);
    expect(textIn(await chunks(await at(gateway.baseUrl), says("hello")))).toBe("echo: hello");
    expect(textIn(await chunks(await at(`${fake.url}/v1beta`), says("hello")))).toBe("echo: hello");
    expect([gateway.counters().requests, fake.counters().requests]).toEqual([1, 1]);
  });
});
