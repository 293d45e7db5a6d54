import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ArchiveLines, type ArchivePart, FORMAT, linesOf, readArchive } from "../../../runtime/files/memory-archive.ts";

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}

const header = { format: FORMAT, version: "1", schema_version: 4, created_at: "2026-01-01T00:00:00.000Z" };

function archiveOf(sections: Readonly<Record<string, readonly string[]>>): string[] {
  const lines = new ArchiveLines();
  const all = [lines.header(header)];
  for (const [name, rows] of Object.entries(sections)) {
    all.push(lines.start(name, ["id"]), ...rows.map((row) => lines.line(row)), lines.end());
  }
  return [...all, lines.manifest()];
}

const rows = fc.array(
  fc.string().map((text) => JSON.stringify({ id: text })),
  { maxLength: 5 },
);
const sections = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), rows, { maxKeys: 4 });

describe("linesOf", () => {
  it("finds the lines of any text, however it is cut into pieces", async () => {
    const line = fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\n", "\r\u2028"));
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1 }), fc.integer({ min: 1, max: 7 }), async (lines, size) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(""));
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
          bytes.subarray(n * size, (n + 1) * size),
        );
        expect(await collect(linesOf(each(pieces)))).toEqual(lines.map((text) => text.toWellFormed()));
      }),
    );
  });
});

describe("readArchive", () => {
  it("reads what was written", async () => {
    await fc.assert(
      fc.asyncProperty(sections, async (content) => {
        const read: Record<string, string[]> = {};
        let current = "";
        const parts: ArchivePart[] = await collect(readArchive(each(archiveOf(content))));
        for (const part of parts) {
          if (part.part === "section") {
            current = part.name;
            read[current] = [];
          }
          if (part.part === "line") read[current]?.push(part.line);
        }
        expect(parts[0]).toEqual({ part: "header", header });
        expect(read).toEqual(content);
      }),
    );
  });

  it("refuses an archive of which any line is missing, doubled or changed", async () => {
    await fc.assert(
      fc.asyncProperty(sections, fc.nat(), fc.constantFrom("drop", "double", "change"), async (content, at, how) => {
        const lines = archiveOf(content);
        const index = at % lines.length;
        const line = lines[index] ?? "";
        const changed = { drop: [], double: [line, line], change: [line.replace(/[a-z0-9](?=[^a-z0-9]*$)/, "Z")] }[how];
        fc.pre(changed[0] !== line || how !== "change");
        lines.splice(index, 1, ...changed);
        await expect(collect(readArchive(each(lines)))).rejects.toMatchObject({ code: "MEMORY_ARCHIVE_INVALID" });
      }),
    );
  });
});
