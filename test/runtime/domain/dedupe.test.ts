import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, contentKey, dedupeKey, eventKey, type Said, turnKey } from "../../../runtime/domain/dedupe.ts";

const text = fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom("", '"', "null", "\0", "\ud800", "\ufffd", "a,b"));
const said: fc.Arbitrary<Said> = fc.record(
  {
    role: fc.constantFrom("user", "assistant", "tool"),
    content: text,
    toolName: fc.option(text),
    toolArgs: fc.option(fc.jsonValue({ maxDepth: 2 })),
    toolResult: fc.option(text),
  },
  { requiredKeys: ["role", "content"] },
);
const domains = ["append", "ingest", "capture", "turn"] as const;

/** What makes two messages the same: absent and null are one, everything else counts. */
function identity({ role, content, toolName, toolArgs, toolResult }: Said): string {
  return JSON.stringify([role, content, toolName ?? null, canonicalJson(toolArgs ?? null), toolResult ?? null]);
}

describe("contentKey", () => {
  it("is equal for equal messages and different for different ones", () => {
    fc.assert(
      fc.property(said, said, fc.constantFrom(...domains), (a, b, domain) => {
        const equal = identity(a) === identity(b);
        expect(contentKey(a, domain, 1) === contentKey(b, domain, 1)).toBe(equal);
      }),
    );
  });

  it("never confuses what stands in one field with what stands in the next", () => {
    const a = contentKey({ role: "user", content: "x", toolName: "y" }, "append");
    const b = contentKey({ role: "user", content: "xy", toolName: "" }, "append");
    const c = contentKey({ role: "user", content: "x", toolResult: "y" }, "append");
    expect(new Set([a, b, c]).size).toBe(3);
  });

  it("tells two calls of one tool apart by their arguments and results", () => {
    const call = { role: "assistant", content: "", toolName: "shell", toolArgs: { command: "ls" }, toolResult: "a" };
    const keys = [call, { ...call, toolArgs: { command: "pwd" } }, { ...call, toolResult: "b" }].map((one) =>
      contentKey(one, "capture"),
    );
    expect(new Set(keys).size).toBe(3);
  });

  it("is of its domain, and in a transcript of its ordinal", () => {
    const one = { role: "user", content: "same" };
    expect(new Set(domains.map((domain) => contentKey(one, domain))).size).toBe(domains.length);
    expect(contentKey(one, "ingest", 0)).not.toBe(contentKey(one, "ingest", 1));
    expect(contentKey(one, "append", 0)).toBe(contentKey(one, "append", 1));
  });

  it("differs for texts that differ only after the cap", () => {
    const long = "x".repeat(16_000);
    expect(contentKey({ role: "user", content: `${long}a` }, "append")).not.toBe(
      contentKey({ role: "user", content: `${long}b` }, "append"),
    );
  });
});

describe("eventKey", () => {
  it("takes a blank event id for an absent one", () => {
    for (const blank of [undefined, null, "", " ", "\t\n"]) expect(eventKey(blank)).toBeUndefined();
    const one = { role: "user", content: "x" };
    expect(dedupeKey(one, { domain: "append", eventId: "  " })).toBe(contentKey(one, "append"));
  });

  it("is different for different ids, bounded in length, and storable", () => {
    const id = fc.oneof(
      fc.string({ unit: "binary", minLength: 1, maxLength: 300 }),
      fc.constantFrom("a\0", "a\ud800", "a\ufffd"),
    );
    fc.assert(
      fc.property(id, id, (a, b) => {
        fc.pre(a.trim() !== "" && b.trim() !== "");
        expect(eventKey(a) === eventKey(b)).toBe(a === b);
        const key = eventKey(a) ?? "";
        expect(key.length).toBeLessThanOrEqual(210);
        expect(key).not.toContain("\0");
        expect(key.isWellFormed()).toBe(true);
      }),
    );
  });

  it("can never be the key of a hash or of a turn", () => {
    const one = { role: "user", content: "x" };
    expect(eventKey(contentKey(one, "append"))).not.toBe(contentKey(one, "append"));
    expect(eventKey(turnKey("t", 1))).not.toBe(turnKey("t", 1));
  });
});

describe("canonicalJson", () => {
  it("does not depend on the order of members", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 })), (object) => {
        const reversed = Object.fromEntries(Object.entries(object).reverse());
        expect(canonicalJson(reversed)).toBe(canonicalJson(object));
      }),
    );
  });

  it("is JSON of the same value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});
