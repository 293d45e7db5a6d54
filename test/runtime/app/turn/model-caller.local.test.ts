/** A reply of a model: which failures lead to the next one of the chain, and what the next one is asked for. */

import { describe, expect, it } from "vitest";
import { createHookPipeline } from "../../../../runtime/app/hooks.ts";
import { createModelCaller } from "../../../../runtime/app/turn/model-caller.ts";
import { CairnError, ERROR_CODES, type ErrorCode, ProviderError } from "../../../../runtime/contracts/errors.ts";
import type { AnyHook, TurnInfo } from "../../../../runtime/contracts/hooks.ts";
import type { ChatChunk, ChatOptions, Provider } from "../../../../runtime/contracts/provider.ts";
import { modelChain } from "../../../../runtime/domain/model-ref.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";
import { end, text } from "../../../support/turn-harness.ts";

type Behaviour = ErrorCode | readonly (ChatChunk | ErrorCode)[];

function setUp(behaviours: Readonly<Record<string, Behaviour>>, hooks: readonly AnyHook[] = []) {
  const asked: { provider: string; model: string | undefined }[] = [];
  const providers = new Map(
    Object.entries(behaviours).map(([id, behaviour]): [string, Provider] => [
      id,
      {
        id,
        name: id,
        async *chatStream(_messages, options: ChatOptions = {}) {
          asked.push({ provider: id, model: options.model });
          for (const step of typeof behaviour === "string" ? [behaviour] : behaviour) {
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
  const call = createModelCaller({ providers, hooks: pipeline, redact: (value) => value, logger: quietLogger });
  const said: string[] = [];
  const answered: object[] = [];
  return {
    asked,
    said,
    answered,
    ask: (agent: { provider: string; model?: string; fallbacks: readonly string[] }) =>
      call({
        turn: { turnId: "t" } as TurnInfo,
        chain: modelChain(agent, undefined, new Set(providers.keys())),
        messages: [{ role: "user", content: "hi" }],
        options: {},
        signal: new AbortController().signal,
        onText: (part) => said.push(part),
        onReasoning: () => undefined,
        onAnswered: ({ provider, model, costUsd }) => answered.push({ provider, model, costUsd }),
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
] as const;
const LASTING = (Object.keys(ERROR_CODES) as ErrorCode[]).filter(
  (code) => code.startsWith("PROVIDER_") && !PASSING.some((one) => one === code),
);

describe("the next model of the chain", () => {
  it.each(PASSING)("answers after %s, with its own model", async (code) => {
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

  it("is not asked after the first streamed chunk", async () => {
    const { asked, said, ask } = setUp({ first: [text("Half"), "PROVIDER_STREAM_TRUNCATED"], second: ANSWER });
    await expect(ask({ provider: "first", fallbacks: ["second:small"] })).rejects.toMatchObject({
      code: "PROVIDER_STREAM_TRUNCATED",
    });
    expect(said).toEqual(["Half"]);
    expect(asked).toHaveLength(1);
  });

  it("is asked after a closed provider:after hook has refused a reply that nobody has seen", async () => {
    const refuse: AnyHook = {
      name: "refuse",
      event: "provider:after",
      priority: 50,
      policy: "closed",
      run: async ({ provider }) => {
        if (provider === "first") throw new ProviderError("PROVIDER_BAD_RESPONSE", "not this one");
      },
    };
    const { ask } = setUp({ first: [end()], second: ANSWER }, [refuse]);
    expect((await ask({ provider: "first", fallbacks: ["second:small"] })).text).toBe("fine");
  });
});
