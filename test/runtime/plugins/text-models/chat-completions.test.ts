/** The text model over the real SDK, against a fake that speaks the protocol: answers, pauses, and what is given up. */

import { describe, expect, it, onTestFinished } from "vitest";
import { ProviderError } from "../../../../runtime/contracts/errors.ts";
import type { TextModel, TextRequest } from "../../../../runtime/contracts/text-model.ts";
import { createOpenaiCompatibleProvider } from "../../../../runtime/plugins/providers/openai-compatible/index.ts";
import { createChatCompletionsTextModel } from "../../../../runtime/plugins/text-models/chat-completions/index.ts";
import { withoutReasoning } from "../../../../runtime/plugins/text-models/chat-completions/reasoning.ts";
import {
  startTextFake,
  type TextFake,
  type TextFakeOptions,
  type TextFault,
} from "../../../fakes/chat-completions/index.ts";
import { quietLogger } from "../providers/support.ts";

interface Started {
  readonly fake: TextFake;
  readonly model: TextModel;
  /** Milliseconds of every pause, in order. */
  readonly pauses: number[];
}

const KEY = "sk-text-0123456789abcdef";

async function started(options: TextFakeOptions = {}): Promise<Started> {
  const fake = await startTextFake(options);
  onTestFinished(() => fake.close());
  const pauses: number[] = [];
  const model = createChatCompletionsTextModel({
    provider: createOpenaiCompatibleProvider({
      id: "memory.summarizer",
      path: "memory.summarizer",
      model: "writer",
      apiKey: KEY,
      baseUrl: fake.baseUrl,
      maxRetries: 0,
      timeoutMs: 2_147_483_647,
      logger: quietLogger,
    }),
    sleep: async (ms, signal) => {
      pauses.push(ms);
      signal.throwIfAborted();
    },
    logger: quietLogger,
  });
  return { fake, model, pauses };
}

const ask = (over: Partial<TextRequest> = {}): TextRequest => ({
  system: "Summarize.",
  user: "the harbour is frozen",
  maxTokens: 100,
  thinking: true,
  signal: new AbortController().signal,
  ...over,
});

/** Fails the first requests, each in its own way. */
const failing = (...faults: readonly TextFault[]): TextFakeOptions => ({ fault: ({ number }) => faults[number - 1] });

