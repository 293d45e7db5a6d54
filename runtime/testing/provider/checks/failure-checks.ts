import assert from "node:assert/strict";
import type { ChatChunk } from "../../../contracts/provider.ts";
import { asks, assertFailure, type CheckDefinition, failureOf, read, textIn } from "../support.ts";

/** How what goes wrong is reported: by a ProviderError with a code that says what a caller can do. */

const TEXT = ["one ", "two ", "three ", "four ", "five ", "six ", "seven ", "eight "];

/** By status: the codes that may stand for it, and whether the same request may succeed later. */
const REFUSALS = [
  [401, ["PROVIDER_UNAUTHORIZED"], false],
  [403, ["PROVIDER_UNAUTHORIZED"], false],
  [400, ["PROVIDER_REJECTED_REQUEST"], false],
  [404, ["PROVIDER_REJECTED_REQUEST"], false],
  [413, ["PROVIDER_CONTEXT_TOO_LONG"], false],
  [500, ["PROVIDER_SERVER_ERROR"], true],
  [503, ["PROVIDER_OVERLOADED"], true],
] as const;

export const FAILURE_CHECKS: readonly CheckDefinition[] = [
  ...REFUSALS.map(
    ([status, codes, retryable]): CheckDefinition => ({
      name: `reports HTTP ${status} as ${codes.join(" or ")}`,
      needs: ["server"],
      script: [{ kind: "refuse", status }],
      async run({ provider }) {
        assertFailure(await failureOf(read(provider, asks("hello"))), codes, retryable);
      },
    }),
  ),
  {
    name: "passes on how long a rate limit lasts, and does not wait for it",
    needs: ["server"],
    script: [{ kind: "refuse", status: 429, retryAfterS: 42 }],
    async run({ provider, requests }) {
      const error = await failureOf(read(provider, asks("hello")));
      assertFailure(error, ["PROVIDER_RATE_LIMITED"], true);
      const details = error instanceof Error && "details" in error ? error.details : undefined;
      assert.deepEqual(
        typeof details === "object" && details !== null && "retryAfterS" in details ? details.retryAfterS : undefined,
        42,
        "details.retryAfterS",
      );
      assert.equal(requests().length, 1, "requests that were sent");
    },
  },
  {
    name: "reports a stream that breaks off, behind the text that came",
    needs: ["server"],
    script: [{ kind: "break", text: TEXT }],
    async run({ provider }) {
      const seen: ChatChunk[] = [];
      const error = await failureOf(
        (async () => {
          for await (const chunk of provider.chatStream(asks("hello"))) seen.push(chunk);
        })(),
      );
      assertFailure(error, ["PROVIDER_STREAM_TRUNCATED"], true);
      assert(TEXT.join("").startsWith(textIn(seen)) && textIn(seen) !== "", "the text that came has to be passed on");
      assert(!seen.some(({ type }) => type === "end"), "a stream that breaks off has no end chunk");
    },
  },
  {
    name: "reports a backend that is not there, and is not available then",
    needs: ["server"],
    script: [{ kind: "answer", text: TEXT }],
    async run({ provider, close }) {
      await close();
      assertFailure(await failureOf(read(provider, asks("hello"))), ["PROVIDER_UNREACHABLE"], true);
      assert.equal(typeof (await provider.isAvailable()), "boolean", "isAvailable must never reject");
    },
  },
  {
    name: "says that it is available",
    needs: [],
    script: [{ kind: "answer", text: TEXT }],
    async run({ provider }) {
      assert.equal(await provider.isAvailable(), true, "isAvailable with a backend that answers");
    },
  },
  {
    name: "lists its models until the signal ends that, where it has a list",
    needs: ["server"],
    script: [{ kind: "answer", text: TEXT }],
    async run({ provider }) {
      if (provider.listModels === undefined) return;
      const listed = await provider.listModels(new AbortController().signal);
      if (listed !== null)
        assert(
          listed.names.every((name) => name !== ""),
          "no name of a model may be empty",
        );
      const reason = new Error("stopped by a check");
      assert.equal(
        await failureOf(provider.listModels(AbortSignal.abort(reason))),
        reason,
        "what an abort rejects with",
      );
    },
  },
];
