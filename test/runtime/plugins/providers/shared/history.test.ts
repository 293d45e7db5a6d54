import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message } from "../../../../../runtime/contracts/message.ts";
import type { ChatOptions } from "../../../../../runtime/contracts/provider.ts";
import { toRequest as toAnthropic } from "../../../../../runtime/plugins/providers/anthropic/request.ts";
import { toRequest as toGemini } from "../../../../../runtime/plugins/providers/gemini/request.ts";
import { toRequest as toOllama } from "../../../../../runtime/plugins/providers/ollama/request.ts";
import { toRequest as toOpenAi } from "../../../../../runtime/plugins/providers/openai-compatible/request.ts";
import { shapeHistory } from "../../../../../runtime/plugins/providers/shared/history.ts";
import { anthropicWire } from "../../../../fakes/anthropic/wire.ts";
import { check as checkGemini } from "../../../../fakes/gemini/check.ts";
import { ollamaWire } from "../../../../fakes/ollama/wire.ts";
import { openAiWire } from "../../../../fakes/openai/wire.ts";

/** Whatever a stored history looks like, each API gets one that it accepts. The fakes' checks are the judges. */

const text = fc.oneof(
  fc.constantFrom("", " ", "\n", "hello", "what is it?", "\ud800 half a character", "x".repeat(50)),
  fc.string(),
);
const id = fc.constantFrom("", "a", "b", "call_1", "functions.read:0", "weird id / with: signs", "l".repeat(70));
const call = fc.record({
  id,
  name: fc.constantFrom("shell", "file_read"),
  arguments: fc.dictionary(fc.string(), fc.jsonValue()),
});
const image = fc.record({
  type: fc.constant("image" as const),
  mediaType: fc.constantFrom("image/png", "image/heic"),
  data: fc.constant("iVBORw0KGgo="),
});
const content = fc.oneof(
  text,
  fc.array(fc.oneof(image, fc.record({ type: fc.constant("text" as const), text })), { maxLength: 3 }),
);
const state = fc.record({
  provider: fc.constantFrom("main", "other"),
  model: fc.constantFrom("claude-sonnet-4-5", "other"),
  data: fc.constantFrom<unknown>(
    null,
    "broken",
    { content: "broken" },
    { content: [{ type: "thinking", thinking: "Hm.", signature: "c2ln" }] },
    { reasoning: { field: "reasoning_content", text: "Hm." }, extras: [{ signature: "c2ln" }] },
    { parts: "broken" },
    { parts: [{ text: "hello" }, { functionCall: { name: "shell", args: {}, id: "x" } }] },
    { thinking: "Hm." },
  ),
});
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record(
    { role: fc.constant("user" as const), content, aside: fc.boolean() },
    { requiredKeys: ["role", "content"] },
  ),
  fc.record({ role: fc.constant("system" as const), content: text }),
  fc.record(
    {
      role: fc.constant("assistant" as const),
      content,
      toolCalls: fc.array(call, { maxLength: 3 }),
      providerState: state,
    },
    { requiredKeys: ["role", "content"] },
  ),
  fc.record(
    { role: fc.constant("tool" as const), content, toolCallId: id, isError: fc.boolean() },
    { requiredKeys: ["role", "content", "toolCallId"] },
  ),
);
const options: fc.Arbitrary<ChatOptions> = fc.record(
  {
    system: text,
    context: text,
    thinking: fc.constantFrom("off", "low", "medium", "high"),
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
    maxTokens: fc.integer({ min: 1, max: 100_000 }),
    tools: fc.constantFrom([], [{ name: "shell", description: "Runs a command.", parameters: {} }]),
  },
  { requiredKeys: [] },
);
const model = fc.constantFrom(
  "claude-3-haiku-20240307",
  "claude-sonnet-4-5",
  "claude-opus-4-1",
  "claude-opus-5-5",
  "minimax",
);

