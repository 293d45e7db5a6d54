/** A reply of a model: which failures lead to the next one of the chain, and what the next one is asked for. */

import { describe, expect, it } from "vitest";
import { createHookPipeline } from "../../../../runtime/app/hooks.ts";
import {
  type CallWindows,
  createModelCaller,
  type InterruptedReply,
} from "../../../../runtime/app/turn/model-caller.ts";
import { createProviderCircuits } from "../../../../runtime/app/turn/provider-circuits.ts";
import {
  CairnError,
  ERROR_CODES,
  type ErrorCode,
  ProviderError,
  RuntimeError,
} from "../../../../runtime/contracts/errors.ts";
import type { AnyHook, TurnInfo } from "../../../../runtime/contracts/hooks.ts";
import type { Message } from "../../../../runtime/contracts/message.ts";
import type { ChatChunk, ChatOptions, Provider } from "../../../../runtime/contracts/provider.ts";
import { type ModelRef, modelChain } from "../../../../runtime/domain/model-ref.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";
import { end, text, toolCall } from "../../../support/turn-harness.ts";

type Steps = ErrorCode | Iterable<ChatChunk | ErrorCode>;
type Behaviour = Steps | (() => Steps);

function setUp(behaviours: Readonly<Record<string, Behaviour>>, hooks: readonly AnyHook[] = []) {
  const asked: { provider: string; model: string | undefined }[] = [];
  const shown: (readonly Message[])[] = [];
  const interruptions: InterruptedReply[] = [];
  const time = { ms: 0 };
  const circuits = createProviderCircuits({ clock: { monotonic: () => time.ms }, logger: quietLogger });
  const providers = new Map(
    Object.entries(behaviours).map(([id, behaviour]): [string, Provider] => [
      id,
      {
        id,
        name: id,
        async *chatStream(messages, options: ChatOptions = {}) {
          asked.push({ provider: id, model: options.model });
          shown.push(messages);
          const now = typeof behaviour === "function" ? behaviour() : behaviour;
          for (const step of typeof now === "string" ? [now] : now) {
            options.signal?.throwIfAborted();
            if (typeof step === "string") throw new CairnError(step, `${id} failed`);
            yield step;
          }
        },
        isAvailable: async () => true,
        getModel: () => "its-own",
        setModel: () => undefined,
      },
    ]),
  );
  const pipeline = createHookPipeline(hooks, quietLogger);
  const call = createModelCaller({
    providers,
    hooks: pipeline,
    redact: (value) => value,
    circuits,
    today: () => "2030-01-31",
    logger: quietLogger,
  });
  const said: string[] = [];
  const answered: object[] = [];
  const counted: { model: string; inputTokens: number; outputTokens: number }[] = [];
  return {
    asked,
    said,
    answered,
    counted,
    shown,
    interruptions,
    time,
    circuits,
    ask: (
      agent: { provider: string; model?: string; fallbacks: readonly string[] },
      signal = new AbortController().signal,
      windows?: CallWindows,
    ) =>
      call({
        turn: { turnId: "t" } as TurnInfo,
        ...(windows === undefined ? {} : { windows }),
        chain: modelChain(agent, undefined, new Set(providers.keys())),
        messages: [{ role: "user", content: "hi" }],
        options: {},
        signal,
        onText: (part) => said.push(part),
        onReasoning: () => undefined,
        onInterrupted: async (reply) => {
          interruptions.push(reply);
          return [{ role: "user", content: `go on from ${said.join("")}` }];
        },
        onAnswered: ({ provider, model, costUsd, inputTokens, outputTokens }) => {
          answered.push({ provider, model, costUsd });
          counted.push({ model, inputTokens, outputTokens });
        },
      }),
  };
}

const ANSWER = [text("fine"), end()];
const PASSING = [
  "PROVIDER_RATE_LIMITED",
  "PROVIDER_OVERLOADED",
  "PROVIDER_TIMEOUT",
  "PROVIDER_UNREACHABLE",
  "PROVIDER_SERVER_ERROR",
  "PROVIDER_BAD_RESPONSE",
  "PROVIDER_STREAM_TRUNCATED",
  "PROVIDER_CIRCUIT_OPEN",
] as const;
/** Another model may have a larger window. */
const ASKING_THE_NEXT = [...PASSING, "PROVIDER_CONTEXT_TOO_LONG"] as const;
const LASTING = (Object.keys(ERROR_CODES) as ErrorCode[]).filter(
  (code) => code.startsWith("PROVIDER_") && !ASKING_THE_NEXT.some((one) => one === code),
);

