import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { startAnthropicFake } from "./anthropic/index.ts";
import { startGeminiFake } from "./gemini/index.ts";
import { signatureOf } from "./gemini/signatures.ts";
import { startOllamaFake } from "./ollama/index.ts";
import { startOpenAiFake } from "./openai/index.ts";
import { spawnFake } from "./shared/remote.ts";
import type { FakeServer } from "./shared/server.ts";
import { startXaiFake } from "./xai/index.ts";

/** The fakes through the official SDKs as their users call them, and the directives that tests drive turns with. */

let fake: FakeServer | undefined;
afterEach(async () => {
  await fake?.close();
  fake = undefined;
});

describe("the chat-completions fake", () => {
  const open = async () => {
    const server = await startOpenAiFake();
    fake = server;
    return { server, client: new OpenAI({ apiKey: "k", baseURL: server.baseUrl, maxRetries: 0 }) };
  };
  const tools = [{ type: "function" as const, function: { name: "shell", parameters: { type: "object" } } }];

  it("echoes what it is told, whole and streamed, and lists its models", async () => {
    const { client } = await open();
    const messages = [{ role: "user" as const, content: "hello" }];
    const whole = await client.chat.completions.create({ model: "m", messages });
    expect(whole.choices[0]?.message.content).toBe("echo: hello");
    const streamed = await client.chat.completions.stream({ model: "m", messages }).finalContent();
    expect(streamed).toBe("echo: hello");
    expect((await client.models.list()).data).not.toHaveLength(0);
  });

  it("does the steps of a message one request after the other", async () => {
    const { client } = await open();
    const content = '@think Hm.\n@call shell {"command": "date"}\n@call shell {"command": "id"}\n@then\n@say all done';
    const first = await client.chat.completions.create({ model: "m", tools, messages: [{ role: "user", content }] });
    const message = first.choices[0]?.message;
    const calls = message?.tool_calls ?? [];
    expect(calls.map((call) => (call.type === "function" ? call.function.arguments : ""))).toEqual([
      '{"command": "date"}',
      '{"command": "id"}',
    ]);
    const second = await client.chat.completions.create({
      model: "m",
      tools,
      messages: [
        { role: "user", content },
        { role: "assistant", content: null, tool_calls: calls },
        ...calls.map((call) => ({ role: "tool" as const, tool_call_id: call.id, content: "ok" })),
      ],
    });
    expect(second.choices[0]?.message.content).toBe("all done");
  });

  it("refuses what the API refuses", async () => {
    const { client } = await open();
    const bad = client.chat.completions.create({
      model: "m",
      messages: [{ role: "tool", tool_call_id: "x", content: "stray" }],
    });
    await expect(bad).rejects.toMatchObject({ status: 400 });
  });
});

describe("the messages fake", () => {
  it("answers whole and streamed, counts tokens, and recalls lines of the prompt", async () => {
    const server = await startAnthropicFake();
    fake = server;
    const client = new Anthropic({ apiKey: "k", baseURL: server.baseUrl, maxRetries: 0 });
    const ask = (content: string) => ({
      model: "claude-fake",
      max_tokens: 100,
      system: "Facts:\nMy cat is called Miso.",
      messages: [{ role: "user" as const, content }],
    });
    expect((await client.messages.create(ask("hello"))).content).toMatchObject([{ type: "text", text: "echo: hello" }]);
    expect(await client.messages.stream(ask("@recall cat")).finalText()).toBe("recalled: My cat is called Miso.");
    expect((await client.messages.countTokens(ask("hello"))).input_tokens).toBeGreaterThan(0);
    const { max_tokens, ...unlimited } = ask("hello");
    expect(max_tokens).toBe(100);
    await expect(client.post("/v1/messages", { body: unlimited })).rejects.toMatchObject({ status: 400 });
  });
});

describe("the Gemini fake", () => {
  const CALL = { functionCall: { name: "shell", args: {} } };
  const RESULT = { functionResponse: { name: "shell", response: { output: "ok" } } };
  const user = (...parts: object[]) => ({ role: "user", parts });
  const model = (...parts: object[]) => ({ role: "model", parts });
  const signed = (name: string) => ({ ...CALL, thoughtSignature: signatureOf(name, "shell") });

  it.each([
    ["a field that it does not have", { messages: [] }, "Unknown name"],
    ["no contents", { contents: [] }, "contents is not specified"],
    ["another role", { contents: [{ role: "assistant", parts: [{ text: "hi" }] }] }, "valid role"],
    ["an empty text", { contents: [user({ text: "" })] }, "oneof field 'data'"],
    ["a last word of the model", { contents: [user({ text: "a" }), model({ text: "b" })] }, "end with a user role"],
    [
      "a call without its result",
      { contents: [user({ text: "a" }), model(CALL), user({ text: "b" })] },
      "equal to the number",
    ],
    [
      "a result without its call",
      { contents: [user({ text: "a" }), user(RESULT)] },
      "immediately after a function call",
    ],
    ["a call without a signature", { contents: [user({ text: "a" }), model(CALL), user(RESULT)] }, "thought_signature"],
    [
      "the signature of another model",
      { contents: [user({ text: "a" }), model(signed("gemini-3-pro")), user(RESULT)] },
      "Invalid thought signature",
    ],
    [
      "a budget beside a level",
      {
        contents: [user({ text: "a" })],
        generationConfig: { thinkingConfig: { thinkingBudget: 1, thinkingLevel: "LOW" } },
      },
      "only one of thinking budget",
    ],
  ])("refuses %s", async (_what, body, message) => {
    const server = await startGeminiFake();
    fake = server;
    const ask = (content: object) =>
      fetch(`${server.baseUrl}/models/gemini-3.5-flash:generateContent`, {
        method: "POST",
        body: JSON.stringify(content),
      });
    const refused = await ask(body);
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining(message)]);
    const right = [user({ text: "a" }), model(signed("gemini-3.5-flash")), user(RESULT)];
    expect((await ask({ contents: right })).status).toBe(200);
  });
});

