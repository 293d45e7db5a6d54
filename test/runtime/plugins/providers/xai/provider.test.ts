import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Provider } from "../../../../../runtime/contracts/provider.ts";
import { createXaiProvider } from "../../../../../runtime/plugins/providers/xai/index.ts";
import type { FakeServer } from "../../../../fakes/shared/server.ts";
import { startXaiFake } from "../../../../fakes/xai/index.ts";
import { EVENTUALLY_MS } from "../../../../lanes/patience.ts";
import { chunks, failure, KEY, quietLogger, says, textIn } from "../support.ts";

let fake: FakeServer;
let provider: Provider;
beforeEach(async () => {
  fake = await startXaiFake({ apiKey: KEY });
  provider = create({});
});
afterEach(() => fake.close());

const create = (settings: Partial<Parameters<typeof createXaiProvider>[0]>): Provider =>
  createXaiProvider({
    id: "main",
    model: "grok-4.3",
    apiKey: KEY,
    baseUrl: fake.baseUrl,
    maxRetries: 0,
    timeoutMs: EVENTUALLY_MS,
    logger: quietLogger,
    ...settings,
  });

describe("a reply", () => {
  it("comes as reasoning, text, tool calls with broken arguments whole, and an end that counts reasoning", async () => {
    fake.enqueue({
      reasoning: "I should look.",
      text: "Let me look.",
      toolCalls: [{ id: "call_1", name: "shell", raw: '{"command": "ls' }],
      usage: { input: 100, output: 7, cached: 90 },
    });
    const list = await chunks(provider, says("what time is it?"));
    expect(textIn(list, "reasoning")).toBe("I should look.");
    expect(list.slice(-2)).toMatchObject([
      { call: { id: "call_1", name: "shell", arguments: { __invalid_json: '{"command": "ls' } } },
      {
        type: "end",
        stopReason: "tool_calls",
        usage: { inputTokens: 100, outputTokens: 11, cachedInputTokens: 90 },
        state: { data: { reasoning: { field: "reasoning_content", text: "I should look." } } },
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
});

describe("thinking levels", () => {
  it.each([
    ["grok-4.3", ["none", "low", "medium", "high"]],
    ["grok-latest", ["none", "low", "medium", "high"]],
    ["grok-5", ["none", "low", "medium", "high"]],
    ["grok-3-mini", ["low", "low", "high", "high"]],
    ["grok-4", [undefined, undefined, undefined, undefined]],
    ["grok-4-1-fast-reasoning", [undefined, undefined, undefined, undefined]],
    ["grok-4.20-non-reasoning", [undefined, undefined, undefined, undefined]],
  ])("of %s are sent as it takes them", async (model, expected) => {
    for (const thinking of ["off", "low", "medium", "high"] as const) {
      await chunks(provider, says("hi"), { model, thinking });
    }
    expect(fake.requests.map((request) => Object(request.body).reasoning_effort)).toEqual(expected);
  });

  it("leave room for reasoning beside the answer", async () => {
    const ask = (model: string, thinking: "off" | "high") =>
      chunks(provider, says("hi"), { model, thinking, maxTokens: 100 });
    await ask("grok-4.3", "off");
    await ask("grok-4.3", "high");
    await ask("grok-4", "high");
    await ask("grok-4-fast-non-reasoning", "high");
    expect(fake.requests.map((request) => Object(request.body).max_tokens)).toEqual([100, 32_868, 16_484, 100]);
  });

  it("that a model refuses are left out from then on", async () => {
    fake.enqueue({
      fault: { kind: "status", status: 400, message: "Model grok-9 does not support parameter reasoningEffort." },
    });
    await chunks(provider, says("hi"), { model: "grok-9", thinking: "low" });
    await chunks(provider, says("hi"), { model: "grok-9", thinking: "low" });
    expect(fake.requests.map((request) => "reasoning_effort" in Object(request.body))).toEqual([true, false, false]);
  });
});

describe("availability and the list of models", () => {
  it("need a key; a wrong one is refused as a bad argument, which is understood", async () => {
    const signal = AbortSignal.timeout(EVENTUALLY_MS);
    expect(await provider.isAvailable()).toBe(true);
    expect(await create({ apiKey: undefined, baseUrl: undefined }).isAvailable()).toBe(false);
    expect(await provider.listModels?.(signal)).toEqual({ names: ["grok-fake"], complete: true });
    expect(await failure(chunks(create({ apiKey: "xai-wrong-0123456789" }), says("hi")))).toMatchObject({
      code: "PROVIDER_UNAUTHORIZED",
      message: expect.stringContaining("the API key was refused"),
    });
  });
});
