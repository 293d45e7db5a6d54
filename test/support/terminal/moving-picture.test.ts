import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../../scripts/lib/paths.js";
import { drawnRows, drawnRuns } from "./drawn.ts";
import { movingPicture } from "./moving-picture.ts";

const SIZE = { columns: 20, rows: 4 };

describe("what is drawn on a terminal", () => {
  it("is what was not erased, and what has scrolled away", async () => {
    expect(await drawnRows("one\r\ntwo\u001b[2K\u001b[GTWO\r\n3\r\n4\r\n5\r\n\r\n", SIZE)).toEqual([
      "one",
      "TWO",
      "3",
      "4",
      "5",
    ]);
  });

  it("has the looks of its stretches", async () => {
    const [row] = await drawnRuns("\u001b[1mbold\u001b[22m \u001b[32mgreen\u001b[39m", SIZE);
    expect(row?.map(({ text, colour, bold }) => [text.trimEnd(), colour, bold])).toEqual([
      ["bold", null, true],
      ["", null, false],
      ["green", 2, false],
      ["", null, false],
    ]);
  });

  it("becomes frames of one picture, which says what they said", async () => {
    const frame = async (text: string) => ({ rows: await drawnRuns(text, SIZE), seconds: 2 });
    const svg = movingPicture([await frame("a < b"), await frame("& so on")], SIZE);
    expect(svg.match(/<g id="f\d+">/g)).toEqual(['<g id="f0">', '<g id="f1">']);
    expect(svg).toContain("a &lt; b");
    expect(svg).toContain("&amp; so on");
    expect(svg).toContain("prefers-reduced-motion");
    expect(svg).toContain("text{white-space:pre;");
  });
});

it("the README shows the recording of the first minute, which is small", async () => {
  const picture = "docs/first-minute.svg";
  expect(await readFile(join(ROOT, "README.md"), "utf8")).toContain(`](${picture})`);
  expect(await readFile(join(ROOT, picture), "utf8")).toContain("text{white-space:pre;");
  expect((await stat(join(ROOT, picture))).size).toBeLessThan(100_000);
  expect(await readFile(join(ROOT, picture), "utf8")).not.toMatch(/\/(?:tmp|root|work|home)\//);
});
