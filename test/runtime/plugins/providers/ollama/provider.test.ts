import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { Message } from "../../../../../runtime/contracts/message.ts";
import type { Provider } from "../../../../../runtime/contracts/provider.ts";
import { createOllamaProvider } from "../../../../../runtime/plugins/providers/ollama/index.ts";
import { ollama } from "../../../../../runtime/plugins/providers/ollama/manifest.ts";
import { startOllamaFake } from "../../../../fakes/ollama/index.ts";
import type { FakeServer } from "../../../../fakes/shared/server.ts";
import { EVENTUALLY_MS } from "../../../../lanes/patience.ts";
import { chunks, failure, KEY, quietLogger, says, textIn } from "../support.ts";

let fake: FakeServer;
let provider: Provider;
beforeEach(async () => {
  fake = await startOllamaFake(["qwen3:8b", "plain:1b", "gpt-oss:20b"]);
  provider = create({});
});
afterEach(() => fake.close());

const create = (settings: Partial<Parameters<typeof createOllamaProvider>[0]>): Provider =>
  createOllamaProvider({
    id: "main",
    model: "qwen3:8b",
    baseUrl: fake.baseUrl,
    maxRetries: 0,
    timeoutMs: EVENTUALLY_MS,
    logger: quietLogger,
    ...settings,
  });

const TOOLS = [{ name: "shell", description: "Runs a command.", parameters: {} }];
const sent = (name: string): unknown[] => fake.requests.map((request) => Object(request.body)[name]);

describe("a reply", () => {
  it("comes as reasoning, text, whole tool calls with ids of our own, and an end", async () => {
    fake.enqueue({
      reasoning: "I should look.",
      text: ["Let me ", "look."],
      toolCalls: [
        { name: "shell", arguments: { command: "date" } },
        { name: "shell", arguments: { command: "id" } },
      ],
      usage: { input: 100, output: 7 },
    });
    const list = await chunks(provider, says("what time is it?"), { tools: TOOLS });
    expect(textIn(list, "reasoning")).toBe("I should look.");
    expect(list.slice(-5)).toEqual([
      { type: "text", text: "Let me " },
      { type: "text", text: "look." },
      { type: "tool_call", call: { id: "call_0", name: "shell", arguments: { command: "date" } } },
      { type: "tool_call", call: { id: "call_1", name: "shell", arguments: { command: "id" } } },
      {
        type: "end",
        stopReason: "tool_calls",
        usage: { inputTokens: 100, outputTokens: 7 },
        model: "qwen3:8b",
        state: { provider: "main", model: "qwen3:8b", data: { thinking: "I should look." } },
      },
    ]);
  });

  it("is taken up again with its reasoning and the names of its calls after the tools have run", async () => {
    fake.enqueue({ reasoning: "Hm.", toolCalls: [{ name: "shell", arguments: { command: "date" } }] });
    const first = await provider.chat?.(says("go"), { tools: TOOLS });
    if (first?.state === undefined) throw new Error("no state");
    const messages: Message[] = [
      ...says("go"),
      { role: "assistant", content: first.text, toolCalls: first.toolCalls, providerState: first.state },
      { role: "tool", toolCallId: "call_0", content: "noon" },
    ];
    expect(textIn(await chunks(provider, messages, { tools: TOOLS }))).toBe("done: noon");
    expect(sent("messages")[1]).toEqual([
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: "",
        thinking: "Hm.",
        tool_calls: [{ function: { name: "shell", arguments: { command: "date" } } }],
      },
      { role: "tool", content: "noon", tool_name: "shell" },
    ]);
  });

  it.each([
    ["length", "length"],
    ["end", "end"],
  ] as const)("says why it stopped: %s", async (stopReason, expected) => {
    fake.enqueue({ text: "Well", stopReason });
    expect((await chunks(provider, says("hi"))).at(-1)).toMatchObject({ type: "end", stopReason: expected });
  });

  it("with a call that the server could not read before it began to answer has that call", async () => {
    const message = `error parsing tool call: raw='{"it's\nhere": ', err=unexpected end of JSON input`;
    fake.enqueue({ fault: { kind: "status", status: 500, message } });
    expect(await chunks(provider, says("hi"))).toMatchObject([
      { type: "tool_call", call: { id: "call_0", arguments: { __invalid_json: `{"it's\nhere": ` } } },
      { type: "end", stopReason: "tool_calls" },
    ]);
    fake.enqueue({ fault: { kind: "status", status: 500, message: "error parsing tool calls" } });
    expect(await failure(chunks(provider, says("hi")))).toMatchObject({ code: "PROVIDER_SERVER_ERROR" });
  });
});

