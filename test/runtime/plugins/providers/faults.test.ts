import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ProviderError } from "../../../../runtime/contracts/errors.ts";
import type { Message } from "../../../../runtime/contracts/message.ts";
import type { ChatChunk } from "../../../../runtime/contracts/provider.ts";
import type { FakeReply } from "../../../fakes/shared/script.ts";
import type { FakeServer } from "../../../fakes/shared/server.ts";
import { closedPort } from "../../../support/ports.ts";
import { APIS, chunks, failure, KEY, says, textIn } from "./support.ts";

/** Every way in which a provider fails, through the real SDKs, over a real socket. */

const ANSWER: FakeReply = { text: "one two three four five six" };

describe.each(APIS)("$name, when the provider fails", (api) => {
  let fake: FakeServer;
  beforeEach(async () => {
    fake = await api.start();
  });
  afterEach(() => fake.close());

  const fail = async (
    reply: FakeReply,
    settings: { timeoutMs?: number; maxRetries?: number; apiKey?: string } = {},
  ): Promise<ProviderError> => {
    fake.setScript(() => reply);
    const error = await failure(chunks(api.create({ baseUrl: fake.baseUrl, ...settings }), says("hello")));
    if (!(error instanceof ProviderError)) throw error;
    return error;
  };

  it.each([
    [401, "PROVIDER_UNAUTHORIZED", false],
    [403, "PROVIDER_UNAUTHORIZED", false],
    [429, "PROVIDER_RATE_LIMITED", true],
    [503, "PROVIDER_OVERLOADED", true],
    [529, "PROVIDER_OVERLOADED", true],
    [500, "PROVIDER_SERVER_ERROR", true],
    [502, "PROVIDER_OVERLOADED", true],
    [504, "PROVIDER_TIMEOUT", true],
    [400, "PROVIDER_REJECTED_REQUEST", false],
    [404, "PROVIDER_REJECTED_REQUEST", false],
    [413, "PROVIDER_CONTEXT_TOO_LONG", false],
    [302, "PROVIDER_BAD_RESPONSE", true],
  ] as const)("reports HTTP %i as %s", async (status, code, retryable) => {
    const error = await fail({ fault: { kind: "status", status, headers: { location: "http://127.0.0.1:1/" } } });
    expect(error).toMatchObject({ code, retryable });
    expect(error.message).toContain('"main"');
    expect(error.message).toContain(String(status));
  });

  it("passes on how long a rate limit lasts, and does not sit it out", async () => {
    const error = await fail(
      { fault: { kind: "status", status: 429, headers: { "retry-after": "42" } } },
      { maxRetries: 2 },
    );
    expect(error).toMatchObject({ code: "PROVIDER_RATE_LIMITED", details: { retryAfterS: 42 } });
    expect(fake.counters().requests).toBe(1);
  });

  it.each([
    "prompt is too long: 210000 tokens > 200000 maximum",
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    "the request exceeds the available context size. try increasing the context size",
    "input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000",
  ])("knows a conversation that is too long: %s", async (message) => {
    const error = await fail({ fault: { kind: "status", status: 400, message } });
    expect(error.code).toBe("PROVIDER_CONTEXT_TOO_LONG");
  });

  it.each([KEY, "a plain passphrase of the owner"])(
    "never repeats the key, whatever the server says (%s)",
    async (apiKey) => {
      for (const status of [401, 400, 500]) {
        const message = `Incorrect API key provided: ${apiKey}, Bearer ${apiKey}`;
        const error = await fail({ fault: { kind: "status", status, message } }, { apiKey });
        const everything = JSON.stringify([error.message, error.toBody(), String(error.cause), error.stack]);
        expect(everything).not.toContain(apiKey);
        expect(everything).not.toContain(apiKey.slice(0, 12));
      }
    },
  );

  it("sends no key that cannot be one, and does not print it", async () => {
    for (const apiKey of ["two\nlines-0123456789", "schlüssel-0123456789"]) {
      const error = await fail(ANSWER, { apiKey });
      expect(error.code).toBe("PROVIDER_UNAUTHORIZED");
      expect(String(error)).not.toContain("0123456789");
    }
    expect(fake.counters().requests).toBe(0);
    await chunks(api.create({ baseUrl: fake.baseUrl, apiKey: `${KEY}\n` }), says("hello"));
    expect(fake.requests[0]?.headers[api.key.header]).toBe(`${api.key.prefix}${KEY}`);
  });

  it("knows a wrong key, however the service refuses it", async () => {
    const strict = await api.start({ apiKey: "another-key-0123456789" });
    onTestFinished(() => strict.close());
    const error = await failure(chunks(api.create({ baseUrl: strict.baseUrl, maxRetries: 2 }), says("hello")));
    expect(error).toMatchObject({ code: "PROVIDER_UNAUTHORIZED", retryable: false });
    expect(strict.counters().requests).toBe(1);
  });

  it("reads 200 parallel calls, each with an id of its own", async () => {
    const calls = Array.from({ length: 200 }, (_, n) => ({ name: "shell", arguments: { command: `echo ${n}` } }));
    fake.enqueue({ toolCalls: calls });
    const list = await chunks(api.create({ baseUrl: fake.baseUrl }), says("hello"));
    const asked = list.flatMap((chunk) => (chunk.type === "tool_call" ? [chunk.call] : []));
    expect(asked.map((call) => call.arguments)).toEqual(calls.map((call) => call.arguments));
    expect(new Set(asked.map(({ id }) => id)).size).toBe(200);
    expect(list.at(-1)).toMatchObject({ type: "end", stopReason: "tool_calls" });

    // And goes on from their results, in whatever order they came.
    const messages: Message[] = [
      ...says("hello"),
      { role: "assistant", content: "", toolCalls: asked },
      ...asked.toReversed().map(({ id }): Message => ({ role: "tool", toolCallId: id, content: "ok" })),
    ];
    const tools = [{ name: "shell", description: "Runs a command.", parameters: {} }];
    const next = await chunks(api.create({ baseUrl: fake.baseUrl }), messages, { tools });
    expect(textIn(next)).toMatch(/^done: ok/);
  });

  const LONG = "x".repeat(64 * 1024);

  it.each([
    ["text", { text: [LONG] }, "4,000,000 characters"],
    ["thinking", { reasoning: [LONG] }, "4,000,000 characters"],
    ["line", { bytes: [Buffer.from(LONG)] }, "8 MiB in one line"],
  ] as const)("gives up on an answer whose %s does not end, and closes the connection", async (_what, reply, bound) => {
    const error = await fail({ ...reply, fault: { kind: "repeat", holding: "xxxx" } }, { maxRetries: 2 });
    expect(error).toMatchObject({ code: "PROVIDER_BAD_RESPONSE", retryable: true });
    expect(error.message).toContain(`more than ${bound}`);
    await fake.waitUntil(({ counters }) => counters().closed === 1);
    expect(fake.counters().requests).toBe(1);
  });

  it("gives up on an answer that goes on calling, or on writing one call, without an end", async () => {
    // In pieces where the API has pieces of a call, and else one whole call after the other.
    const call = { name: "shell", raw: JSON.stringify({ command: "x".repeat(2_000_000) }) };
    const error = await fail({ toolCalls: [call], fault: { kind: "repeat", holding: "xxxx" } });
    expect(error).toMatchObject({ code: "PROVIDER_BAD_RESPONSE", retryable: true });
    expect(error.message).toContain("more than 4,000,000 characters");
    await fake.waitUntil(({ counters }) => counters().closed === 1);

    const calls = Array.from({ length: 1_001 }, (_, n) => ({ name: "shell", arguments: { command: `echo ${n}` } }));
    expect((await fail({ toolCalls: calls })).message).toContain("more than 1,000 calls");
  });

  it("brings a call along that is no JSON, and goes on from the error that the model gets for it", async () => {
    const written = '{"command": "ls';
    const tools = [{ name: "shell", description: "Runs a command.", parameters: {} }];
    const provider = api.create({ baseUrl: fake.baseUrl });
    fake.enqueue({
      reasoning: "Hm.",
      text: "See:",
      toolCalls: [
        { name: "shell", arguments: {} },
        { name: "shell", raw: written },
      ],
    });
    const list = await chunks(provider, says("hello"), { tools });
    const toolCalls = list.flatMap((chunk) => (chunk.type === "tool_call" ? [chunk.call] : []));
    expect(textIn(list)).toBe("See:");
    expect(toolCalls.at(-1)?.arguments).toEqual({ __invalid_json: api.name === "gemini" ? "" : written });
    const ended = list.at(-1);
    expect(ended).toMatchObject({ type: "end", stopReason: "tool_calls" });
    const state = ended?.type === "end" && ended.state !== undefined ? { state: ended.state } : {};
    const messages: Message[] = [
      ...says("hello"),
      { role: "assistant", content: "See:", toolCalls, ...state },
      ...toolCalls.map(({ id }): Message => ({ role: "tool", toolCallId: id, content: "Not JSON.", isError: true })),
    ];
    fake.enqueue({ text: "better" });
    expect(textIn(await chunks(provider, messages, { tools }))).toBe("better");
  });

  it("does not print the password of an address", async () => {
    const error = await failure(chunks(api.create({ baseUrl: "http://ada:lovelace@127.0.0.1:1/v1" }), says("hello")));
    expect(error).toMatchObject({ code: "PROVIDER_UNREACHABLE" });
    expect(`${error} ${error instanceof Error ? error.cause : ""}`).not.toContain("lovelace");
  });

  it("reports a page instead of a stream as a bad response, with its type", async () => {
    const error = await fail({ fault: { kind: "garbage" } });
    expect(error.code).toBe("PROVIDER_BAD_RESPONSE");
    expect(error.message).toContain("text/html");
  });

  it("reports events that are not JSON as a bad response", async () => {
    const bytes = [Buffer.from(api.nonsense), Buffer.from("event: ping\ndata: {}\n\n")];
    expect((await fail({ bytes })).code).toBe("PROVIDER_BAD_RESPONSE");
  });

  it("reports events of another shape as a bad response or a cut", async () => {
    for (const data of ["null", "[]", '"text"', "{}", '{"choices":[{}]}', '{"type":"content_block_delta","index":3}']) {
      const error = await fail({ bytes: [Buffer.from(`event: message\ndata: ${data}\n\n`)] });
      expect(["PROVIDER_BAD_RESPONSE", "PROVIDER_STREAM_TRUNCATED"]).toContain(error.code);
    }
  });

  it("reports an empty body as a cut stream", async () => {
    expect((await fail({ bytes: [] })).code).toBe("PROVIDER_STREAM_TRUNCATED");
  });

  it.each(["destroy", "end"] as const)(
    "reports half a stream as cut off, after passing on its text (%s)",
    async (how) => {
      fake.setScript(() => ({ ...ANSWER, paceMs: 5, fault: { kind: "cut", after: 6, how } }));
      const seen: ChatChunk[] = [];
      const error = await failure(
        (async () => {
          for await (const chunk of api.create({ baseUrl: fake.baseUrl, maxRetries: 2 }).chatStream(says("hello")))
            seen.push(chunk);
        })(),
      );
      expect(error).toMatchObject({ code: "PROVIDER_STREAM_TRUNCATED", retryable: true });
      expect(textIn(seen)).toMatch(/^one two/);
      expect(seen.some((chunk) => chunk.type === "end")).toBe(false);
      expect(fake.counters().requests).toBe(1);
    },
  );

  /** Time passes only when the test says so, but for the server and the connection to it. */
  const stopTheClock = (): void => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
  };

  it("gives up on a server that never answers, once, and closes the connection", async () => {
    stopTheClock();
    const failed = fail({ fault: { kind: "hang" } }, { timeoutMs: 30_000, maxRetries: 2 });
    await fake.waitForRequests(1);
    vi.advanceTimersByTime(30_000);
    const error = await failed;
    expect(error).toMatchObject({ code: "PROVIDER_TIMEOUT", retryable: true });
    await fake.waitUntil(({ counters }) => counters().closed === 1);
    expect(fake.counters().requests).toBe(1);
  });

  it("gives up on a stream that falls silent, and closes the connection", async () => {
    stopTheClock();
    fake.setScript(() => ({ ...ANSWER, fault: { kind: "hang", after: 5 } }));
    let passing: NodeJS.Timeout | undefined;
    onTestFinished(() => clearInterval(passing));
    const reading = async () => {
      for await (const _chunk of api.create({ baseUrl: fake.baseUrl, timeoutMs: 30_000 }).chatStream(says("hello")))
        passing ??= setInterval(() => vi.advanceTimersByTime(30_000), 10);
    };
    expect(await failure(reading())).toMatchObject({ code: "PROVIDER_TIMEOUT" });
    await fake.waitUntil(({ counters }) => counters().closed === 1);
  });

  it("reports a refused connection and says where", async () => {
    const port = await closedPort();
    const provider = api.create({ baseUrl: `http://127.0.0.1:${port}` });
    const error = await failure(chunks(provider, says("hello")));
    expect(error).toMatchObject({ code: "PROVIDER_UNREACHABLE", retryable: true });
    expect(String(error)).toContain(`127.0.0.1:${port}`);
    expect(String(error)).toContain("ECONNREFUSED");
  });

  it("sends a request again that failed before its first byte, as often as it may", async () => {
    const fault: FakeReply = { fault: { kind: "status", status: 500, headers: { "retry-after-ms": "1" } } };
    fake.enqueue(fault, fault);
    const list = await chunks(api.create({ baseUrl: fake.baseUrl, maxRetries: 2 }), says("hello"));
    expect(textIn(list)).toBe("echo: hello");
    expect(fake.counters().requests).toBe(3);

    fake.reset();
    const error = await fail(fault, { maxRetries: 1 });
    expect(error.code).toBe("PROVIDER_SERVER_ERROR");
    expect(fake.counters().requests).toBe(2);
  });

  it.each([
    ["overloaded_error", "PROVIDER_OVERLOADED"],
    ["rate_limit_error", "PROVIDER_RATE_LIMITED"],
    ["api_error", "PROVIDER_SERVER_ERROR"],
    ["invalid_request_error", "PROVIDER_REJECTED_REQUEST"],
  ])("reads an error inside the stream: %s", async (type, code) => {
    const error = await fail({ ...ANSWER, fault: { kind: "error-event", after: 4, type, message: "Sorry." } });
    expect(error.code).toBe(api.namesErrors ? code : "PROVIDER_SERVER_ERROR");
  });

  it("rejects with the signal's own reason, and the server sees the connection close", async () => {
    fake.setScript(() => ({ ...ANSWER, hold: { gate: "never", after: 4 } }));
    const controller = new AbortController();
    const reason = new Error("stopped by the user");
    const error = await failure(
      (async () => {
        const stream = api.create({ baseUrl: fake.baseUrl }).chatStream(says("hello"), { signal: controller.signal });
        for await (const chunk of stream) if (chunk.type === "text") controller.abort(reason);
      })(),
    );
    expect(error).toBe(reason);
    await fake.waitUntil(({ counters }) => counters().closed === 1);
  });

  it("is aborted before the first byte as well, and between retries", async () => {
    for (const reply of [
      { fault: { kind: "hang" } },
      { fault: { kind: "status", status: 500, headers: { "retry-after": "9" } } },
    ] as const) {
      fake.reset();
      fake.setScript(() => reply);
      const controller = new AbortController();
      const call = failure(
        chunks(api.create({ baseUrl: fake.baseUrl, maxRetries: 2 }), says("hello"), { signal: controller.signal }),
      );
      await fake.waitForRequests(1);
      controller.abort("enough");
      expect(await call).toBe("enough");
      expect(fake.counters().requests).toBe(1);
    }
  });

  it("sends nothing when it is aborted already", async () => {
    const call = chunks(api.create({ baseUrl: fake.baseUrl }), says("hello"), { signal: AbortSignal.abort("early") });
    expect(await failure(call)).toBe("early");
    expect(fake.counters().requests).toBe(0);
  });

  it("closes the connection when the reader stops reading", async () => {
    fake.setScript(() => ({ ...ANSWER, hold: { gate: "never", after: 5 } }));
    for await (const chunk of api.create({ baseUrl: fake.baseUrl }).chatStream(says("hello"))) {
      if (chunk.type === "text") break;
    }
    await fake.waitUntil(({ counters }) => counters().closed === 1);
  });
});