/** Shows all, once `during` has ended. */
function fitting(during: (ref: ModelRef) => unknown): CallWindows {
  return {
    async fit(messages, ref) {
      await during(ref);
      return messages;
    },
    shorten: async () => null,
  };
}

const HALF = [text("Half"), "PROVIDER_STREAM_TRUNCATED"] as const;

/** Refuses every whole reply of the first provider. */
const REFUSE: AnyHook = {
  name: "refuse",
  event: "provider:after",
  priority: 50,
  policy: "closed",
  run: async ({ provider }) => {
    if (provider === "first") throw new ProviderError("PROVIDER_BAD_RESPONSE", "not this one");
  },
};

describe("the next model of the chain", () => {
  it.each(ASKING_THE_NEXT)("answers after %s, with its own model", async (code) => {
    const { asked, ask } = setUp({ first: code, second: ANSWER });
    const reply = await ask({ provider: "first", model: "big", fallbacks: ["second:small"] });
    expect(reply.text).toBe("fine");
    expect(asked).toEqual([
      { provider: "first", model: "big" },
      { provider: "second", model: "small" },
    ]);
  });

  it.each(LASTING)("is not asked after %s", async (code) => {
    const { asked, ask } = setUp({ first: code, second: ANSWER });
    await expect(ask({ provider: "first", fallbacks: ["second:small"] })).rejects.toMatchObject({ code });
    expect(asked).toEqual([{ provider: "first", model: undefined }]);
  });

  it("answers after two that failed, one after the other", async () => {
    const { asked, ask } = setUp({ first: "PROVIDER_OVERLOADED", second: "PROVIDER_TIMEOUT", third: ANSWER });
    const reply = await ask({ provider: "first", fallbacks: ["second:small", "third:tiny"] });
    expect(reply.text).toBe("fine");
    expect(asked.map(({ provider, model }) => `${provider}:${model ?? ""}`)).toEqual([
      "first:",
      "second:small",
      "third:tiny",
    ]);
  });

  it("may be another model of the same provider", async () => {
    const { asked, ask } = setUp({ first: "PROVIDER_RATE_LIMITED" });
    await expect(ask({ provider: "first", model: "big", fallbacks: ["first:small"] })).rejects.toThrow("first failed");
    expect(asked.map(({ model }) => model)).toEqual(["big", "small"]);
  });

  it("is the one whose call counts", async () => {
    const { answered, ask } = setUp({ first: "PROVIDER_OVERLOADED", second: ANSWER });
    await ask({ provider: "first", model: "big", fallbacks: ["second:small"] });
    expect(answered).toEqual([{ provider: "second", model: "scripted-1", costUsd: null }]);
  });

  it("is not there: the first failure is what is told", async () => {
    const { ask } = setUp({ first: "PROVIDER_OVERLOADED", second: "PROVIDER_TIMEOUT" });
    await expect(ask({ provider: "first", fallbacks: ["second:small"] })).rejects.toMatchObject({
      code: "PROVIDER_OVERLOADED",
    });
  });

  it("goes on from what one had said that failed in the middle of its reply", async () => {
    const { shown, said, interruptions, ask } = setUp({ first: HALF, second: ANSWER });
    const reply = await ask({ provider: "first", model: "big", fallbacks: ["second:small"] });
    expect(reply.text).toBe("fine");
    expect(said).toEqual(["Half", "fine"]);
    expect(interruptions).toEqual([{ model: "big", usage: { inputTokens: 0, outputTokens: 0 } }]);
    expect(shown[1]).toEqual([{ role: "user", content: "go on from Half" }]);
  });

  it("goes on where the second fails in the middle as well", async () => {
    const { shown, said, ask } = setUp({ first: HALF, second: HALF, third: ANSWER });
    expect((await ask({ provider: "first", fallbacks: ["second:small", "third:tiny"] })).text).toBe("fine");
    expect(said).toEqual(["Half", "Half", "fine"]);
    expect(shown[2]).toEqual([{ role: "user", content: "go on from HalfHalf" }]);
  });

  it("is not there: the text stays, and the failure of its model is reported", async () => {
    const { said, interruptions, ask } = setUp({ first: HALF, second: HALF });
    await expect(ask({ provider: "first", fallbacks: ["second:small"] })).rejects.toMatchObject({
      code: "PROVIDER_STREAM_TRUNCATED",
    });
    expect(said).toEqual(["Half", "Half"]);
    expect(interruptions).toHaveLength(1);
  });

  it("begins anew where only reasoning and a tool call had come", async () => {
    const chunks = [{ type: "reasoning", text: "Hm" }, toolCall("c1", "look"), text("")] as const;
    const { shown, interruptions, ask } = setUp({ first: [...chunks, "PROVIDER_TIMEOUT"], second: ANSWER });
    const reply = await ask({ provider: "first", fallbacks: ["second:small"] });
    expect(reply).toMatchObject({ text: "fine", toolCalls: [] });
    expect(interruptions).toEqual([]);
    expect(shown[1]).toEqual(shown[0]);
  });

  it("is not asked to go on from a reply that a request fault has ended", async () => {
    const { asked, ask } = setUp({ first: [text("Half"), "PROVIDER_REJECTED_REQUEST"], second: ANSWER });
    await expect(ask({ provider: "first", fallbacks: ["second:small"] })).rejects.toMatchObject({
      code: "PROVIDER_REJECTED_REQUEST",
    });
    expect(asked).toHaveLength(1);
  });

  it("goes on, and what the interrupted call has used counts where its provider has told it", async () => {
    const usage = { type: "usage", usage: { inputTokens: 7, outputTokens: 1 }, model: "big-1" } as const;
    const { answered, interruptions, ask } = setUp({
      first: [text("Half"), usage, "PROVIDER_TIMEOUT"],
      second: ANSWER,
    });
    await ask({ provider: "first", model: "big", fallbacks: ["second:small"] });
    expect(answered).toMatchObject([
      { provider: "first", model: "big-1" },
      { provider: "second", model: "scripted-1" },
    ]);
    expect(interruptions).toEqual([{ model: "big-1", usage: usage.usage }]);
  });

  it("is not asked after a closed provider:after hook has refused a reply that was shown", async () => {
    const { asked, ask } = setUp({ first: ANSWER, second: ANSWER }, [REFUSE]);
    await expect(ask({ provider: "first", fallbacks: ["second:small"] })).rejects.toMatchObject({
      code: "PROVIDER_BAD_RESPONSE",
    });
    expect(asked).toHaveLength(1);
  });

  it("is asked after a closed provider:after hook has refused a reply that nobody has seen", async () => {
    const { ask } = setUp({ first: [end()], second: ANSWER }, [REFUSE]);
    expect((await ask({ provider: "first", fallbacks: ["second:small"] })).text).toBe("fine");
  });
});

