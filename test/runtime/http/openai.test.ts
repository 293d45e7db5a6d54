import OpenAI from "openai";
import type { ChatCompletionChunk, ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";
import { describe, expect, test } from "vitest";
import { ProviderError } from "../../../runtime/contracts/errors.ts";
import { OWNER_TOKEN } from "../../support/fake-application.ts";
import { listening, OWNER, startServer, type TestServer } from "../../support/http-server.ts";

const hello = { model: "main", messages: [{ role: "user" as const, content: "Hello" }] };

async function client(started: TestServer, options: ConstructorParameters<typeof OpenAI>[0] = {}): Promise<OpenAI> {
  return new OpenAI({ baseURL: `${await listening(started)}/v1`, apiKey: OWNER_TOKEN, maxRetries: 0, ...options });
}

async function chunksOf(
  openai: OpenAI,
  params: Omit<ChatCompletionCreateParamsStreaming, "stream">,
): Promise<ChatCompletionChunk[]> {
  const chunks: ChatCompletionChunk[] = [];
  for await (const chunk of await openai.chat.completions.create({ ...params, stream: true })) chunks.push(chunk);
  return chunks;
}

function textOf(chunks: readonly ChatCompletionChunk[]): string {
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
}

describe("files that a turn has sent", () => {
  test("are named behind the text, with where they are, also in a stream", async () => {
    const started = startServer();
    const file = { sha256: "ab12", name: "a.pdf", media_type: "application/pdf", size: 12, caption: "As you asked." };
    started.app.script = async ({ turnId, say }) => {
      say({ type: "text.delta", turn_id: turnId, text: "Here." });
      return { text: "Here.", notice: "Cut.", attachments: [file] };
    };
    const openai = await client(started);
    const about = (turnId: string) =>
      `As you asked.\nFile a.pdf (application/pdf, 12 bytes): /api/agents/main/turns/${turnId}/attachments/ab12`;
    const { choices } = await openai.chat.completions.create(hello);
    expect(choices[0]?.message.content).toBe(`Cut.\n\nHere.\n\n${about("turn-1")}`);
    expect(textOf(await chunksOf(openai, hello))).toBe(`Here.\n\nCut.\n\n${about("turn-2")}`);
  });
});

describe("the openai SDK, unchanged", () => {
  test("lists the agents as models, and finds one", async () => {
    const openai = await client(startServer());
    const models = [];
    for await (const model of openai.models.list()) models.push(model.id);
    expect(models).toEqual(["main", "other"]);
    expect(await openai.models.retrieve("main")).toMatchObject({ id: "main", object: "model", owned_by: "cairn" });
    await expect(openai.models.retrieve("gpt-5")).rejects.toMatchObject({ status: 404, code: "model_not_found" });
  });

  test("gets a completion", async () => {
    const openai = await client(startServer());
    const { data, response } = await openai.chat.completions.create(hello).withResponse();
    expect(data).toMatchObject({
      id: "chatcmpl-turn-1",
      object: "chat.completion",
      model: "main",
      created: 1767225600,
      choices: [{ index: 0, message: { role: "assistant", content: "You said: Hello" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    });
    expect(response.headers.get("x-turn-id")).toBe("turn-1");
  });

  test("receives what the agent asks, as an error that says where the answer goes", async () => {
    const started = startServer();
    started.app.script = async ({ turnId, say }) => {
      const question = { id: "q", text: "Which one?", choices: [], expires_at: "2026-12-01T00:00:00.000Z" };
      say({ type: "turn.waiting", turn_id: turnId, session: "s", question });
      return new Promise(() => undefined);
    };
    const openai = await client(started);
    await expect(openai.chat.completions.create(hello)).rejects.toMatchObject({
      status: 409,
      message: expect.stringMatching(/Which one\? Answer at \/api\/agents\/main\/turns\/turn-1\/answer,/),
    });
    await expect(chunksOf(openai, hello)).rejects.toThrow("Which one?");
  });

  test("streams one: the role first, then text, then the reason to stop", async () => {
    const started = startServer();
    const openai = await client(started);
    const chunks = await chunksOf(openai, hello);
    expect(chunks[0]?.choices[0]?.delta).toMatchObject({ role: "assistant", content: "" });
    expect(textOf(chunks)).toBe("You said: Hello");
    expect(chunks.length).toBeGreaterThan(4);
    expect(chunks.at(-1)?.choices[0]).toMatchObject({ delta: {}, finish_reason: "stop" });
    expect(new Set(chunks.map(({ id, object, model }) => `${id} ${object} ${model}`))).toEqual(
      new Set(["chatcmpl-turn-1 chat.completion.chunk main"]),
    );
    expect(chunks.some((chunk) => "usage" in chunk)).toBe(false);
  });

  test("streams with usage in a last chunk where that is asked for", async () => {
    const openai = await client(startServer());
    const chunks = await chunksOf(openai, { ...hello, stream_options: { include_usage: true } });
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    });
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
  });

  test("ends a stream as OpenAI does", async () => {
    const { server } = startServer();
    const payload = { ...hello, stream: true };
    const answer = await server.inject({ method: "POST", url: "/v1/chat/completions", headers: OWNER, payload });
    expect(answer.headers["content-type"]).toContain("text/event-stream");
    expect(answer.body.endsWith("\n\ndata: [DONE]\n\n")).toBe(true);
  });

  test("its stream helper puts the message together", async () => {
    const openai = await client(startServer());
    const stream = openai.chat.completions.stream(hello);
    expect(await stream.finalContent()).toBe("You said: Hello");
  });

  test("learns that a turn failed, and does not start a second one by itself", async () => {
    const started = startServer();
    started.app.script = async () => {
      throw new ProviderError("PROVIDER_OVERLOADED", "The provider is overloaded.");
    };
    const openai = await client(started, { maxRetries: 2 });
    await expect(openai.chat.completions.create(hello)).rejects.toMatchObject({
      status: 503,
      code: "PROVIDER_OVERLOADED",
      type: "server_error",
      error: { turn_id: "turn-1" },
    });
    expect(started.app.accepted).toHaveLength(1);
  });

  test("learns in mid-stream that a turn failed", async () => {
    const started = startServer();
    started.app.script = async ({ turnId, say }) => {
      say({ type: "text.delta", turn_id: turnId, text: "Half" });
      throw new ProviderError("PROVIDER_STREAM_TRUNCATED", "The provider's stream was cut off.");
    };
    const openai = await client(started);
    const seen: ChatCompletionChunk[] = [];
    const read = async () => {
      for await (const chunk of await openai.chat.completions.create({ ...hello, stream: true })) seen.push(chunk);
    };
    await expect(read()).rejects.toMatchObject({ code: "PROVIDER_STREAM_TRUNCATED" });
    expect(textOf(seen)).toBe("Half");
  });

  test("learns that its key is wrong", async () => {
    const openai = await client(startServer(), { apiKey: "sk-wrong" });
    await expect(openai.chat.completions.create(hello)).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  });

  test("aborting a stream ends no turn", async () => {
    const started = startServer();
    const gate = Promise.withResolvers<void>();
    started.app.script = async () => {
      await gate.promise;
      return { text: "all the same" };
    };
    const openai = await client(started);
    const stream = await openai.chat.completions.create({ ...hello, stream: true });
    await expect.poll(() => started.app.subscriptions.open).toBe(1);
    stream.controller.abort();
    await expect.poll(() => started.app.subscriptions.open).toBe(0);
    gate.resolve();
    await expect.poll(() => started.app.finished("turn-1")).toBe(true);
  });
});

describe("whose session it is", () => {
  const earlier = [
    { role: "system", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "My name is Ann." }] },
    { role: "assistant", content: "Noted." },
    { role: "developer", content: "Stay brief." },
    { role: "assistant", content: null },
  ];
  const body = { model: "main", messages: [...earlier, { role: "user", content: "What is my name?" }] };
  const post = (started: TestServer, payload: object, headers: Record<string, string> = {}) =>
    started.server.inject({ method: "POST", url: "/v1/chat/completions", headers: { ...OWNER, ...headers }, payload });

  test("without a name it is new, and the request is its history", async () => {
    const started = startServer();
    await post(started, body);
    await post(started, body);
    const [first, second] = started.app.accepted;
    expect(first).toMatchObject({
      text: "What is my name?",
      owner: true,
      history: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "My name is Ann." },
        { role: "assistant", content: "Noted." },
        { role: "system", content: "Stay brief." },
      ],
    });
    expect(first?.address.conversation).not.toBe(second?.address.conversation);
  });

  test("with X-Session it has its own history", async () => {
    const started = startServer();
    await post(started, body, { "x-session": "kitchen" });
    expect(started.app.accepted[0]).toMatchObject({ address: { conversation: "kitchen", user: "" }, owner: true });
    expect(started.app.accepted[0]).not.toHaveProperty("history");
  });

  test("with user it is that user's, and that user speaks", async () => {
    const started = startServer();
    await post(started, { ...body, user: "ann" });
    await post(started, { ...body, user: "ann" }, { "x-session": "kitchen" });
    expect(started.app.accepted.map(({ address, owner }) => [address.conversation, address.user, owner])).toEqual([
      ["ann", "ann", false],
      ["kitchen", "ann", false],
    ]);
  });

  test("a repeat under one key is one turn, in a session of its own too", async () => {
    const started = startServer();
    const first = await post(started, body, { "idempotency-key": "k" });
    const second = await post(started, body, { "idempotency-key": "k" });
    expect(started.app.accepted).toHaveLength(1);
    expect(second.json()).toEqual(first.json());
  });
});

