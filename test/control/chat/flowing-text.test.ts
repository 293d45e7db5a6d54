import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { flowingText } from "../../../control/chat/flowing-text.ts";

/** As a terminal of so many columns shows the text, however it was cut into pieces. */
function flow(text: string, columns: number | undefined, size = 3): string {
  const flowing = flowingText(() => columns);
  const letters = [...text];
  let shown = "";
  for (let at = 0; at < letters.length; at += size) shown += flowing.push(letters.slice(at, at + size).join(""));
  return shown + flowing.end();
}

describe("text that comes in pieces", () => {
  it("is broken between words", () => {
    expect(flow("Grandmother keeps her recipe for miso in the drawer.", 30)).toBe(
      "Grandmother keeps her recipe\nfor miso in the drawer.",
    );
  });

  it("keeps its own lines, indents and blanks, and is left alone where there is no terminal", () => {
    const text = "- one\n  - two  \n\n  three";
    expect(flow(text, 40)).toBe(text);
    const long = "many words ".repeat(20);
    expect(flow(long, undefined)).toBe(long);
    expect(flow(long, 0)).toBe(long);
  });

  it("leaves code between fences, and addresses, to be copied", () => {
    const code = "```sh\ncurl -X POST http://127.0.0.1:7433/v1/chat/completions -d '{}'\n```\n";
    expect(flow(code, 30)).toBe(code);
    const address = "http://127.0.0.1:7433/a/very/long/address/that/fits/on/no/line/of/this/terminal";
    expect(flow(`see ${address}`, 30)).toBe(`see ${address}`);
    expect(flow(`${code}and words behind it that are longer`, 30)).toBe(`${code}and words behind it that are\nlonger`);
  });

  it("counts the columns that letters take", () => {
    expect(flow("\u5473\u564c\u6c41".repeat(8), 24)).toBe(
      `${"\u5473\u564c\u6c41".repeat(4)}\n${"\u5473\u564c\u6c41".repeat(4)}`,
    );
    expect(flow(`${"e\u0301".repeat(12)} ${"e\u0301".repeat(11)}`, 24)).toBe(
      `${"e\u0301".repeat(12)} ${"e\u0301".repeat(11)}`,
    );
  });

  it("loses and adds nothing but ends of lines, however it is cut", () => {
    const words = fc.array(fc.stringMatching(/^[a-z`~. \n]{0,20}$/), { maxLength: 20 }).map((parts) => parts.join(" "));
    fc.assert(
      fc.property(words, fc.integer({ min: 24, max: 60 }), fc.integer({ min: 1, max: 9 }), (text, columns, size) => {
        const shown = flow(text, columns, size);
        expect(shown.replaceAll(/\s/g, "")).toBe(text.replaceAll(/\s/g, ""));
        expect(shown).toBe(flow(text, columns, 1));
      }),
    );
  });
});
