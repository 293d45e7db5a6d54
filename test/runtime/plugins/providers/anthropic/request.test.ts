import { describe, expect, it } from "vitest";
import type { Message } from "../../../../../runtime/contracts/message.ts";
import type { ChatOptions } from "../../../../../runtime/contracts/provider.ts";
import { type RequestContext, toRequest } from "../../../../../runtime/plugins/providers/anthropic/request.ts";

const CACHED = { cache_control: { type: "ephemeral" } };
const TOOL = { name: "shell", description: "Runs a command.", parameters: { type: "object", properties: {} } };

const request = (messages: readonly Message[], options: ChatOptions = {}, context: Partial<RequestContext> = {}) =>
  toRequest(messages, options, { provider: "main", model: "claude-sonnet-4-6", quirks: new Set(), ...context });

const user = (content: Message["content"]): Message => ({ role: "user", content });

describe("the system prompt", () => {
  it("has its cache breakpoint behind the stable text and in front of the retrieved context", () => {
    const { system } = request([user("hi")], { system: "You are Cairn.", context: "The user likes tea." });
    expect(system).toEqual([
      { type: "text", text: "You are Cairn.", ...CACHED },
      { type: "text", text: "The user likes tea." },
    ]);
  });

  it("is the same bytes for another context, up to the breakpoint", () => {
    const one = request([user("hi")], { system: "You are Cairn.", tools: [TOOL], context: "a" });
    const two = request([user("hi")], { system: "You are Cairn.", tools: [TOOL], context: "b" });
    expect([one.tools, Array.isArray(one.system) && one.system[0]]).toEqual([
      two.tools,
      Array.isArray(two.system) && two.system[0],
    ]);
  });

  it("takes in system messages from before the conversation", () => {
    const { system, messages } = request([{ role: "system", content: "Be brief." }, user("hi")]);
    expect(system).toEqual([{ type: "text", text: "Be brief." }]);
    expect(messages).toHaveLength(1);
  });

  it("is left out when there is nothing to say, and the breakpoint goes to the tools", () => {
    const params = request([user("hi")], { system: " ", tools: [TOOL] });
    expect(params).not.toHaveProperty("system");
    expect(params.tools).toEqual([
      { name: "shell", description: "Runs a command.", input_schema: { type: "object", properties: {} }, ...CACHED },
    ]);
  });
});

describe("the conversation", () => {
  it("has breakpoints at the newest message and at the end", () => {
    const { messages } = request([
      user("one"),
      { role: "assistant", content: "two" },
      user("three"),
      { role: "assistant", content: "", toolCalls: [{ id: "t1", name: "shell", arguments: { command: "date" } }] },
      { role: "tool", toolCallId: "t1", content: "noon" },
    ]);
    expect(messages).toEqual([
      { role: "user", content: [{ type: "text", text: "one" }] },
      { role: "assistant", content: [{ type: "text", text: "two" }] },
      { role: "user", content: [{ type: "text", text: "three", ...CACHED }] },
      { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "shell", input: { command: "date" } }] },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "noon" }], ...CACHED }],
      },
    ]);
  });

  it("has the results of parallel calls in one user message, with failures marked and what was said in between behind them", () => {
    const { messages } = request([
      user("go"),
      {
        role: "assistant",
        content: "Both.",
        toolCalls: [
          { id: "t1", name: "shell", arguments: {} },
          { id: "t2", name: "shell", arguments: {} },
        ],
      },
      { role: "tool", toolCallId: "t1", content: "ok" },
      { role: "tool", toolCallId: "t2", content: "no such file", isError: true },
      { role: "system", content: "Hurry." },
    ]);
    expect(messages.at(-1)).toEqual({
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "ok" }] },
        { type: "tool_result", tool_use_id: "t2", content: [{ type: "text", text: "no such file" }], is_error: true },
        { type: "text", text: "[System message]\nHurry.", ...CACHED },
      ],
    });
  });

  it("carries images that the model can see, in messages and in results, and names the others", () => {
    const image = (mediaType: string) => ({ type: "image" as const, mediaType, data: "AAAA" });
    const { messages } = request([
      user([{ type: "text", text: "look" }, image("image/png"), image("image/heic")]),
      { role: "assistant", content: "", toolCalls: [{ id: "t1", name: "shell", arguments: {} }] },
      { role: "tool", toolCallId: "t1", content: [image("image/webp")] },
    ]);
    expect(messages[0]?.content).toMatchObject([
      { type: "text", text: "look" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
      { type: "text", text: expect.stringContaining("image/heic") },
    ]);
    expect(messages[2]?.content).toMatchObject([
      { content: [{ type: "image", source: { media_type: "image/webp" } }] },
    ]);
  });

  it("defines the tools of old calls, but keeps the model from using them", () => {
    const params = request([
      user("go"),
      { role: "assistant", content: "", toolCalls: [{ id: "t1", name: "shell", arguments: {} }] },
      { role: "tool", toolCallId: "t1", content: "ok" },
    ]);
    expect(params.tools).toMatchObject([{ name: "shell" }]);
    expect(params.tool_choice).toEqual({ type: "none" });
  });
});

