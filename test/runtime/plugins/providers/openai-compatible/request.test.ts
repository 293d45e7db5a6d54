import { describe, expect, it } from "vitest";
import type { Message } from "../../../../../runtime/contracts/message.ts";
import type { ChatOptions } from "../../../../../runtime/contracts/provider.ts";
import { type RequestContext, toRequest } from "../../../../../runtime/plugins/providers/openai-compatible/request.ts";

const request = (messages: readonly Message[], options: ChatOptions = {}, context: Partial<RequestContext> = {}) =>
  toRequest(messages, options, { provider: "main", model: "qwen3-8b", isOpenAi: false, quirks: new Set(), ...context });

const user = (content: Message["content"]): Message => ({ role: "user", content });

describe("the messages", () => {
  it("have the retrieved context directly before the newest message of the user", () => {
    const { messages } = request(
      [
        user("one"),
        { role: "assistant", content: "two" },
        user("three"),
        { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "shell", arguments: { command: "date" } }] },
        { role: "tool", toolCallId: "c1", content: "noon" },
        { role: "system", content: "Hurry." },
      ],
      { system: "You are Cairn.", context: "The user likes tea." },
    );
    expect(messages).toEqual([
      { role: "system", content: "You are Cairn." },
      { role: "user", content: "one" },
      { role: "assistant", content: "two" },
      { role: "system", content: "The user likes tea." },
      { role: "user", content: "three" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "shell", arguments: '{"command":"date"}' } }],
      },
      { role: "tool", tool_call_id: "c1", content: "noon" },
      { role: "system", content: "Hurry." },
    ]);
  });

  it("are the same as before in front of the newest message, whatever the context", () => {
    const before = [user("one"), { role: "assistant", content: "two" } as const];
    const first = request([...before, user("three")], { system: "s", context: "a" }).messages;
    const second = request([...before, user("three"), { role: "assistant", content: "four" }, user("five")], {
      system: "s",
      context: "b",
    }).messages;
    expect(second.slice(0, 3)).toEqual(first.slice(0, 3));
  });

  it("have one system message, in first place, where a chat template takes no other", () => {
    const { messages } = request(
      [user("go"), { role: "assistant", content: "ok" }, { role: "system", content: "Hurry." }, user("now")],
      { system: "You are Cairn.", context: "The user likes tea." },
      { quirks: new Set(["strict-roles"]) },
    );
    expect(messages).toEqual([
      { role: "system", content: "You are Cairn.\n\nThe user likes tea." },
      { role: "user", content: "go" },
      { role: "assistant", content: "ok" },
      { role: "user", content: "[System message]\nHurry.\n\nnow" },
    ]);
  });

  it("carry images as data addresses, those of tool results in a message of their own", () => {
    const image = { type: "image" as const, mediaType: "image/png", data: "AAAA" };
    const { messages } = request([
      user([{ type: "text", text: "look" }, image]),
      { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "shot", arguments: {} }] },
      { role: "tool", toolCallId: "c1", content: [image], isError: true },
    ]);
    const part = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    expect(messages[0]).toEqual({ role: "user", content: [{ type: "text", text: "look" }, part] });
    expect(messages.slice(2)).toEqual([
      { role: "tool", tool_call_id: "c1", content: "Error: (1 image(s), shown below)" },
      { role: "user", content: [{ type: "text", text: "Images from the tool results above:" }, part] },
    ]);
  });

  it("give the reasoning of a tool loop back under the name that it came with", () => {
    const loop = (field: string): Message[] => [
      user("go"),
      {
        role: "assistant",
        content: "",
        toolCalls: [{ id: "c1", name: "shell", arguments: {} }],
        providerState: { provider: "main", model: "qwen3-8b", data: { reasoning: { field, text: "Hm." }, extras: [] } },
      },
      { role: "tool", toolCallId: "c1", content: "ok" },
    ];
    expect(request(loop("reasoning")).messages[1]).toHaveProperty("reasoning", "Hm.");
    expect(request(loop("reasoning_content")).messages[1]).toHaveProperty("reasoning_content", "Hm.");
    expect(request(loop("__proto__")).messages[1]).not.toHaveProperty("text");
    const quiet = request(loop("reasoning"), {}, { quirks: new Set(["no-reasoning-echo"]) });
    expect(quiet.messages[1]).not.toHaveProperty("reasoning");
  });
});

