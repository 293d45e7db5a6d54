import fc from "fast-check";
import { expect, it } from "vitest";
import { createOutputWindow } from "../../../../runtime/plugins/tools/shell/output-window.ts";

function rendered(text: string, maxBytes: number, chunkBytes: number): string {
  const window = createOutputWindow(maxBytes);
  const bytes = Buffer.from(text, "utf8");
  for (let at = 0; at < bytes.length; at += chunkBytes) window.add(bytes.subarray(at, at + chunkBytes));
  return window.render();
}

it("keeps a short output as it is, however it arrives", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), fc.integer({ min: 1, max: 50 }), (text, chunk) => {
      expect(rendered(text, 10_000, chunk)).toBe(text.toWellFormed());
    }),
  );
});

it("keeps the beginning and the end, whole characters only, and says exactly what is missing", () => {
  const mark = /\n\.\.\. \((\d+) bytes of (\d+) left out here\) \.\.\.\n/;
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", "é", "€", "😀"), minLength: 300, maxLength: 2_000 }),
      fc.integer({ min: 20, max: 250 }),
      fc.integer({ min: 1, max: 300 }),
      (text, maxBytes, chunk) => {
        const output = rendered(text, maxBytes, chunk);
        const [head = "", omitted, total, tail = ""] = output.split(mark);
        expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
        expect(Number(total)).toBe(Buffer.byteLength(text));
        expect(Buffer.byteLength(head) + Buffer.byteLength(tail) + Number(omitted)).toBe(Number(total));
        expect(Buffer.byteLength(head) + Buffer.byteLength(tail)).toBeLessThanOrEqual(maxBytes);
        expect(Buffer.byteLength(head) + Buffer.byteLength(tail)).toBeGreaterThan(maxBytes - 10);
      },
    ),
  );
});
