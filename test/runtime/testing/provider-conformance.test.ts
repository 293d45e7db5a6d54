import { AssertionError } from "node:assert";
import { describe, expect, test, vi } from "vitest";
import type { Message } from "../../../runtime/contracts/message.ts";
import type { ChatChunk, ChatOptions } from "../../../runtime/contracts/provider.ts";
import { type BackendStep, providerConformance } from "../../../runtime/testing/provider/index.ts";
import { harnessOf, Scripted } from "./support.ts";

/** The checks for authors of providers: a right provider passes them all, and each one finds a provider that is broken in its way. */

/** Changes what comes out of a right provider. */
function changing(change: (chunks: AsyncIterable<ChatChunk>) => AsyncIterable<ChatChunk>) {
  return class extends Scripted {
    override async *chatStream(messages: readonly Message[], options?: ChatOptions): AsyncGenerator<ChatChunk> {
      yield* change(super.chatStream(messages, options));
    }
  };
}

/** Leaves a part out of every request. */
function forgetting(part: string) {
  return class extends Scripted {
    protected override bodyOf(messages: readonly Message[], options: ChatOptions): string {
      return super.bodyOf(messages, options).replaceAll(part, "");
    }
  };
}

/** Says the same of every refusal. */
const careless = class extends Scripted {
  protected override refusal(): Error {
    return this.error("PROVIDER_BAD_RESPONSE");
  }
};

const lasting = class extends Scripted {
  protected override closeRequest(): void {
    // Goes on with its request.
  }
};

const withoutReason = class extends Scripted {
  override async *chatStream(messages: readonly Message[], options?: ChatOptions): AsyncGenerator<ChatChunk> {
    try {
      yield* super.chatStream(messages, options);
    } catch {
      throw new Error("aborted");
    }
  }
};

const deaf = class extends Scripted {
  override chatStream(messages: readonly Message[], { signal: _, ...options }: ChatOptions = {}) {
    return super.chatStream(messages, options);
  }
};