describe("what a call has used", () => {
  const FIRST = { provider: "first", model: "big", fallbacks: [] };
  const used = (inputTokens: number, outputTokens: number): ChatChunk => ({
    type: "usage",
    usage: { inputTokens, outputTokens },
    model: "big-1",
  });

  it("counts where the call is ended after its provider has told it", async () => {
    const stop = new AbortController();
    const chunks = function* (): Generator<ChatChunk> {
      yield used(100, 1);
      yield text("Half");
      yield used(100, 20);
      stop.abort(new RuntimeError("RUNTIME_TURN_ABORTED", "Stopped."));
      yield text("more");
    };
    const { counted, ask, circuits } = setUp({ first: chunks });
    await expect(ask(FIRST, stop.signal)).rejects.toMatchObject({ code: "RUNTIME_TURN_ABORTED" });
    expect(counted).toEqual([{ model: "big-1", inputTokens: 100, outputTokens: 20 }]);
    expect(circuits.report("first")).toEqual([]);
  });

  it("counts once, as its end says, where the stream goes on", async () => {
    const { counted, ask } = setUp({ first: [used(100, 1), text("fine"), used(100, 20), end()] });
    await ask(FIRST);
    expect(counted).toEqual([{ model: "scripted-1", inputTokens: 10, outputTokens: 5 }]);
  });

  it("counts once where a hook refuses the whole reply", async () => {
    const refused = setUp({ first: [used(100, 1), text("fine"), end()] }, [REFUSE]);
    await expect(refused.ask(FIRST)).rejects.toMatchObject({ code: "PROVIDER_BAD_RESPONSE" });
    expect(refused.counted).toHaveLength(1);
  });

  it("is nothing where the provider has told nothing", async () => {
    const { counted, ask } = setUp({ first: [used(0, 0), text("Half"), "PROVIDER_TIMEOUT"] });
    await expect(ask(FIRST)).rejects.toMatchObject({ code: "PROVIDER_TIMEOUT" });
    expect(counted).toEqual([]);
  });
});

