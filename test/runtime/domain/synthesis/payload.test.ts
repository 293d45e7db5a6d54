import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shortenText, shortenValue } from "../../../../runtime/domain/synthesis/payload.ts";

const NOTE = /\n\[\.\.\. (\d+) characters left out \.\.\.\]\n/;

describe("shortenText", () => {
  it("keeps what fits as it is", () => {
    expect(shortenText("short", 5)).toBe("short");
  });

  it("says where and how much is missing, keeps head and end, and breaks no character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 400 }), fc.integer({ min: 2, max: 60 }), (text, limit) => {
        const shown = shortenText(text, limit);
        if (text.length <= limit) {
          expect(shown).toBe(text);
          return;
        }
        const note = NOTE.exec(shown);
        const [head = "", tail = ""] = shown.split(note?.[0] ?? "\0");
        expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
        expect(head.length + tail.length + Number(note?.[1])).toBe(text.length);
        expect(head.length + tail.length).toBeLessThanOrEqual(limit);
        expect(shown.isWellFormed()).toBe(text.isWellFormed());
      }),
    );
  });
});

describe("shortenValue", () => {
  it("shows the names of all fields where one text is huge", () => {
    const shown = shortenValue({ path: "src/app.ts", content: "x".repeat(1_000_000), mode: "w" }, 4_000);
    expect(shown).toContain('"path": "src/app.ts"');
    expect(shown).toContain('"mode": "w"');
    expect(shown).toMatch(/\d+ characters left out/);
    expect(shown.length).toBeLessThan(4_200);
  });

  it("counts the items that a long list leaves out", () => {
    const shown = shortenValue({ ids: Array.from({ length: 10_000 }, (_, n) => n) }, 2_000);
    expect(shown).toMatch(/99\d\d more items left out/);
  });

  it("is bounded for any JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 20 }), fc.integer({ min: 100, max: 1_000 }), (value, limit) => {
        expect(shortenValue(value, limit).length).toBeLessThanOrEqual(limit + 60);
      }),
    );
  });
});