const BROKEN: Readonly<Record<string, readonly (new (script: readonly BackendStep[]) => Scripted)[]>> = {
  "has an id, a name, and a default model that can be changed": [
    class extends Scripted {
      override readonly name = "";
    },
    class extends Scripted {
      override setModel(): void {}
    },
  ],
  "ends a reply with exactly one end chunk, which has a reason, counts and a model": [
    changing(async function* (chunks) {
      for await (const chunk of chunks) if (chunk.type !== "end") yield chunk;
    }),
    changing(async function* (chunks) {
      for await (const chunk of chunks) yield* chunk.type === "end" ? [chunk, chunk] : [chunk];
    }),
    changing(async function* (chunks) {
      for await (const chunk of chunks) {
        yield chunk.type === "end" ? { ...chunk, usage: { inputTokens: Number.NaN, outputTokens: 0 } } : chunk;
      }
    }),
  ],
  "passes text on piece by piece, whole and in order": [
    changing(async function* (chunks) {
      let text = "";
      for await (const chunk of chunks) {
        if (chunk.type === "text") text += chunk.text;
        else yield* [{ type: "text", text } as const, chunk];
      }
    }),
    changing(async function* (chunks) {
      for await (const chunk of chunks) yield chunk.type === "text" ? { ...chunk, text: chunk.text.trim() } : chunk;
    }),
  ],
  "gives the same reply by chat, where it has that": [
    class extends Scripted {
      override async chat(messages: readonly Message[], options?: ChatOptions) {
        return { ...(await super.chat(messages, options)), text: "something else" };
      }
    },
  ],
  "asks the model of the call, else its default": [
    class extends Scripted {
      protected override modelOf(): string {
        return this.getModel();
      }
    },
  ],
  "sends the system text, the turn's context, what memory found and the whole conversation": [
    forgetting("turn-context"),
    forgetting("found-in-memory"),
    forgetting("first-reply"),
  ],
  "sends images of a message": [forgetting("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk")],
  "says that an answer came to its limit, and counts tokens as the backend does": [
    changing(async function* (chunks) {
      for await (const chunk of chunks) yield chunk.type === "end" ? { ...chunk, stopReason: "end" } : chunk;
    }),
    changing(async function* (chunks) {
      for await (const chunk of chunks) {
        yield chunk.type === "end" ? { ...chunk, usage: { inputTokens: 0, outputTokens: 0 } } : chunk;
      }
    }),
  ],
  "gives parallel calls whole, each with an id of its own": [
    class extends Scripted {
      protected override callId(): string {
        return "call";
      }
    },
    class extends Scripted {
      protected override argumentsOf(): Record<string, unknown> {
        return {};
      }
    },
    forgetting("Runs a command."),
  ],
  "goes on from the results of its calls": [
    forgetting("result-1"),
    class extends Scripted {
      protected override bodyOf(messages: readonly Message[], options: ChatOptions): string {
        if (messages.some(({ role }) => role === "tool")) throw this.error("PROVIDER_REJECTED_REQUEST");
        return super.bodyOf(messages, options);
      }
    },
  ],
  "takes over from another provider in the middle of a tool loop, without that one's state": [
    class extends Scripted {
      protected override bodyOf(messages: readonly Message[]): string {
        return JSON.stringify(messages);
      }
    },
  ],
  "answers a call whose result is missing": [
    class extends Scripted {
      protected override bodyOf(messages: readonly Message[], options: ChatOptions): string {
        const [asked, answered] = ["assistant", "tool"].map((role) => messages.filter((one) => one.role === role));
        if (asked?.length !== answered?.length) throw this.error("PROVIDER_REJECTED_REQUEST");
        return super.bodyOf(messages, options);
      }
    },
  ],
  "brings a call along whose arguments are no JSON, with all that the model wrote, or with nothing of it": [
    class extends Scripted {
      protected override argumentsOf(): Record<string, unknown> {
        return { command: "ls" };
      }
    },
    class extends Scripted {
      protected override argumentsOf(json: string): Record<string, unknown> {
        return JSON.parse(json);
      }
    },
  ],
  "rejects with the signal's reason while it streams, and ends the request": [lasting, withoutReason],
  "rejects with the signal's reason before the first byte, and ends the request": [lasting, withoutReason],
  "does nothing for a signal that is aborted already": [deaf],
  "ends the request when its reader stops reading": [lasting],
  ...Object.fromEntries(["401", "403", "400", "404", "413", "500", "503"].map((status) => [status, [careless]])),
  "passes on how long a rate limit lasts, and does not wait for it": [
    careless,
    class extends Scripted {
      protected override refusal(): Error {
        return this.error("PROVIDER_RATE_LIMITED");
      }
    },
  ],
  "reports a stream that breaks off, behind the text that came": [
    changing(async function* (chunks) {
      try {
        yield* chunks;
      } catch {
        yield { type: "end", stopReason: "end", usage: { inputTokens: 0, outputTokens: 0 }, model: "m" };
      }
    }),
    changing(async function* (chunks) {
      const all: ChatChunk[] = [];
      for await (const chunk of chunks) all.push(chunk);
      yield* all;
    }),
  ],
  "reports a backend that is not there, and is not available then": [
    withoutReason,
    class extends Scripted {
      override isAvailable(): Promise<boolean> {
        return Promise.reject(new Error("not there"));
      }
    },
  ],
  "says that it is available": [
    class extends Scripted {
      override isAvailable(): Promise<boolean> {
        return Promise.resolve(false);
      }
    },
  ],
  "lists its models until the signal ends that, where it has a list": [
    class extends Scripted {
      override async listModels() {
        return { names: ["a"], complete: true };
      }
    },
    class extends Scripted {
      override async listModels(signal: AbortSignal) {
        signal.throwIfAborted();
        return { names: [""], complete: true };
      }
    },
  ],
};

const checks = providerConformance(harnessOf(Scripted));
const brokenFor = (name: string) => BROKEN[/HTTP (\d+)/.exec(name)?.[1] ?? name] ?? [];

describe("a right provider", () => {
  for (const check of checks) test(check.name, check.run);
});

describe("a broken provider is found by", () => {
  test.each(checks.flatMap(({ name }) => brokenFor(name).map((Made, n) => [name, n, Made] as const)))(
    "%s (%i)",
    async (name, _n, Made) => {
      // What never comes is given up at once.
      vi.spyOn(Date, "now").mockImplementation(() => performance.now() * 10_000);
      const check = providerConformance(harnessOf(Made)).find((one) => one.name === name);
      await expect(check?.run()).rejects.toThrow();
      vi.restoreAllMocks();
    },
  );

  test("each check", () => {
    for (const { name } of checks) expect(brokenFor(name), name).not.toHaveLength(0);
  });
});

test("a check that fails says what is wrong", async () => {
  const [check] = providerConformance(
    harnessOf(
      class extends Scripted {
        override readonly id = "";
      },
    ),
  );
  const error: unknown = await check?.run().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(AssertionError);
  expect(String(error)).toContain("the id must not be empty");
});

test("checks of what a provider lacks are left out", () => {
  const names = providerConformance({ ...harnessOf(Scripted), lacks: ["tools"] }).map(({ name }) => name);
  expect(names).not.toContain("gives parallel calls whole, each with an id of its own");
  expect(names).toContain("sends images of a message");
});