describe("tool calls", () => {
  const loop = (id: string, extras: unknown[]): Message[] => [
    user("go"),
    {
      role: "assistant",
      content: "",
      toolCalls: [
        { id, name: "shell", arguments: {} },
        { id: "c2", name: "shell", arguments: {} },
      ],
      providerState: { provider: "main", model: "qwen3-8b", data: { extras } },
    },
    { role: "tool", toolCallId: id, content: "ok" },
    { role: "tool", toolCallId: "c2", content: "ok" },
  ];

  it("keep the ids that the model gave them, up to OpenAI's longest", () => {
    const ids = (id: string) => {
      const [, assistant, result] = request(loop(id, [])).messages;
      const call = assistant?.role === "assistant" ? assistant.tool_calls?.[0]?.id : undefined;
      return [call, result?.role === "tool" ? result.tool_call_id : undefined];
    };
    expect(ids("functions.read:0")).toEqual(["functions.read:0", "functions.read:0"]);
    expect(ids("x".repeat(50))).toEqual(["x".repeat(40), "x".repeat(40)]);
  });

  it("carry back what the server signed them with", () => {
    const extra = { google: { thought_signature: "c2ln" } };
    const [, assistant] = request(loop("c1", [extra, null])).messages;
    expect(assistant).toMatchObject({ tool_calls: [{ id: "c1", extra_content: extra }, { id: "c2" }] });
    expect(JSON.stringify(assistant).match(/extra_content/g)).toHaveLength(1);
  });
});

describe("the parameters", () => {
  it("ask for a stream with usage, and leave out what is not set", () => {
    const params = request([user("hi")]);
    expect(params).toEqual({
      model: "qwen3-8b",
      messages: [{ role: "user", content: "hi" }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it("limit the answer under the name that the server knows", () => {
    expect(request([user("hi")], { maxTokens: 5 })).toMatchObject({ max_tokens: 5 });
    expect(request([user("hi")], {}, { maxTokens: 5, isOpenAi: true })).toMatchObject({ max_completion_tokens: 5 });
    expect(request([user("hi")], { maxTokens: 5 }, { quirks: new Set(["other-token-limit"]) })).toMatchObject({
      max_completion_tokens: 5,
    });
  });

  it("leave room for reasoning beside the answer, since servers count both", () => {
    const limit = (model: string, thinking?: "off" | "high") =>
      request([user("hi")], { maxTokens: 100, ...(thinking ? { thinking } : {}) }, { model }).max_tokens;
    expect([limit("qwen3-8b"), limit("qwen3-8b", "high"), limit("gpt-4o", "high")]).toEqual([100, 32_868, 100]);
    expect([limit("gpt-5.1", "off"), limit("gpt-5", "off"), limit("gpt-5")]).toEqual([100, 1_124, 16_484]);
  });

  it.each([
    ["gpt-4o", { off: undefined, high: undefined }],
    ["o3-mini", { off: "low", high: "high" }],
    ["gpt-5-mini", { off: "minimal", high: "high" }],
    ["openai/gpt-5.4", { off: "none", high: "high" }],
    ["gpt-6-astra", { off: "none", high: "high" }],
    ["gpt-oss-20b", { off: undefined, high: "high" }],
    ["qwen3-8b", { off: undefined, high: "high" }],
  ])("map thinking levels for %s", (model, expected) => {
    const effort = (thinking: "off" | "high") => request([user("hi")], { thinking }, { model }).reasoning_effort;
    expect({ off: effort("off"), high: effort("high") }).toEqual(expected);
    expect(request([user("hi")], {}, { model })).not.toHaveProperty("reasoning_effort");
  });

  it("send a temperature only where the model takes it", () => {
    const sends = (model: string, thinking?: "off" | "high") =>
      "temperature" in request([user("hi")], { temperature: 0.2, ...(thinking ? { thinking } : {}) }, { model });
    expect([sends("gpt-4o"), sends("qwen3-8b", "high"), sends("gpt-5.1", "off")]).toEqual([true, true, true]);
    expect([sends("o3"), sends("gpt-5"), sends("gpt-5.1", "high")]).toEqual([false, false, false]);
  });
});
