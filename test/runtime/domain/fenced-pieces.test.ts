import fc from "fast-check";
import type { Code, Nodes } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { expect, it } from "vitest";
import { splitMarkdown } from "../../../runtime/domain/fenced-pieces.ts";

/** Lines of prose and of code, with fences of both kinds in and out of order. */
const line = fc.oneof(
  fc.string({ maxLength: 120 }),
  fc.string({ unit: "grapheme", maxLength: 60 }),
  fc.constantFrom(
    "```",
    "```ts",
    "~~~",
    "````",
    "  ```",
    "    ```",
    "```js with words",
    "```npm i``` installs it.",
    "> ```js",
    "> ```",
    "> quoted",
    "> > ~~~",
    "a ``` b",
    "",
    `${"`".repeat(80)}`,
  ),
);
const text = fc.array(line, { maxLength: 60 }).map((lines) => lines.join("\n"));

/** Prose and code in quotes of three depths, with lines that are longer than a message. */
const quotedLine = fc
  .tuple(
    fc.constantFrom("", "", "> ", ">> ", "> > ", ">>> "),
    fc.oneof(
      fc.constantFrom("```", "```ts", "~~~", "````", " ```", "", "words of prose"),
      fc.integer({ min: 1, max: 450 }).map((length) => "x".repeat(length)),
      fc.integer({ min: 1, max: 60 }).map((count) => "some words. ".repeat(count).trim()),
    ),
  )
  .map(([quote, words]) => `${quote}${words}`);
const quotedText = fc.array(quotedLine, { maxLength: 40 }).map((lines) => [...lines, "last"].join("\n"));

function codeIn(node: Nodes): Code[] {
  if (node.type === "code") return [node];
  return "children" in node ? node.children.flatMap(codeIn) : [];
}