const thrown = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("the chat-completions text model", () => {
  it("answers from what it is given, without the reasoning that came beside it", async () => {
    const { model, fake } = await started();
    expect(model.model).toBe("writer");
    expect(await model.complete(ask())).toEqual({
      text: "It was about the harbour is frozen.",
      truncated: false,
      // As the server counted them.
      inputTokens: expect.any(Number),
      outputTokens: expect.any(Number),
    });
    expect(fake.requests[0]).toMatchObject({
      model: "writer",
      system: "Summarize.",
      lastUser: "the harbour is frozen",
    });
    expect(fake.requests[0]?.headers["authorization"]).toBe(`Bearer ${KEY}`);
  });

  it("switches thinking on and leaves the answer its whole budget beside it", async () => {
    const { model, fake } = await started();
    await model.complete(ask());
    await model.complete(ask({ thinking: false }));
    expect(fake.requests[0]?.body).toMatchObject({ reasoning_effort: "medium", max_tokens: 100 + 16_384 });
    expect(fake.requests[1]?.body).toMatchObject({ max_tokens: 100 });
    expect(fake.requests[1]?.body).not.toHaveProperty("reasoning_effort");
  });

  it("does without the switch where the server refuses it, at once and from then on", async () => {
    const refuses = ({ body }: { body: unknown }): TextFault | undefined =>
      Object.hasOwn(Object(body), "reasoning_effort")
        ? { kind: "status", status: 400, message: "writer does not support thinking" }
        : undefined;
    const { model, fake, pauses } = await started({ fault: refuses });
    await model.complete(ask());
    await model.complete(ask());
    expect(fake.requests).toHaveLength(3);
    expect(pauses).toEqual([]);
  });

  it("drops a <think> block in the answer and tells an answer that was cut off", async () => {
    const { model } = await started(
      failing({ kind: "says", text: "<think>\nHm, ice.\n</think>\n\nThe harbour froze." }, { kind: "cut-off" }),
    );
    expect(await model.complete(ask())).toMatchObject({ text: "The harbour froze.", truncated: false });
    expect(await model.complete(ask())).toMatchObject({ truncated: true });
  });

  it("asks again after 5, 10 and 15 s when a failure may pass", async () => {
    const { model, fake, pauses } = await started(
      failing({ kind: "status", status: 503 }, { kind: "cut" }, { kind: "garbage" }),
    );
    expect((await model.complete(ask())).text).toContain("the harbour is frozen");
    expect(pauses).toEqual([5_000, 10_000, 15_000]);
    expect(fake.requests).toHaveLength(4);
  });

  it("gives up after three retries and says what the server said", async () => {
    const { model, fake, pauses } = await started({
      fault: () => ({ kind: "status", status: 500, message: "out of memory" }),
    });
    const error = await thrown(model.complete(ask()));
    expect(error).toMatchObject({ code: "PROVIDER_SERVER_ERROR", message: expect.stringContaining("out of memory") });
    expect(pauses).toEqual([5_000, 10_000, 15_000]);
    expect(fake.requests).toHaveLength(4);
  });

  it("waits as long as the server asks for, unless that is too long", async () => {
    const limited = { kind: "status", status: 429 } as const;
    const { model, fake, pauses } = await started(
      failing({ ...limited, retryAfterS: 42 }, { ...limited, retryAfterS: 1 }, { ...limited, retryAfterS: 3_600 }),
    );
    const error = await thrown(model.complete(ask()));
    expect(error).toMatchObject({ code: "PROVIDER_RATE_LIMITED", details: { retryAfterS: 3_600 } });
    expect(pauses).toEqual([42_000, 10_000]);
    expect(fake.requests).toHaveLength(3);
  });

  it.each<[string, TextFault, string]>([
    ["a request that the server rejects", { kind: "status", status: 400, message: "no" }, "PROVIDER_REJECTED_REQUEST"],
    ["a wrong key", { kind: "status", status: 401 }, "PROVIDER_UNAUTHORIZED"],
    [
      "an input beyond the model's window",
      { kind: "status", status: 400, message: "This model's maximum context length is 4096 tokens" },
      "PROVIDER_CONTEXT_TOO_LONG",
    ],
    ["an empty answer", { kind: "empty" }, "PROVIDER_EMPTY_ANSWER"],
    ["nothing but white space", { kind: "says", text: " \n " }, "PROVIDER_EMPTY_ANSWER"],
    ["nothing but reasoning", { kind: "reasoning-only" }, "PROVIDER_EMPTY_ANSWER"],
    ["nothing but a <think> block", { kind: "says", text: "<think>for ever" }, "PROVIDER_EMPTY_ANSWER"],
  ])("does not ask again after %s", async (_, fault, code) => {
    const { model, pauses } = await started({ fault: () => fault });
    const error = await thrown(model.complete(ask()));
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ code, retryable: false });
    expect(JSON.stringify(error) + String(error)).not.toContain(KEY);
    expect(pauses).toEqual([]);
  });

  it("names its own place in the configuration when it cannot be reached", async () => {
    const { model, fake } = await started();
    await fake.close();
    const error = await thrown(model.complete(ask()));
    expect(error).toMatchObject({
      code: "PROVIDER_UNREACHABLE",
      details: { hint: expect.stringContaining("memory.summarizer.base_url") },
    });
  });

  it("waits for a stalled server until its signal ends the request, and closes the connection", async () => {
    const { model, fake } = await started({ fault: () => ({ kind: "hang" }) });
    const leaving = new AbortController();
    const answer = thrown(model.complete(ask({ signal: leaving.signal })));
    await fake.waitForRequests(1);
    leaving.abort(new Error("the node stops"));
    expect(await answer).toMatchObject({ message: "the node stops" });
    await fake.waitUntil(({ counters }) => counters().closed === 1);
  });

  it("ends a pause by its signal", async () => {
    const fake = await startTextFake({ fault: () => ({ kind: "status", status: 503 }) });
    onTestFinished(() => fake.close());
    const leaving = new AbortController();
    const model = createChatCompletionsTextModel({
      provider: createOpenaiCompatibleProvider({
        id: "x",
        model: "writer",
        baseUrl: fake.baseUrl,
        maxRetries: 0,
        logger: quietLogger,
      }),
      sleep: async (_, signal) => {
        leaving.abort(new Error("the node stops"));
        signal.throwIfAborted();
      },
      logger: quietLogger,
    });
    expect(await thrown(model.complete(ask({ signal: leaving.signal })))).toMatchObject({ message: "the node stops" });
    expect(fake.requests).toHaveLength(1);
  });
});

describe("an answer without its reasoning", () => {
  it.each([
    ["<think>a</think>b", "b"],
    ["  <THINKING>\na\n</THINKING>\n<think>c</think>\n\nb", "b"],
    ["[THINK]a[/THINK]b", "b"],
    ["a\n</think>\n\nb", "b"],
    ["b\n<think>\na\n</think>\nc", "b\n\nc"],
    ["<think>never closed", ""],
    [
      "It is about the tag <think> and its end </think>, no more.",
      "It is about the tag <think> and its end </think>, no more.",
    ],
    ["Plain.", "Plain."],
  ])("%j is %j", (answer, text) => {
    expect(withoutReasoning(answer)).toBe(text);
  });
});
