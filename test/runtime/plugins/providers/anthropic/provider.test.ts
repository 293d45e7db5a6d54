import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Message } from "../../../../../runtime/contracts/message.ts";
import type { ChatChunk, Provider } from "../../../../../runtime/contracts/provider.ts";
import { createAnthropicProvider } from "../../../../../runtime/plugins/providers/anthropic/index.ts";
import { startAnthropicFake } from "../../../../fakes/anthropic/index.ts";
import type { FakeServer } from "../../../../fakes/shared/server.ts";
import { EVENTUALLY_MS } from "../../../../lanes/patience.ts";
import { chunks, failure, KEY, quietLogger, says, textIn } from "../support.ts";

let fake: FakeServer;
let provider: Provider;
beforeEach(async () => {
  fake = await startAnthropicFake({ apiKey: KEY });
  provider = create({});
});
afterEach(() => fake.close());

const create = (settings: Partial<Parameters<typeof createAnthropicProvider>[0]>): Provider =>
  createAnthropicProvider({
    id: "main",
    model: "claude-haiku-4-5",
    apiKey: KEY,
    baseUrl: fake.baseUrl,
    maxRetries: 0,
    timeoutMs: EVENTUALLY_MS,
    logger: quietLogger,
    ...settings,
  });

const refusal = (message: string) => ({ fault: { kind: "status" as const, status: 400, message } });

const LONG = "x".repeat(2_000_000);
const THINKING = { type: "thinking", thinking: "", signature: "" };

describe("a reply", () => {
  it.each([
    ["thinking that nobody can read", [{ type: "redacted_thinking", data: LONG }]],
    ["calls that come whole", [{ type: "tool_use", id: "", name: "shell", input: { command: LONG } }]],
    ["signature that comes whole", [{ type: "thinking", thinking: "", signature: LONG }]],
    ["signature", [THINKING, { type: "signature_delta", signature: LONG }]],
  ])("is given up where its %s does not end", async (_what, [block, ...deltas]) => {
    const events = [
      { type: "message_start", message: { model: "m", content: [], usage: { input_tokens: 1, output_tokens: 1 } } },
      ...[0, 1, 2].flatMap((index) => [
        { type: "content_block_start", index, content_block: block },
        ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
        { type: "content_block_stop", index },
      ]),
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
      { type: "message_stop" },
    ];
    fake.enqueue({
      bytes: events.map((event) => Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)),
    });
    const error = await failure(chunks(provider, says("hello")));
    expect(error).toMatchObject({ code: "PROVIDER_BAD_RESPONSE" });
    expect(String(error)).toContain("more than 4,000,000 characters");
  });

  it("says at its beginning, and at its end, what it has used so far, which is billed also where it is cut off or ended", async () => {
    fake.enqueue({
      text: ["one ", "two ", "three"],
      usage: { input: 10, output: 7, cached: 90, written: 50 },
      fault: { kind: "cut", after: 4, how: "end" },
    });
    const list: ChatChunk[] = [];
    const error = await failure(
      (async () => {
        for await (const chunk of provider.chatStream(says("count"))) list.push(chunk);
      })(),
    );
    expect(error).toMatchObject({ code: "PROVIDER_STREAM_TRUNCATED" });
    expect(textIn(list)).toMatch(/^one/);
    expect(list[0]).toMatchObject({
      type: "usage",
      usage: { inputTokens: 150, cachedInputTokens: 90, cacheWriteInputTokens: 50 },
      model: "claude-haiku-4-5",
    });
    fake.enqueue({ text: ["one"], usage: { input: 10, output: 7 } });
    expect((await chunks(provider, says("count"))).filter(({ type }) => type === "usage").at(-1)).toMatchObject({
      usage: { inputTokens: 10, outputTokens: 7 },
    });
  });

  it("comes as thinking, text, whole tool calls and an end with state", async () => {
    fake.enqueue({
      reasoning: "I should look.",
      signature: "c2lnbmVk",
      text: ["Let me ", "look."],
      toolCalls: [{ id: "toolu_1", name: "shell", arguments: { command: "date" } }],
      usage: { input: 10, output: 7, cached: 90, written: 50 },
    });
    const list = await chunks(provider, says("what time is it?"), { thinking: "low" });
    expect(textIn(list, "reasoning")).toBe("I should look.");
    expect(list.filter(({ type }) => type !== "usage").slice(-4)).toEqual([
      { type: "text", text: "Let me " },
      { type: "text", text: "look." },
      { type: "tool_call", call: { id: "toolu_1", name: "shell", arguments: { command: "date" } } },
      {
        type: "end",
        stopReason: "tool_calls",
        usage: { inputTokens: 150, outputTokens: 7, cachedInputTokens: 90, cacheWriteInputTokens: 50 },
        model: "claude-haiku-4-5",
        state: {
          provider: "main",
          model: "claude-haiku-4-5",
          data: {
            content: [
              { type: "thinking", thinking: "I should look.", signature: "c2lnbmVk" },
              { type: "text", text: "Let me look." },
              { type: "tool_use", id: "toolu_1", name: "shell", input: { command: "date" } },
            ],
          },
        },
      },
    ]);
  });

  it("is taken up again with its thinking after the tool has run", async () => {
    fake.enqueue({ reasoning: "Hm.", signature: "c2ln", toolCalls: [{ id: "toolu_1", name: "shell", arguments: {} }] });
    const options = { thinking: "high", tools: [{ name: "shell", description: "", parameters: {} }] } as const;
    const first = await provider.chat?.(says("go"), options);
    if (first?.state === undefined) throw new Error("no state");
    const messages: Message[] = [
      ...says("go"),
      { role: "assistant", content: first.text, toolCalls: first.toolCalls, providerState: first.state },
      { role: "tool", toolCallId: "toolu_1", content: "done" },
    ];
    expect(textIn(await chunks(provider, messages, options))).toBe("done: done");
    expect(fake.requests[1]?.body).toMatchObject({
      thinking: { type: "enabled" },
      messages: [{}, { content: [{ type: "thinking", thinking: "Hm.", signature: "c2ln" }, { type: "tool_use" }] }, {}],
    });
  });

  it.each([
    ["length", "length"],
    ["refusal", "refusal"],
    ["end", "end"],
  ] as const)("says why it stopped: %s", async (stopReason, expected) => {
    fake.enqueue({ text: "Well", stopReason });
    expect((await chunks(provider, says("hi"))).at(-1)).toMatchObject({ type: "end", stopReason: expected });
  });

  it("brings malformed arguments along, whole", async () => {
    fake.enqueue({ toolCalls: [{ name: "shell", raw: '{"command": "ls' }] });
    const call = (await chunks(provider, says("hi"))).find((chunk) => chunk.type === "tool_call");
    expect(call).toMatchObject({ call: { arguments: { __invalid_json: '{"command": "ls' } } });
  });
});

