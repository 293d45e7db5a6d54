import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Message } from "../../../../../runtime/contracts/message.ts";
import type { Provider } from "../../../../../runtime/contracts/provider.ts";
import { createOpenaiCompatibleProvider } from "../../../../../runtime/plugins/providers/openai-compatible/index.ts";
import { startOpenAiFake } from "../../../../fakes/openai/index.ts";
import type { FakeServer } from "../../../../fakes/shared/server.ts";
import { EVENTUALLY_MS } from "../../../../lanes/patience.ts";
import { chunks, failure, KEY, quietLogger, says, textIn } from "../support.ts";

let fake: FakeServer;
let provider: Provider;
beforeEach(async () => {
  fake = await startOpenAiFake({ apiKey: KEY });
  provider = create({});
});
afterEach(() => fake.close());

const create = (settings: Partial<Parameters<typeof createOpenaiCompatibleProvider>[0]>): Provider =>
  createOpenaiCompatibleProvider({
    id: "main",
    model: "qwen3-8b",
    apiKey: KEY,
    baseUrl: fake.baseUrl,
    maxRetries: 0,
    timeoutMs: EVENTUALLY_MS,
    logger: quietLogger,
    ...settings,
  });

const refusal = (message: string, status = 400) => ({ fault: { kind: "status" as const, status, message } });

async function expectGivenUp(choices: readonly object[]): Promise<void> {
  fake.enqueue({ bytes: choices.map((choice) => Buffer.from(`data: ${JSON.stringify({ choices: [choice] })}\n\n`)) });
  const error = await failure(chunks(provider, says("hello")));
  expect(error).toMatchObject({ code: "PROVIDER_BAD_RESPONSE" });
  expect(String(error)).toContain("more than 4,000,000 characters");
}