describe("what is said beside the text", () => {
  const interrupted = async () => ({ text: "The answer.", notice: "The node was restarted." });

  test("stands before a completion", async () => {
    const started = startServer();
    started.app.script = interrupted;
    const openai = await client(started);
    const { choices } = await openai.chat.completions.create(hello);
    expect(choices[0]?.message.content).toBe("The node was restarted.\n\nThe answer.");
  });

  test("stands before a stream of which nothing was sent, else after it", async () => {
    const started = startServer();
    started.app.script = interrupted;
    const openai = await client(started);
    expect(textOf(await chunksOf(openai, hello))).toBe("The node was restarted.\n\nThe answer.");
    started.app.script = async ({ turnId, say }) => {
      say({ type: "text.delta", turn_id: turnId, text: "The ans" });
      return interrupted();
    };
    expect(textOf(await chunksOf(openai, hello))).toBe("The answer.\n\nThe node was restarted.");
  });

  test("a second attempt is set apart from the first, and reasoning is apart from text", async () => {
    const started = startServer();
    started.app.script = async ({ turnId, say }) => {
      say({ type: "reasoning.delta", turn_id: turnId, text: "hm" });
      say({ type: "text.delta", turn_id: turnId, text: "The a" });
      say({ type: "turn.started", turn_id: turnId, session: "s", agent: "main", attempt: 2 });
      say({ type: "text.delta", turn_id: turnId, text: "The answer." });
      return { text: "The answer." };
    };
    const chunks = await chunksOf(await client(started), hello);
    expect(textOf(chunks)).toBe("The a\n\nThe answer.");
    expect(chunks.some(({ choices }) => JSON.stringify(choices[0]?.delta).includes('"reasoning_content":"hm"'))).toBe(
      true,
    );
  });
});

