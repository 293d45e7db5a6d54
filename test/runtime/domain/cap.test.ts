import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CAP, cap, sanitize, sanitizeJson } from "../../../runtime/domain/cap.ts";

/** Any sequence of UTF-16 code units, lone surrogates and NUL included. */
const anyText = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(0, 0xd83d, 0xde00)), { maxLength: 60 })
  .map((units) => String.fromCharCode(...units));
const wellFormed = fc.string({ unit: "grapheme", maxLength: 60 });

describe("cap", () => {
  it("keeps a text of exactly the limit and cuts one more", () => {
    expect(cap("x".repeat(CAP))).toEqual({ text: "x".repeat(CAP), truncated: false, fullLength: CAP });
    expect(cap("x".repeat(CAP + 1))).toEqual({ text: "x".repeat(CAP), truncated: true, fullLength: CAP + 1 });
  });

  it("gives up one unit rather than half of a pair", () => {
    expect(cap("ab😀", 3).text).toBe("ab");
    expect(cap("ab😀c", 4).text).toBe("ab😀");
  });

  it("answers the longest well-formed head within the limit", () => {
    fc.assert(
      fc.property(wellFormed, fc.nat(80), (text, limit) => {
        const { text: head, truncated, fullLength } = cap(text, limit);
        expect(text.startsWith(head)).toBe(true);
        expect(head.isWellFormed()).toBe(true);
        expect(head.length).toBeLessThanOrEqual(limit);
        expect(fullLength).toBe(text.length);
        expect(truncated).toBe(text.length > limit);
        if (truncated) expect(head.length).toBeGreaterThanOrEqual(Math.max(0, limit - 1));
        else expect(head).toBe(text);
      }),
    );
  });
});

describe("sanitize", () => {
  it("makes any text storable without changing its length, and changes no clean text", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const clean = sanitize(text);
        expect(clean).toHaveLength(text.length);
        expect(clean.isWellFormed()).toBe(true);
        expect(clean).not.toContain("\0");
        expect(sanitize(clean)).toBe(clean);
        if (text.isWellFormed() && !text.includes("\0")) expect(clean).toBe(text);
      }),
    );
  });
});

describe("sanitizeJson", () => {
  it("leaves clean JSON as JSON carries it", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.stringify(sanitizeJson(value))).toBe(JSON.stringify(value));
      }),
    );
  });

  it("cleans strings and keys at every depth and drops what JSON has no word for", () => {
    const value = { "a\0": [{ b: "\ud800" }], gone: undefined, when: new Date(0), big: 7n };
    expect(JSON.stringify(sanitizeJson(value))).toBe(
      '{"a\ufffd":[{"b":"\ufffd"}],"when":"1970-01-01T00:00:00.000Z","big":"7"}',
    );
  });

  it("keeps a member named __proto__", () => {
    expect(JSON.stringify(sanitizeJson(JSON.parse('{"__proto__":{"x":1}}')))).toBe('{"__proto__":{"x":1}}');
  });

  it("refuses what nests too deep", () => {
    const deep = JSON.parse(`${"[".repeat(600)}${"]".repeat(600)}`);
    expect(() => sanitizeJson(deep)).toThrow(RangeError);
  });
});