describe("the request", () => {
  it("has images beside the text, and never the file whose path an image's text may be", async () => {
    const image = { type: "image" as const, mediaType: "image/png", data: "/9j/hostname" };
    const error = await failure(
      chunks(provider, [{ role: "user", content: [{ type: "text", text: "see" }, image] }]),
    ).catch(() => null);
    expect(sent("messages")).toEqual([[{ role: "user", content: "see", images: ["/9j/hostname"] }]]);
    expect(error).toBeNull();
  });

  it("limits the answer, with room for thinking on top", async () => {
    await chunks(provider, says("hi"), { maxTokens: 10, temperature: 0.5, thinking: "low" });
    await chunks(provider, says("hi"), { maxTokens: 10, thinking: "off" });
    expect(sent("options")).toEqual([{ num_predict: 4_106, temperature: 0.5 }, { num_predict: 10 }]);
  });

  it("asks for the context that is configured, so that the server cuts nothing off", async () => {
    const long = Array.from({ length: 40 }, (_, n): Message[] => [
      { role: "user", content: `k${n} ${"word ".repeat(200)}` },
      { role: "assistant", content: "noted" },
    ]).flat();
    await chunks(create({ contextWindow: 32_768 }), [...long, ...says("and now?")]);
    expect(sent("options")).toEqual([{ num_ctx: 32_768 }]);
    const { texts } = fake.requests[0] ?? { texts: [] };
    expect(texts).toHaveLength(81);
    expect(texts[0]).toContain("k0");
  });

  it("that is longer than the context is refused, and never answered from a part of it", async () => {
    const long = says("word ".repeat(8_000));
    for (const contextWindow of [undefined, 8_192])
      expect(await failure(chunks(create({ contextWindow }), [...says("one"), ...long]))).toMatchObject({
        code: "PROVIDER_CONTEXT_TOO_LONG",
      });
    expect(textIn(await chunks(create({ contextWindow: 16_384 }), long))).toContain("word");
  });

  it("says how to think, as each model takes it", async () => {
    for (const thinking of ["off", "low", "high"] as const) {
      await chunks(provider, says("hi"), { thinking });
      await chunks(provider, says("hi"), { thinking, model: "gpt-oss:20b" });
    }
    await chunks(provider, says("hi"));
    expect(sent("think")).toEqual([false, "low", true, "low", true, "high", undefined]);
  });
});

describe("a model that refuses a part of a request", () => {
  it("is asked once more without thinking, without tools, and from then on without them", async () => {
    const options = { model: "plain:1b", thinking: "high", tools: TOOLS } as const;
    expect(textIn(await chunks(provider, says("hi"), options))).toBe("echo: hi");
    await chunks(provider, says("hi"), options);
    expect(sent("think")).toEqual([true, undefined, undefined, undefined]);
    expect(sent("tools").map((tools) => tools !== undefined)).toEqual([true, true, false, false]);
  });

  it("that is not there is named, with what helps", async () => {
    const error = await failure(chunks(provider, says("hi"), { model: "llama9" }));
    expect(error).toMatchObject({
      code: "PROVIDER_REJECTED_REQUEST",
      message: expect.stringContaining("model 'llama9' not found"),
      details: { hint: expect.stringContaining("cairn model NAME") },
    });
  });
});

describe("what the SDK would print", () => {
  it("is not printed: neither bad lines nor bodies of errors", async () => {
    const spies = [vi.spyOn(console, "log"), vi.spyOn(console, "warn"), vi.spyOn(console, "error")];
    onTestFinished(() => void vi.restoreAllMocks());
    fake.enqueue({ bytes: [Buffer.from("{nonsense\n")] });
    await failure(chunks(provider, says("hi")));
    fake.enqueue({ fault: { kind: "status", status: 502, body: "<html>", headers: { "content-type": "text/html" } } });
    await failure(chunks(provider, says("hi")));
    for (const spy of spies) expect(spy).not.toHaveBeenCalled();
  });
});

describe("availability and the list of models", () => {
  it("ask the server, without a key", async () => {
    const signal = AbortSignal.timeout(EVENTUALLY_MS);
    expect(await provider.isAvailable()).toBe(true);
    expect(await provider.listModels?.(signal)).toEqual({
      names: ["qwen3:8b", "plain:1b", "gpt-oss:20b"],
      complete: true,
    });
    await fake.close();
    expect(await provider.isAvailable()).toBe(false);
    await expect(provider.listModels?.(signal)).rejects.toThrow();
    fake = await startOllamaFake([]);
  });

  it("need a key at the service of Ollama's makers alone, and send one that is given", async () => {
    expect(await create({ baseUrl: "https://ollama.com" }).isAvailable()).toBe(false);
    const error = await failure(chunks(create({ baseUrl: "https://ollama.com/api" }), says("hi")));
    expect(error).toMatchObject({ code: "PROVIDER_UNAUTHORIZED" });
    await chunks(create({ apiKey: KEY }), says("hi"));
    expect(fake.requests[0]?.headers["authorization"]).toBe(`Bearer ${KEY}`);
  });
});

describe("an address of chat completions", () => {
  it("is used as one, as it was before there was a provider of Ollama's own API", async () => {
    const at = (baseUrl: string) =>
      ollama.create({
        id: "ollama",
        model: "qwen3:8b",
        baseUrl,
        logger: quietLogger,
        timezone: "UTC",
      } as unknown as Parameters<
        // Neither has a use for the memory.
        typeof ollama.create
      >[0]);
    expect(textIn(await chunks(await at(`${fake.url}/v1`), says("hello")))).toBe("echo: hello");
    expect(textIn(await chunks(await at(fake.url), says("hello")))).toBe("echo: hello");
    expect(fake.requests.map((request) => request.path)).toEqual(["/v1/chat/completions", "/api/chat"]);
  });
});
