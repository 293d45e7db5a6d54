import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { startAnthropicFake } from "./anthropic/index.ts";
import { startOpenAiFake } from "./openai/index.ts";
import { spawnFake } from "./shared/remote.ts";
import type { FakeServer } from "./shared/server.ts";

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