describe("a reply", () => {
  it.each([
    ["what a server adds to its calls", { arguments: "{}" }, { extra_content: { signature: "x".repeat(2_000_000) } }],
    ["what calls that come as objects hold", { arguments: { command: "x".repeat(2_000_000) } }, {}],
  ])("is given up where %s does not end", async (_what, written, more) => {
    const calls = [0, 1, 2].map((index) => ({
      index,
      id: `call_${index}`,
      function: { name: "shell", ...written },
      ...more,
    }));
    await expectGivenUp([
      ...calls.map((call) => ({ index: 0, delta: { tool_calls: [call] } })),
      { index: 0, delta: {}, finish_reason: "tool_calls" },
    ]);
  });

  it("is given up where it does not end behind its finish reason", async () => {
    const choice = { index: 0, delta: { content: "x".repeat(2_000_000) }, finish_reason: "stop" };
    await expectGivenUp([choice, choice, choice]);
  });

  it("comes as reasoning, text, whole tool calls and an end", async () => {
    fake.enqueue({
      reasoning: "I should look.",
      text: ["Let me ", "look."],
      toolCalls: [
        { id: "call_1", name: "shell", arguments: { command: "date" } },
        { id: "call_2", name: "shell", raw: "not json" },
      ],
      usage: { input: 100, output: 7, cached: 90 },
    });
    const list = await chunks(provider, says("what time is it?"));
    expect(textIn(list, "reasoning")).toBe("I should look.");
    expect(list.filter(({ type }) => type === "usage")).toMatchObject([
      { usage: { inputTokens: 100, outputTokens: 7, cachedInputTokens: 90 } },
    ]);
    expect(list.filter(({ type }) => type !== "usage").slice(-5)).toEqual([
      { type: "text", text: "Let me " },
      { type: "text", text: "look." },
      { type: "tool_call", call: { id: "call_1", name: "shell", arguments: { command: "date" } } },
      { type: "tool_call", call: { id: "call_2", name: "shell", arguments: { __invalid_json: "not json" } } },
      {
        type: "end",
        stopReason: "tool_calls",
        usage: { inputTokens: 100, outputTokens: 7, cachedInputTokens: 90 },
        model: "qwen3-8b",
        state: {
          provider: "main",
          model: "qwen3-8b",
          data: { reasoning: { field: "reasoning_content", text: "I should look." }, extras: [] },
        },
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

  it("is whole when only the usage is lost", async () => {
    fake.enqueue({ text: ["All", " there"], paceMs: 5, fault: { kind: "cut", after: 4, how: "destroy" } });
    const list = await chunks(provider, says("hi"));
    expect(list.at(-1)).toMatchObject({ type: "end", stopReason: "end", usage: { inputTokens: 0, outputTokens: 0 } });
  });
});

describe("a server that refuses a parameter", () => {
  it.each([
    [
      "reasoning_effort",
      { thinking: "high" },
      "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
    ],
    ["reasoning_effort", { thinking: "low" }, '"llama3.2" does not support thinking'],
    ["temperature", { temperature: 0.5 }, "Unsupported value: 'temperature' does not support 0.5 with this model."],
    ["stream_options", {}, "Extra inputs are not permitted: stream_options"],
    ["max_tokens", { maxTokens: 9 }, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."],
  ] as const)("is asked once more without %s, and from then on without it", async (name, options, message) => {
    fake.enqueue(refusal(message));
    expect(textIn(await chunks(provider, says("hi"), options))).toBe("echo: hi");
    await chunks(provider, says("hi"), options);
    expect(fake.requests.map((request) => name in Object(request.body))).toEqual([true, false, false]);
  });

  it("learns it for the model that refused, not for others", async () => {
    fake.enqueue(refusal("reasoning_effort is not supported"));
    await chunks(provider, says("hi"), { thinking: "high" });
    await chunks(provider, says("hi"), { thinking: "high", model: "another" });
    expect(fake.requests.map((request) => "reasoning_effort" in Object(request.body))).toEqual([true, false, true]);
  });

  it.each([
    [{ thinking: "high" }, "reasoning_effort is not supported"],
    [{ maxTokens: 9 }, "max_tokens is not supported, neither is max_completion_tokens"],
  ] as const)("is asked once more only: %o", async (options, message) => {
    fake.setScript(() => refusal(message));
    expect(await failure(chunks(provider, says("hi"), options))).toMatchObject({ code: "PROVIDER_REJECTED_REQUEST" });
    expect(fake.counters().requests).toBe(2);
  });

  it("is asked without a limit when prompt and limit together exceed its window, each time anew", async () => {
    const message =
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (808 in the messages, 8192 in the completion).";
    fake.enqueue(refusal(message));
    await chunks(provider, says("hi"), { maxTokens: 8_192 });
    await chunks(provider, says("hi"), { maxTokens: 8_192 });
    expect(fake.requests.map((request) => "max_tokens" in Object(request.body))).toEqual([true, false, true]);
    fake.setScript(() =>
      refusal("This model's maximum context length is 8192 tokens, your prompt alone has 9000 output"),
    );
    expect(await failure(chunks(provider, says("hi"), { maxTokens: 1 }))).toMatchObject({
      code: "PROVIDER_CONTEXT_TOO_LONG",
    });
    expect(fake.counters().requests).toBe(5);
  });

  it.each([400, 500])("gets its system text in one place when its chat template insists (HTTP %i)", async (status) => {
    fake.enqueue(refusal("Value is not callable: raise_exception('System message must be at the beginning.')", status));
    const messages: Message[] = [...says("one"), { role: "assistant", content: "two" }, ...says("three")];
    await chunks(provider, messages, { system: "You are Cairn.", context: "Tea." });
    const roles = fake.requests.map((request) =>
      Object(request.body).messages.map((message: { role: string }) => message.role),
    );
    expect(roles).toEqual([
      ["system", "user", "assistant", "system", "user"],
      ["system", "user", "assistant", "user"],
    ]);
    expect(fake.requests[1]?.system).toBe("You are Cairn.\n\nTea.");
  });

  it("gets messages of the user that follow each other as one when its chat template insists", async () => {
    fake.enqueue(refusal("Conversation roles must alternate user/assistant/user/assistant/..."));
    await chunks(provider, [...says("one"), ...says("two")]);
    const sent = fake.requests.map((request) =>
      Object(request.body).messages.map((one: { content: string }) => one.content),
    );
    expect(sent).toEqual([["one", "two"], ["one\n\ntwo"]]);
  });
});

describe("error bodies of other servers", () => {
  it.each([
    ['{"object":"error","message":"max context length is 4096 tokens","code":400}', "PROVIDER_CONTEXT_TOO_LONG"],
    ['{"detail":"model is still loading"}', "PROVIDER_REJECTED_REQUEST"],
    ['{"error":"model \'x\' not found"}', "PROVIDER_REJECTED_REQUEST"],
    ["plain words", "PROVIDER_REJECTED_REQUEST"],
  ])("are read as well: %s", async (body, code) => {
    fake.enqueue({ fault: { kind: "status", status: 400, body } });
    const error = await failure(chunks(provider, says("hi")));
    expect(error).toMatchObject({ code });
    expect(String(error)).toMatch(/context length|still loading|not found|plain words/);
  });

  it("do not quote pages", async () => {
    fake.enqueue({ fault: { kind: "status", status: 502, body: "<html><h1>Bad gateway</h1></html>" } });
    expect(String(await failure(chunks(provider, says("hi"))))).not.toContain("<");
  });
});

describe("availability", () => {
  it("needs a key, and no request", async () => {
    expect(await provider.isAvailable()).toBe(true);
    expect(fake.counters().others).toBe(0);
  });

  it("asks a server without a key whether it is there", async () => {
    const local = await startOpenAiFake();
    const keyless = create({ apiKey: undefined, baseUrl: `${local.baseUrl}/` });
    expect(await keyless.isAvailable()).toBe(true);
    expect(textIn(await chunks(keyless, says("hi")))).toBe("echo: hi");
    await local.close();
    expect(await keyless.isAvailable()).toBe(false);
  });

  it("is false where a key is missing, or the address is none", async () => {
    expect(await create({ apiKey: undefined }).isAvailable()).toBe(false);
    expect(await create({ apiKey: undefined, baseUrl: undefined }).isAvailable()).toBe(false);
    expect(await create({ apiKey: undefined, baseUrl: "not an address" }).isAvailable()).toBe(false);
  });
});

describe("the list of models", () => {
  it("is the server's own, with the key; it is none where the server refuses", async () => {
    const signal = AbortSignal.timeout(EVENTUALLY_MS);
    expect(await provider.listModels?.(signal)).toEqual({ names: ["fake-model"], complete: true });
    expect(await create({ apiKey: "wrong" }).listModels?.(signal)).toBeNull();
    await expect(create({ baseUrl: "http://127.0.0.1:1/v1" }).listModels?.(signal)).rejects.toThrow();
    const elsewhere = create({
      baseUrl: "https://models.example/v1",
      fetch: async () => Response.json({ data: [{ id: "models/big" }] }),
    });
    expect(await elsewhere.listModels?.(signal)).toEqual({ names: ["big"], complete: false });
  });
});

describe("the environment", () => {
  it("has no say: address, key and organisation are the configuration's", async () => {
    const names = { OPENAI_API_KEY: "sk-env", OPENAI_BASE_URL: "http://127.0.0.1:1", OPENAI_ORG_ID: "org-env" };
    const before = Object.fromEntries(Object.keys(names).map((name) => [name, process.env[name]]));
    Object.assign(process.env, names);
    try {
      expect(textIn(await chunks(create({}), says("hi")))).toBe("echo: hi");
      expect(fake.requests[0]?.headers).not.toHaveProperty("openai-organization");
      expect(await create({ apiKey: undefined, baseUrl: undefined }).isAvailable()).toBe(false);
    } finally {
      for (const [name, value] of Object.entries(before)) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
  });
});