describe("the model", () => {
  it("is the call's, else the default, which can be changed", async () => {
    await chunks(provider, says("a"), { model: "claude-opus-4-8" });
    provider.setModel("claude-sonnet-4-6");
    await chunks(provider, says("b"));
    expect(fake.requests.map((request) => request.model)).toEqual(["claude-opus-4-8", "claude-sonnet-4-6"]);
    expect(provider.getModel()).toBe("claude-sonnet-4-6");
  });
});

describe("a model that refuses a parameter", () => {
  it.each([
    ["thinking", { thinking: "high" }, '"thinking.type.enabled" is not supported for this model.'],
    ["temperature", { temperature: 0.5 }, "`temperature` is deprecated for this model."],
    [
      "output_config",
      { thinking: "high", model: "claude-opus-4-8" },
      "This model does not support the effort parameter.",
    ],
  ] as const)("is asked once more without %s, and from then on without it", async (name, options, message) => {
    fake.enqueue(refusal(message));
    expect(textIn(await chunks(provider, says("hi"), options))).toBe("echo: hi");
    await chunks(provider, says("hi"), options);
    expect(fake.requests.map((request) => name in Object(request.body))).toEqual([true, false, false]);
  });

  it("gets system text in the system prompt when it takes none among the messages", async () => {
    fake.enqueue(refusal("role 'system' is not supported on this model"));
    const options = { model: "claude-opus-4-8", context: "Tea." };
    await chunks(provider, says("hi"), options);
    await chunks(provider, says("hi"), options);
    expect(fake.requests.map((request) => "system" in Object(request.body))).toEqual([false, true, true]);
    expect(fake.requests.map((request) => request.system)).toEqual(["Tea.", "Tea.", "Tea."]);
  });

  it("is asked once more only", async () => {
    const message = '"thinking.type.enabled" is not supported for this model.';
    fake.setScript(() => refusal(message));
    expect(await failure(chunks(provider, says("hi"), { thinking: "high" }))).toMatchObject({
      code: "PROVIDER_REJECTED_REQUEST",
    });
    expect(fake.counters().requests).toBe(2);
  });

  it("is not asked again when nothing can be left out", async () => {
    fake.setScript(() => refusal("Your credit balance is too low to access the API."));
    const error = await failure(chunks(provider, says("hi"), { thinking: "high" }));
    expect(error).toMatchObject({
      code: "PROVIDER_REJECTED_REQUEST",
      message: expect.stringContaining("credit balance"),
    });
    expect(fake.counters().requests).toBe(1);
  });
});

describe("thinking whose signature is no longer accepted", () => {
  it("is left out of this call, and only of this one", async () => {
    const content = [
      { type: "thinking", thinking: "Hm.", signature: "b2xk" },
      { type: "tool_use", id: "t1", name: "shell", input: {} },
    ];
    const messages: Message[] = [
      ...says("go"),
      {
        role: "assistant",
        content: "",
        toolCalls: [{ id: "t1", name: "shell", arguments: {} }],
        providerState: { provider: "main", model: "claude-haiku-4-5", data: { content } },
      },
      { role: "tool", toolCallId: "t1", content: "ok" },
    ];
    fake.enqueue(refusal("messages.1.content.0: Invalid `signature` in `thinking` block"));
    expect(textIn(await chunks(provider, messages, { thinking: "low" }))).toBe("done: ok");
    await chunks(provider, messages, { thinking: "low" });
    expect(fake.requests.map((request) => JSON.stringify(request.body).includes("signature"))).toEqual([
      true,
      false,
      true,
    ]);
  });
});

describe("availability", () => {
  it("needs a key, and no request", async () => {
    expect(await provider.isAvailable()).toBe(true);
    expect(fake.counters().others).toBe(0);
    expect(await create({ apiKey: undefined, baseUrl: undefined }).isAvailable()).toBe(false);
  });

  it("without a key, fails before anything is sent", async () => {
    const error = await failure(chunks(create({ apiKey: "", baseUrl: undefined }), says("hi")));
    expect(error).toMatchObject({ code: "PROVIDER_UNAUTHORIZED", message: expect.stringContaining("no API key") });
  });

  it("asks a server of its own whether it is there", async () => {
    const open = await startAnthropicFake();
    expect(await create({ apiKey: undefined, baseUrl: `${open.url}/v1` }).isAvailable()).toBe(true);
    await open.close();
    expect(await create({ apiKey: undefined, baseUrl: open.url }).isAvailable()).toBe(false);
  });
});