/** Whether the pieces are parts of the text, with fences exactly where they begin or end within a code block of the whole. */
function areParts(pieces: readonly string[], text: string): boolean {
  const blocks = codeIn(fromMarkdown(text)).map(({ position }) => {
    const begin = position?.start.offset ?? 0;
    const from = text.lastIndexOf("\n", begin) + 1;
    const opening = text.slice(from).split("\n", 1)[0]?.trim() ?? "";
    const quote = text.slice(from, begin).replaceAll(" ", "");
    const marks = quote === "" ? "" : `${quote} `;
    const marker = /^(?:`+|~+)/.exec(text.slice(begin))?.[0] ?? "";
    return { begin, end: position?.end.offset ?? 0, opening, marks, closing: `${marks}${marker}` };
  });
  const around = (cut: number) => blocks.find(({ begin, end }) => begin < cut && cut <= end);
  const shown = (from: number, to: number): string => {
    const [first, last] = [around(from), around(to)];
    const isCut = from > 0 && text[from - 1] !== "\n";
    const own = text.slice(from, to);
    return [
      first ? `${first.opening}\n${isCut ? first.marks : ""}` : "",
      own,
      last ? `${own.endsWith("\n") ? "" : "\n"}${last.closing}` : "",
    ].join("");
  };
  const match = (index: number, from: number): boolean => {
    const piece = pieces[index];
    if (piece === undefined) return from === text.length;
    for (let to = Math.min(text.length, from + piece.length); to > from; to--) {
      if (shown(from, to) === piece && match(index + 1, to)) return true;
    }
    return false;
  };
  return match(0, 0);
}

it("adds fences exactly where a message begins or ends within a code block, as a Markdown parser has it", () => {
  fc.assert(
    fc.property(quotedText, fc.integer({ min: 200, max: 400 }), (given, limit) => {
      fc.pre(given.length > limit);
      const pieces = splitMarkdown(given, limit);
      expect(pieces.filter((piece) => piece.length > limit)).toEqual([]);
      expect(areParts(pieces, given)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

/** What was added at the cuts, taken away again: an opening line that repeats one, and a closing one. */
function withoutAdded(pieces: readonly string[], whole: string): string {
  let rest = whole;
  return pieces
    .map((piece) => {
      // The longest part of the piece that the text goes on with is its own.
      const opening = /^[^\n]*\n/.exec(piece)?.[0].length ?? 0;
      const marks = /^>+ /.exec(piece.slice(opening))?.[0].length ?? 0;
      for (const from of [0, opening, opening + marks]) {
        for (const to of [piece.length, piece.lastIndexOf("\n") + 1, piece.lastIndexOf("\n")]) {
          const own = piece.slice(from, Math.max(from, to));
          if (own !== "" && rest.startsWith(own)) {
            rest = rest.slice(own.length);
            return own;
          }
        }
      }
      return `<${piece}>`;
    })
    .join("");
}

it("keeps to the limit, splits no character, and adds nothing but fences at the cuts", () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 200, max: 400 }), (given, limit) => {
      const pieces = splitMarkdown(given.toWellFormed(), limit);
      for (const piece of pieces) {
        expect(piece.length).toBeLessThanOrEqual(limit);
        expect(piece.isWellFormed()).toBe(true);
      }
      expect(withoutAdded(pieces, given.toWellFormed())).toBe(given.toWellFormed());
    }),
  );
});

it("closes a code block at the end of a message and begins the next one with it, language and all", () => {
  const code = Array.from({ length: 40 }, (_, n) => `const line${n} = ${n};`);
  const pieces = splitMarkdown(["Look:", "```ts", ...code, "```", "That is all."].join("\n"), 300);
  expect(pieces.length).toBeGreaterThan(2);
  for (const piece of pieces.slice(1)) expect(piece).toMatch(/^```ts\n/);
  for (const piece of pieces) expect(piece.match(/^```/gm)?.length).toBe(2);
  expect(pieces.at(-1)).toMatch(/```\nThat is all\.$/);
});

it("takes no fence of another kind for the end of a block", () => {
  const inner = `~~~\n${"a line\n".repeat(60)}\`\`\`\n${"b line\n".repeat(60)}~~~\nend`;
  for (const piece of splitMarkdown(inner, 300).slice(1, -1))
    expect(piece).toMatch(/^~~~\n[^`]*(?:```\n[^`]*)?~~~\s*$/);
});

it.each(["```npm i``` installs it.", "``` ` ```", `\`\`\`npm i ${"pkg ".repeat(200)}\`\`\` installs it.`])(
  "takes a line that begins with inline code for none of a block: %j",
  (line) => {
    const text = `${line}\n${"Some words of prose that go on. ".repeat(40)}`;
    expect(splitMarkdown(text, 300).join("")).toBe(text);
  },
);

it("ends no block at a fence with words behind it", () => {
  const text = `\`\`\`\n\`\`\`js\n${"a line\n".repeat(60)}\`\`\`\n${"Words behind it. ".repeat(30)}`;
  const pieces = splitMarkdown(text, 300);
  expect(pieces[0]).toMatch(/a line\n```$/);
  expect(pieces.at(-1)).not.toContain("```");
});

it("closes a code block of a block quote, and begins it again, as a part of the quote", () => {
  const code = Array.from({ length: 40 }, (_, n) => `> const line${n} = ${n};`);
  const pieces = splitMarkdown(["Look:", "> ```ts", ...code, "> ```", "> That is all."].join("\n"), 300);
  expect(pieces.length).toBeGreaterThan(2);
  for (const piece of pieces.slice(1, -1)) expect(piece).toMatch(/^> ```ts\n/);
  for (const piece of pieces.slice(0, -1)) expect(piece.match(/^> ```/gm)?.length).toBe(2);
  expect(pieces.at(-1)).toMatch(/> That is all\.$/);
});

it("goes on with a code block of a quote behind a line that is cut, and ends it only once", () => {
  const prose = "> plain prose in the quote goes on here.\n".repeat(20);
  const pieces = splitMarkdown(`> intro\n> \`\`\`\n> ${"x".repeat(500)}\n> end\n> \`\`\`\n${prose}\nafter`, 300);
  expect(pieces[1]).toMatch(/^> ```\n> x+\n> ```$/);
  expect(pieces[3]).toMatch(/^> ```\n> end\n> ```\n> plain prose/);
  for (const piece of pieces.slice(4)) expect(piece).not.toContain("```");
});

it("goes on with no code block of an inner quote in the outer one", () => {
  const pieces = splitMarkdown(`>> \`\`\`\n>> code\n${"> Words of the outer quote.\n".repeat(30)}`, 300);
  for (const piece of pieces.slice(1)) expect(piece).not.toContain("```");
});

it("goes on with no code block behind the quote that it was left open in", () => {
  const text = `> \`\`\`\n> code\n\n${"Words behind it. ".repeat(40)}\n\`\`\`\n${"code\n".repeat(80)}`;
  const pieces = splitMarkdown(text, 300);
  expect(pieces[1]).not.toContain("```");
  expect(pieces.at(-1)).toMatch(/^```\ncode\n/);
});

it.each([
  ["marks of quotes", ">".repeat(1_000_000)],
  ["spaces between them", "> ".repeat(1_000_000)],
  ["backticks", "`".repeat(1_000_000)],
  ["fences with words", "```a".repeat(500_000)],
  ["quoted fences", "> ```\n".repeat(300_000)],
])("splits megabytes of %s", (_what, text) => {
  const joined = splitMarkdown(text, 4_096).join("");
  expect(joined.length).toBeGreaterThanOrEqual(text.length);
});

it("leaves a text alone that fits, and an empty one without pieces", () => {
  expect(splitMarkdown("```\nopen", 200)).toEqual(["```\nopen"]);
  expect(splitMarkdown("", 200)).toEqual([]);
});

it("splits 10 MB without losing any of it", () => {
  const large = `${"a line of words that goes on\n".repeat(350_000)}`;
  const pieces = splitMarkdown(large, 4_096);
  expect(pieces.join("")).toBe(large);
});