describe("a history of any shape", () => {
  it("becomes a request that the messages API accepts", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), options, model, fc.boolean(), (messages, given, name, bare) => {
        const quirks = new Set(bare ? (["no-replay"] as const) : []);
        const params = JSON.parse(
          JSON.stringify(toAnthropic(messages, given, { provider: "main", model: name, quirks })),
        );
        expect(anthropicWire.check(params, { "anthropic-version": "2023-06-01" }, "")).toBeUndefined();
        expect(JSON.stringify(params).isWellFormed()).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it("becomes a request that chat-completions accepts", () => {
    fc.assert(
      fc.property(
        fc.array(message, { minLength: 1, maxLength: 12 }),
        options,
        fc.boolean(),
        (messages, given, first) => {
          const quirks = new Set(first ? (["strict-roles"] as const) : []);
          const context = { provider: "main", model: "claude-sonnet-4-5", isOpenAi: false, quirks };
          const params = toOpenAi([...messages, { role: "user", content: "hello" }], given, context);
          const sent = JSON.parse(JSON.stringify(params));
          expect(openAiWire.check(sent, {}, "")).toBeUndefined();
          const roles: string[] = sent.messages.map((one: { role: string }) => one.role);
          if (!first) return;
          expect(roles.some((role, at) => role === "user" && roles[at + 1] === "user")).toBe(false);
          expect(roles.lastIndexOf("system")).toBeLessThanOrEqual(0);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("becomes a request that the Gemini API accepts", () => {
    const names = fc.constantFrom("gemini-2.0-flash", "gemini-2.5-pro", "gemini-3.5-flash", "gemini-flash-latest");
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), options, names, fc.boolean(), (messages, given, name, bare) => {
        const quirks = new Set(bare ? (["no-replay", "no-system-instruction"] as const) : []);
        const asked: Message[] = [...messages, { role: "user", content: "hello" }];
        const { model: _, contents, config = {} } = toGemini(asked, given, { provider: "main", model: name, quirks });
        const { systemInstruction, tools, thinkingConfig, temperature, maxOutputTokens } = config;
        const generationConfig = { thinkingConfig, temperature, maxOutputTokens };
        const sent = JSON.parse(JSON.stringify({ contents, systemInstruction, tools, generationConfig }));
        expect(checkGemini(sent, {}, `/v1beta/models/${name}:streamGenerateContent?alt=sse`)).toBeUndefined();
        expect(JSON.stringify(sent).isWellFormed()).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it("becomes a request that Ollama accepts", () => {
    const { check } = ollamaWire(["qwen3:8b", "gpt-oss:20b"]);
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 12 }),
        options,
        fc.constantFrom("qwen3:8b", "gpt-oss:20b"),
        fc.boolean(),
        (messages, given, name, first) => {
          const quirks = new Set(first ? (["strict-roles"] as const) : []);
          const sent = JSON.parse(JSON.stringify(toOllama(messages, given, { provider: "main", model: name, quirks })));
          expect(check(sent, {}, "")).toBeUndefined();
          const roles: string[] = sent.messages.map((one: { role: string }) => one.role);
          if (!first) return;
          expect(roles.some((role, at) => role === "user" && roles[at + 1] === "user")).toBe(false);
          expect(roles.lastIndexOf("system")).toBeLessThanOrEqual(0);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("keeps what was said, in order", () => {
    const said = fc.array(
      fc.record({ role: fc.constantFrom("user" as const, "assistant" as const), content: fc.uuid() }),
    );
    fc.assert(
      fc.property(said, (messages) => {
        const { entries } = shapeHistory(messages, { provider: "main", model: "m", ids: { longest: 40 } });
        const kept = JSON.stringify(entries);
        const places = messages.map((one) => kept.indexOf(one.content));
        expect(places).not.toContain(-1);
        expect(places).toEqual([...places].sort((a, b) => a - b));
      }),
    );
  });
});

describe("tool calls and results", () => {
  const shape = (messages: readonly Message[]) =>
    shapeHistory(messages, { provider: "main", model: "m", ids: { longest: 40 } }).entries;
  const ask = (...ids: string[]): Message => ({
    role: "assistant",
    content: "",
    toolCalls: ids.map((one) => ({ id: one, name: "shell", arguments: {} })),
  });
  const result = (toolCallId: string, content: string): Message => ({ role: "tool", toolCallId, content });

  it("puts results in the order of their calls, before anything said in between", () => {
    const entries = shape([
      { role: "user", content: "go" },
      ask("a", "b"),
      { role: "system", content: "steered" },
      result("b", "second"),
      result("a", "first"),
    ]);
    expect(entries.map((entry) => entry.kind)).toEqual(["user", "assistant", "results", "note"]);
    expect(entries[2]).toMatchObject({
      results: [
        { id: "a", text: "first" },
        { id: "b", text: "second" },
      ],
    });
  });

  it("tells the model of a call whose outcome nobody knows", () => {
    const entries = shape([{ role: "user", content: "go" }, ask("a")]);
    expect(entries[2]).toMatchObject({
      results: [{ id: "a", isError: true, text: expect.stringContaining("unknown") }],
    });
  });

  it("keeps calls apart that have the same id in different replies", () => {
    const entries = shape([
      { role: "user", content: "go" },
      ask("call_0"),
      result("call_0", "one"),
      ask("call_0"),
      result("call_0", "two"),
    ]);
    expect(entries[2]).toMatchObject({ results: [{ id: "call_0", text: "one" }] });
    expect(entries[4]).toMatchObject({ results: [{ id: "call_0_2", text: "two" }] });
  });

  it("tells calls of one reply apart that share an id, by their order", () => {
    const entries = shape([{ role: "user", content: "go" }, ask("", ""), result("", "one"), result("", "two")]);
    expect(entries[2]).toMatchObject({
      results: [
        { id: "call", text: "one" },
        { id: "call_2", text: "two" },
      ],
    });
  });

  it("drops a result that belongs to no call", () => {
    expect(shape([result("gone", "lost"), { role: "user", content: "go" }]).map((entry) => entry.kind)).toEqual([
      "user",
    ]);
  });
});

describe("provider state", () => {
  const reply = (provider: string, name: string): Message => ({
    role: "assistant",
    content: "x",
    providerState: { provider, model: name, data: { mine: true } },
  });
  const stateOf = (messages: readonly Message[]) => {
    const entry = shapeHistory(messages, { provider: "main", model: "m", ids: { longest: 40 } }).entries.find(
      (one) => one.kind === "assistant",
    );
    return entry?.state;
  };

  it("goes back to its maker only", () => {
    const user: Message = { role: "user", content: "go" };
    expect(stateOf([user, reply("main", "m")])).toEqual({ mine: true });
    expect(stateOf([user, reply("main", "another")])).toBeUndefined();
    expect(stateOf([user, reply("another", "m")])).toBeUndefined();
  });

  it("does not outlive the turn that it was made in", () => {
    expect(
      stateOf([{ role: "user", content: "go" }, reply("main", "m"), { role: "user", content: "next" }]),
    ).toBeUndefined();
  });
});