describe("the xAI and the Ollama fake", () => {
  const post = (url: string, body: object) => fetch(url, { method: "POST", body: JSON.stringify(body) });

  it("refuse what a model does not take, each in its own words", async () => {
    const xai = await startXaiFake();
    fake = xai;
    const messages = [{ role: "user", content: "hi" }];
    const refused = await post(`${xai.baseUrl}/chat/completions`, {
      model: "grok-4",
      messages,
      reasoning_effort: "low",
    });
    expect(await refused.json()).toEqual({
      code: "Client specified an invalid argument",
      error: "Model grok-4 does not support parameter reasoningEffort.",
    });
  });

  it.each([
    [{ model: "other" }, 404, "model 'other' not found"],
    [{ model: "plain:1b", think: true }, 400, "does not support thinking"],
    [{ model: "qwen3:8b", think: "low" }, 400, "not supported for this model"],
    [{ model: "qwen3:8b", messages: [{ role: "user", content: [] }] }, 400, "cannot unmarshal array"],
    [{ model: "qwen3:8b", messages: [{ role: "tool", content: "ok" }] }, 400, "without its call"],
  ])("refuse %j", async (body, status, message) => {
    const ollama = await startOllamaFake(["qwen3:8b", "plain:1b"]);
    fake = ollama;
    const refused = await post(`${ollama.url}/api/chat`, { messages: [{ role: "user", content: "hi" }], ...body });
    expect([refused.status, await refused.text()]).toEqual([status, expect.stringContaining(message)]);
  });
});

describe("the Ollama fake", () => {
  it("answers from the end of a prompt that is longer than its context, or refuses it where the script says so", async () => {
    const ollama = await startOllamaFake(["qwen3:8b"]);
    fake = ollama;
    const long = { role: "user", content: `first ${"word ".repeat(4_000)}` };
    const messages = [{ role: "system", content: "Be brief." }, long, { role: "user", content: "hi" }];
    const post = (body: object) =>
      fetch(`${ollama.url}/api/chat`, {
        method: "POST",
        body: JSON.stringify({ model: "qwen3:8b", stream: false, messages, ...body }),
      });
    expect((await post({})).status).toBe(200);
    expect((await post({ options: { num_ctx: 8_192 }, truncate: false, shift: false })).status).toBe(200);
    expect((await post({ truncate: false, shift: false })).status).toBe(400);
    expect(ollama.requests.slice(0, 2).map(({ texts }) => texts)).toEqual([
      ["Be brief.", "hi"],
      ["Be brief.", long.content, "hi"],
    ]);
  });
});

describe.each(["gemini", "ollama", "xai"] as const)("the fake of %s as a process", (api) => {
  it("starts, and does what the message says", async () => {
    const remote = await spawnFake(api);
    try {
      const [path, body] = {
        gemini: ["/models/m:generateContent", { contents: [{ role: "user", parts: [{ text: "@say hello" }] }] }],
        ollama: ["/api/chat", { model: "fake", stream: false, messages: [{ role: "user", content: "@say hello" }] }],
        xai: ["/chat/completions", { model: "m", messages: [{ role: "user", content: "@say hello" }] }],
      }[api] as [string, object];
      const response = await fetch(`${remote.baseUrl}${path}`, { method: "POST", body: JSON.stringify(body) });
      expect(await response.text()).toContain('"hello"');
      expect((await remote.state()).counters).toMatchObject({ requests: 1, answered: 1 });
    } finally {
      await remote.close();
    }
  });
});

describe("a fake as a process", () => {
  it("is driven over HTTP: queued replies, gates, and what it has seen", async () => {
    const remote = await spawnFake("openai", ["--api-key", "k"]);
    try {
      const client = new OpenAI({ apiKey: "k", baseURL: remote.baseUrl, maxRetries: 0 });
      await remote.enqueue({ text: "held", hold: { gate: "go" } });
      const reply = client.chat.completions.create({ model: "m", messages: [{ role: "user", content: "hi" }] });
      await remote.waitForRequests(1);
      expect((await remote.state()).counters).toMatchObject({ requests: 1, open: 1 });
      await remote.release("go");
      expect((await reply).choices[0]?.message.content).toBe("held");
      expect((await remote.state()).requests).toMatchObject([{ lastUser: "hi", state: "answered" }]);

      const stranger = new OpenAI({ apiKey: "other", baseURL: remote.baseUrl, maxRetries: 0 });
      await expect(stranger.models.list()).rejects.toMatchObject({ status: 401 });
      await remote.reset();
      expect((await remote.state()).counters).toMatchObject({ requests: 0 });
    } finally {
      await remote.close();
    }
  });
});