describe("what an agent takes", () => {
  const post = (payload: object) => {
    const started = startServer();
    const answer = started.server.inject({ method: "POST", url: "/v1/chat/completions", headers: OWNER, payload });
    return { started, answer };
  };
  const png = "data:image/png;base64,aGVsbG8=";

  test("pictures and files as data, as attachments", async () => {
    const content = [
      { type: "text", text: "What is" },
      { type: "image_url", image_url: { url: png, detail: "high" } },
      { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,aGVsbG8=" } },
      { type: "text", text: "this?" },
    ];
    const { started, answer } = post({ model: "main", messages: [{ role: "user", content }] });
    expect((await answer).statusCode).toBe(200);
    expect(started.app.accepted[0]).toMatchObject({
      text: "What is\nthis?",
      attachments: [
        { name: "image-1.png", mediaType: "image/png", data: "aGVsbG8=" },
        { name: "a.pdf", mediaType: "application/pdf", data: "aGVsbG8=" },
      ],
    });
  });

  test("a picture alone, under its name", async () => {
    const content = [{ type: "image_url", image_url: { url: png } }];
    const { started, answer } = post({ model: "main", messages: [{ role: "user", content }] });
    expect((await answer).statusCode).toBe(200);
    expect(started.app.accepted[0]?.text).toBe("[image-1.png]");
  });

  test("parameters of sampling and length, without effect", async () => {
    const { answer } = post({
      ...hello,
      temperature: 0.1,
      top_p: 1,
      max_tokens: 5,
      max_completion_tokens: 5,
      stop: ["x"],
      seed: 1,
      n: 1,
      tools: [],
      response_format: { type: "text" },
      metadata: { a: "b" },
      store: false,
    });
    expect((await answer).statusCode).toBe(200);
  });

  test.each([
    ["tools", { tools: [{ type: "function", function: { name: "f" } }] }],
    ["functions", { functions: [{ name: "f" }] }],
    ["n", { n: 2 }],
    ["response_format", { response_format: { type: "json_object" } }],
    ["modalities", { modalities: ["text", "audio"] }],
    ["logprobs", { logprobs: true }],
    ["messages", { messages: [] }],
    ["messages", { messages: [{ role: "assistant", content: "x" }] }],
    ["messages.0.content", { messages: [{ role: "user", content: " " }] }],
    ["messages.0.role", { messages: [{ role: "tool", content: "x", tool_call_id: "1" }, ...hello.messages] }],
    [
      "messages.0.content.0.image_url.url",
      {
        messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://example.org/a.png" } }] }],
      },
    ],
  ])("and refuses %s clearly", async (param, override) => {
    const { started, answer } = post({ ...hello, ...override });
    const response = await answer;
    expect(response.statusCode).toBe(400);
    expect(response.json().error).toMatchObject({ type: "invalid_request_error", param, code: "invalid_request" });
    expect(started.app.accepted).toEqual([]);
  });

  test("only models that are agents", async () => {
    const response = await post({ ...hello, model: "gpt-5" }).answer;
    expect(response.statusCode).toBe(404);
    expect(response.json()).toEqual({
      error: {
        message: 'There is no agent "gpt-5" here. Agents: main, other.',
        type: "invalid_request_error",
        param: "model",
        code: "model_not_found",
      },
    });
  });

  test("errors under /v1 have one shape, whoever finds them", async () => {
    const { server } = startServer();
    const json = { ...OWNER, "content-type": "application/json" };
    for (const [status, request] of [
      [404, { method: "GET", url: "/v1/embeddings" }],
      [405, { method: "GET", url: "/v1/chat/completions", headers: OWNER }],
      [401, { method: "GET", url: "/v1/models" }],
      [400, { method: "POST", url: "/v1/chat/completions", headers: json, payload: "{" }],
    ] as const) {
      const response = await server.inject(request);
      expect(response.statusCode).toBe(status);
      expect(response.json().error).toMatchObject({ message: expect.any(String), type: expect.any(String) });
      expect(response.json()).not.toHaveProperty("ok");
    }
  });
});