describe("system text among the messages, for models that take it", () => {
  const model = "claude-opus-4-8";
  const before: Message[] = [user("one"), { role: "assistant", content: "two" }];
  const loop: Message[] = [
    { role: "assistant", content: "", toolCalls: [{ id: "t1", name: "shell", arguments: {} }] },
    { role: "tool", toolCallId: "t1", content: "noon" },
  ];

  it("holds the retrieved context, directly behind the newest message", () => {
    const { system, messages } = request(
      [...before, user("three"), ...loop],
      { system: "s", context: "Tea." },
      { model },
    );
    expect(system).toEqual([{ type: "text", text: "s", ...CACHED }]);
    expect(messages.map((message) => message.role)).toEqual([
      "user",
      "assistant",
      "user",
      "system",
      "assistant",
      "user",
    ]);
    expect(messages[2]).toEqual({ role: "user", content: [{ type: "text", text: "three", ...CACHED }] });
    expect(messages[3]).toEqual({ role: "system", content: [{ type: "text", text: "Tea." }] });
  });

  it("lets the next turn begin with the same bytes, up to the end of this turn's message", () => {
    const plain = (params: ReturnType<typeof request>) =>
      JSON.stringify([params.tools, params.system, params.messages]).replaceAll(/,"cache_control":\{[^}]*\}/g, "");
    const now = request([...before, user("three")], { system: "s", context: "at noon" }, { model });
    const next = request(
      [...before, user("three"), { role: "assistant", content: "four" }, user("five")],
      { system: "s", context: "at one" },
      { model },
    );
    const shared = plain(now).indexOf('{"role":"system"');
    expect(shared).toBeGreaterThan(0);
    expect(plain(next).slice(0, shared)).toBe(plain(now).slice(0, shared));
  });

  it("holds what the system says in between, where that may stand", () => {
    const note: Message = { role: "system", content: "Hurry." };
    const roles = (messages: readonly Message[]) =>
      request(messages, {}, { model }).messages.map((message) => message.role);
    expect(roles([user("go"), ...loop, note])).toEqual(["user", "assistant", "user", "system"]);
    expect(roles([user("go"), ...loop, note, note, { role: "assistant", content: "ok" }, user("next")])).toEqual([
      ...["user", "assistant", "user", "system", "assistant", "user"],
    ]);
    expect(roles([user("go"), ...loop, note, user("next")])).toEqual(["user", "assistant", "user"]);
  });

  it("goes back into the system prompt when the model refuses it, and where nobody has spoken", () => {
    const quirks = new Set(["no-system-role"] as const);
    const context = { system: "s", context: "Tea." };
    expect(request([user("go")], context, { model, quirks }).system).toHaveLength(2);
    expect(request([{ role: "assistant", content: "hi" }], context, { model }).system).toHaveLength(2);
  });

  it.each([
    ["claude-opus-5", true],
    ["claude-sonnet-5-5", true],
    ["claude-fable-5", true],
    ["claude-opus-4-7", false],
    ["claude-sonnet-5", false],
    ["claude-mythos-preview", false],
    ["minimax-m2", false],
  ])("is for %s: %s", (name, expected) => {
    const { messages } = request([user("go")], { context: "Tea." }, { model: name });
    expect(messages.some((message) => message.role === "system")).toBe(expected);
  });
});

describe("signed thinking", () => {
  const content = [
    { type: "thinking", thinking: "Hm.", signature: "c2ln" },
    { type: "text", text: "Let me see." },
    { type: "tool_use", id: "t1", name: "shell", input: { command: "date" } },
  ];
  const loop = (reply: Partial<Message>): Message[] => [
    user("go"),
    {
      role: "assistant",
      content: "Let me see.",
      toolCalls: [{ id: "t1", name: "shell", arguments: { command: "date" } }],
      providerState: { provider: "main", model: "claude-sonnet-4-6", data: { content } },
      ...reply,
    },
    { role: "tool", toolCallId: "t1", content: "noon" },
  ];

  it("goes back block by block as it came", () => {
    expect(request(loop({})).messages[1]).toEqual({ role: "assistant", content });
  });

  it("stays in front of a text that was changed since", () => {
    expect(request(loop({ content: "Redacted." })).messages[1]).toEqual({
      role: "assistant",
      content: [content[0], { type: "text", text: "Redacted." }, content[2]],
    });
  });

  it("is dropped when another model answers", () => {
    const { messages } = request(loop({}), {}, { model: "claude-opus-4-6" });
    expect(JSON.stringify(messages)).not.toContain("signature");
  });

  it("switches thinking off for the rest of a loop whose thinking is lost, where the model insists on it", () => {
    const budget = { model: "claude-sonnet-4-5" };
    expect(request(loop({}), { thinking: "high" }, budget)).not.toHaveProperty("thinking");
    expect(request([user("go")], { thinking: "high" }, budget)).toHaveProperty("thinking.type", "enabled");
    expect(request(loop({}), { thinking: "high" }, { model: "claude-opus-4-8" })).toHaveProperty(
      "thinking.type",
      "adaptive",
    );
  });
});