describe("an answer that does not end", () => {
  /** Chunks of 100,000 characters, for ever. */
  function* forever(chunk: (long: string) => ChatChunk): Generator<ChatChunk> {
    for (;;) yield chunk("x".repeat(100_000));
  }
  const CHAIN = { provider: "first", model: "big", fallbacks: ["second:small"] };

  it.each([
    ["thinking", () => forever((long) => ({ type: "reasoning", text: long }))],
    ["arguments", () => forever((long) => toolCall("c1", "look", { long }))],
    ["calls", () => forever(() => toolCall("c1", "look"))],
  ])("is given up, and the next model of the chain is asked: %s", async (_what, chunks) => {
    const { shown, interruptions, ask } = setUp({ first: chunks, second: ANSWER });
    expect(await ask(CHAIN)).toMatchObject({ text: "fine", reasoning: "", toolCalls: [] });
    expect(interruptions).toEqual([]);
    expect(shown[1]).toEqual(shown[0]);
  });

  it("is given up, and no model goes on from so much text", async () => {
    const { asked, said, ask } = setUp({ first: () => forever(text), second: ANSWER });
    await expect(ask(CHAIN)).rejects.toMatchObject({
      code: "PROVIDER_BAD_RESPONSE",
      message: expect.stringContaining("more than 4,000,000 characters"),
    });
    expect(asked).toHaveLength(1);
    expect(said.join("")).toHaveLength(4_000_000);
  });

  it("goes on elsewhere from a short text, where only the rest of it has no end", async () => {
    const chunks = function* (): Generator<ChatChunk> {
      yield text("Half");
      yield* forever((long) => ({ type: "reasoning", text: long }));
    };
    const { shown, ask } = setUp({ first: chunks, second: ANSWER });
    expect((await ask(CHAIN)).text).toBe("fine");
    expect(shown[1]).toEqual([{ role: "user", content: "go on from Half" }]);
  });
});

