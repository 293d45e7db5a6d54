import { expect, it } from "vitest";
import { ClaimLostError } from "../../../../runtime/app/claims.ts";
import { ModelUnavailableError } from "../../../../runtime/app/compaction/call-summarizer.ts";
import { failureOf } from "../../../../runtime/app/compaction/failure.ts";
import { MemoryError, ProviderError } from "../../../../runtime/contracts/errors.ts";

const first = { stopping: false, attempts: 0, canSendLess: true };
const overloaded = new ProviderError("PROVIDER_OVERLOADED", "busy");
const sql = (code: string) =>
  new MemoryError("MEMORY_QUERY_FAILED", "no", { cause: Object.assign(new Error("refused"), { code }) });

it.each<[string, unknown, Partial<typeof first>, object]>([
  ["another worker's claim", new ClaimLostError(), {}, { kind: "taken-over" }],
  [
    "another worker's summary",
    new MemoryError("MEMORY_CONFLICT", "stored"),
    { stopping: true },
    { kind: "taken-over" },
  ],
  ["a node that stops", new Error("aborted"), { stopping: true }, { kind: "ends-run" }],
  ["a store that is unavailable", new MemoryError("MEMORY_UNAVAILABLE", "gone"), {}, { kind: "ends-run" }],
  ["a statement that is wrong", sql("42703"), {}, { kind: "ends-run" }],
  [
    "a model that is unavailable",
    new ModelUnavailableError(overloaded),
    {},
    { kind: "model-unavailable", cause: overloaded },
  ],
  [
    "a prompt that is cut",
    new ModelUnavailableError(overloaded, { shorterMayDo: true }),
    {},
    { kind: "cut", cause: overloaded },
  ],
  ["a text that is too long", new ProviderError("PROVIDER_CONTEXT_TOO_LONG", "long"), {}, { kind: "too-long" }],
  [
    "a text that is too long however little is sent",
    new ProviderError("PROVIDER_CONTEXT_TOO_LONG", "long"),
    { canSendLess: false },
    { kind: "failed", attempts: 1, message: "long" },
  ],
  ["data that the store refuses", sql("22021"), {}, { kind: "failed", attempts: 1 }],
  [
    "a summary that is no good",
    new MemoryError("MEMORY_SUMMARY_UNUSABLE", "bad"),
    {},
    { kind: "failed", message: "bad" },
  ],
  ["an error of our own", new TypeError("oops"), {}, { kind: "failed", attempts: 1, message: "oops" }],
])("%s", (_name, error, more, expected) => {
  expect(failureOf(error, { ...first, ...more })).toMatchObject(expected);
});

it("is retried with growing pauses, and given up in the end", () => {
  const pauses: (number | null)[] = [];
  for (let attempts = 0; pauses.at(-1) !== null && attempts < 100; attempts++) {
    const failure = failureOf(new Error("x"), { ...first, attempts });
    if (failure.kind === "failed") pauses.push(failure.againInMs);
  }
  expect(pauses.at(-1)).toBeNull();
  const waits = pauses.slice(0, -1).map(Number);
  expect(waits.length).toBeGreaterThan(2);
  expect(waits).toEqual(waits.toSorted((a, b) => a - b));
});