describe("the circuit breaker of a model", () => {
  const FIRST = { provider: "first", model: "big", fallbacks: [] };

  async function fail(ask: (agent: typeof FIRST) => Promise<unknown>, times: number): Promise<void> {
    for (let n = 0; n < times; n++) await ask(FIRST).catch(() => undefined);
  }

  it("opens after five failed calls within a minute: the next one fails at once, and the chain goes on", async () => {
    const { asked, time, ask } = setUp({ first: "PROVIDER_OVERLOADED", second: ANSWER });
    await fail(ask, 5);
    time.ms = 10_000;
    await expect(ask(FIRST)).rejects.toMatchObject({
      code: "PROVIDER_CIRCUIT_OPEN",
      retryable: true,
      details: { retryAfterS: 20 },
    });
    expect((await ask({ ...FIRST, fallbacks: ["second:small"] })).text).toBe("fine");
    expect(asked.map(({ provider }) => provider)).toEqual([...Array(5).fill("first"), "second"]);
  });

  it("stays closed while no five failures are in one minute, whatever succeeds between them", async () => {
    const { asked, time, ask, circuits } = setUp({ first: "PROVIDER_OVERLOADED" });
    await fail(ask, 4);
    time.ms = 60_000;
    await fail(ask, 4);
    expect(asked).toHaveLength(8);
    expect(circuits.report("first")).toMatchObject([{ model: "big", state: "closed", failures: 4 }]);
    time.ms = 120_000;
    expect(circuits.report("first")).toEqual([]);
  });

  it("is another one for another model of the same provider", async () => {
    const { asked, ask } = setUp({ first: "PROVIDER_OVERLOADED" });
    await fail(ask, 6);
    await expect(ask({ ...FIRST, model: "small" })).rejects.toMatchObject({ code: "PROVIDER_OVERLOADED" });
    expect(asked).toHaveLength(6);
  });

  it("lets one probe through after 30 s, refuses others meanwhile, and closes when it succeeds", async () => {
    let steps: Steps = "PROVIDER_TIMEOUT";
    const { asked, time, ask, circuits } = setUp({ first: () => steps });
    await fail(ask, 5);
    time.ms = 29_999;
    await fail(ask, 1);
    expect(asked).toHaveLength(5);
    time.ms = 30_000;
    steps = ANSWER;
    const probe = ask(FIRST);
    await expect(ask(FIRST)).rejects.toMatchObject({ code: "PROVIDER_CIRCUIT_OPEN" });
    expect((await probe).text).toBe("fine");
    expect(circuits.report("first")).toEqual([]);
    steps = "PROVIDER_TIMEOUT";
    await fail(ask, 4);
    await expect(ask(FIRST)).rejects.toMatchObject({ code: "PROVIDER_TIMEOUT" });
  });

  it("opens again for 30 s when the probe fails", async () => {
    const { asked, time, ask, circuits } = setUp({ first: "PROVIDER_TIMEOUT" });
    await fail(ask, 5);
    time.ms = 31_000;
    await fail(ask, 2);
    expect(asked).toHaveLength(6);
    expect(circuits.report("first")).toEqual([
      { model: "big", state: "open", failures: 0, retry_after_s: 30, last_error: "PROVIDER_TIMEOUT" },
    ]);
  });

  it("counts neither a call that the user has ended nor one that the server has refused", async () => {
    const { asked, ask, circuits } = setUp({ first: "PROVIDER_REJECTED_REQUEST" });
    await fail(ask, 6);
    const stopped = AbortSignal.abort(new RuntimeError("RUNTIME_TURN_ABORTED", "Stopped."));
    for (let n = 0; n < 6; n++) await ask(FIRST, stopped).catch(() => undefined);
    expect(asked.length).toBeGreaterThan(6);
    expect(circuits.report("first")).toEqual([]);
  });

  it("takes a probe that the user has ended for none: the next call is one at once", async () => {
    let steps: Steps = "PROVIDER_TIMEOUT";
    const { time, ask, circuits } = setUp({ first: () => steps });
    await fail(ask, 5);
    time.ms = 30_000;
    const stopped = AbortSignal.abort(new RuntimeError("RUNTIME_TURN_ABORTED", "Stopped."));
    await expect(ask(FIRST, stopped)).rejects.toMatchObject({ code: "RUNTIME_TURN_ABORTED" });
    expect(circuits.report("first")).toMatchObject([{ state: "open", retry_after_s: 0 }]);
    steps = ANSWER;
    expect((await ask(FIRST)).text).toBe("fine");
  });

  it("is asked before the messages are fitted to the window: not for a model that is suspended or not there", async () => {
    const { ask } = setUp({ first: "PROVIDER_OVERLOADED", second: ANSWER });
    await fail(ask, 5);
    const fitted: string[] = [];
    const windows = fitting((ref) => fitted.push(ref.provider));
    expect((await ask({ ...FIRST, fallbacks: ["second:small"] }, undefined, windows)).text).toBe("fine");
    await expect(ask({ provider: "gone", fallbacks: [] }, undefined, windows)).rejects.toMatchObject({
      code: "PROVIDER_UNKNOWN",
    });
    expect(fitted).toEqual(["second"]);
  });

  it("lets the model itself be asked for what its window then holds, before the probe", async () => {
    let steps: Steps = "PROVIDER_TIMEOUT";
    const { asked, time, ask } = setUp({ first: () => steps });
    await fail(ask, 5);
    time.ms = 30_000;
    steps = ANSWER;
    expect(
      (
        await ask(
          FIRST,
          undefined,
          fitting(() => ask(FIRST)),
        )
      ).text,
    ).toBe("fine");
    expect(asked).toHaveLength(7);
  });

  it("takes a probe whose messages could not be fitted for none", async () => {
    let steps: Steps = "PROVIDER_TIMEOUT";
    const { time, ask, circuits } = setUp({ first: () => steps });
    await fail(ask, 5);
    time.ms = 30_000;
    steps = ANSWER;
    const stopped = new RuntimeError("RUNTIME_TURN_ABORTED", "Stopped.");
    await expect(
      ask(
        FIRST,
        undefined,
        fitting(() => Promise.reject(stopped)),
      ),
    ).rejects.toBe(stopped);
    expect(circuits.report("first")).toMatchObject([{ state: "open", retry_after_s: 0 }]);
    expect((await ask(FIRST)).text).toBe("fine");
  });

  it("counts a reply that broke off in the middle", async () => {
    const { ask, circuits } = setUp({ first: HALF });
    await fail(ask, 5);
    expect(circuits.report("first")).toMatchObject([{ state: "open", last_error: "PROVIDER_STREAM_TRUNCATED" }]);
  });
});
