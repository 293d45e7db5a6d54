import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeIndex, mergePage, type PageUpdate, pageFacts } from "../../../../runtime/domain/wiki/page.ts";

const A = "01900000-0000-7000-8000-00000000000a";
const B = "01900000-0000-7000-8000-00000000000b";

function update(source: string, statements: readonly string[], rest: Partial<PageUpdate> = {}): PageUpdate {
  return { title: "Backup", source, statements, now: new Date("2026-05-06T07:08:09Z"), limit: 10_000, ...rest };
}

/** The lines of the part that the runtime keeps. */
function kept(page: string): string[] {
  const part = /<!-- cairn:begin[^>]*-->\n([\s\S]*?)<!-- cairn:end -->/.exec(page)?.[1] ?? "";
  return part.split("\n").filter((line) => line !== "");
}

describe("a page", () => {
  it("begins with its title, its sources and the time of the change", () => {
    const page = mergePage(null, update(A, ["The backup runs at noon."]));
    expect(page).toMatch(
      /^---\ntitle: Backup\nupdated: 2026-05-06T07:08:09.000Z\nstatements: 1\nsources:\n {2}- 0190[^\n]*\n---\n\n# Backup\n/,
    );
    expect(kept(page)).toEqual([`- The backup runs at noon. [summary:${A}]`]);
    expect(pageFacts(page)).toEqual({ title: "Backup", updated: "2026-05-06T07:08:09.000Z", statements: 1 });
  });

  it("takes statements of further sources, and names all who say the same", () => {
    const first = mergePage(null, update(A, ["The backup runs at noon.", "It goes to node-3."]));
    const page = mergePage(first, update(B, ["the backup runs at noon", "It takes 4 minutes."]));
    expect(kept(page)).toEqual([
      `- The backup runs at noon. [summary:${A}] [summary:${B}]`,
      `- It goes to node-3. [summary:${A}]`,
      `- It takes 4 minutes. [summary:${B}]`,
    ]);
  });

  it("replaces what a source has said before, so that its work can be done again", () => {
    const first = mergePage(null, update(A, ["Old words.", "Kept."]));
    const shared = mergePage(first, update(B, ["Kept."]));
    const again = mergePage(shared, update(A, ["New words."]));
    expect(kept(again)).toEqual([`- Kept. [summary:${B}]`, `- New words. [summary:${A}]`]);
  });

  it("keeps the title and the sources that somebody gave a page before it was the runtime's", () => {
    const theirs = "---\ntitle: Our BACKUP # mine\nsources:\n  - https://notes.test/1\n---\n\nText.\n";
    const first = mergePage(theirs, update(A, ["One."], { title: "Our backup" }));
    const page = mergePage(first, update(B, ["Two."], { title: "our Backup" }));
    expect(page).toContain(`title: Our BACKUP # mine\nsources:\n  - https://notes.test/1\n  - ${A}\n  - ${B}\n`);
    expect(page).toContain("\nText.\n");
    const single = mergePage("---\nsources: a book\n---\n", update(A, ["One."]));
    expect(single).toContain(`sources:\n  - a book\n  - ${A}\n`);
  });

  it("takes what follows a begin without its end for a person's text, and leaves it as it is", () => {
    const text = "<!-- cairn:begin: kept -->\n- One.\n\nMy first paragraph.\n\n    code\n\nMy second.\n";
    const first = mergePage(`# T\n\n${text}`, update(A, ["One."]));
    const page = mergePage(first, update(B, ["Two."]));
    expect(page).toContain(text);
    expect(page.slice(page.indexOf("My second."))).toMatch(/One\. \[summary:.*\n- Two\. \[summary:/);
    expect(mergeIndex(mergeIndex(text, []), [])).toContain(text);
  });

  it("reads a file of 20,000 begins without an end", () => {
    expect(mergePage("<!-- cairn:begin -->\n".repeat(20_000), update(A, ["One."]))).toContain("- One. ");
  });

  it("keeps what people wrote: around the part, in the front matter, and other lines inside", () => {
    const page = mergePage(null, update(A, ["One."]));
    const edited = page
      .replace("title: Backup", "title: Backup # ours\nowner: Mia")
      .replace("# Backup\n", "# Backup and restore\n\nCall Mia first.\n")
      .replace(`- One. [summary:${A}]`, `A line of mine.\n- One. [summary:${A}]`)
      .concat("\n## See also\n\n- [Restore](restore.md)\n");
    const merged = mergePage(edited, update(B, ["Two."]));
    expect(merged).toContain("owner: Mia");
    expect(merged).toContain("# Backup and restore\n\nCall Mia first.\n");
    expect(merged.endsWith("\n## See also\n\n- [Restore](restore.md)\n")).toBe(true);
    expect(kept(merged)).toEqual(["A line of mine.", `- One. [summary:${A}]`, `- Two. [summary:${B}]`]);
  });

  it("adds its part to a page that a person began, or took the marks from", () => {
    const merged = mergePage("# Mine\n\nSome words.\n", update(A, ["One."]));
    expect(merged).toContain("# Mine\n\nSome words.\n\n<!-- cairn:begin");
    expect(kept(merged)).toEqual([`- One. [summary:${A}]`]);
  });

  it("loses no front matter that cannot be read", () => {
    const merged = mergePage("---\na: [1\n---\nText\n", update(A, ["One."]));
    expect(merged).toContain("a: [1");
    expect(merged).toContain("Text");
    expect(pageFacts(merged)?.title).toBe("Backup");
  });

  it("leaves out the oldest statements beyond its size, and counts them", () => {
    let page: string | null = null;
    const ids = Array.from({ length: 40 }, (_, n) => `01900000-0000-7000-8000-0000000000${String(n).padStart(2, "0")}`);
    for (const [n, id] of ids.entries()) page = mergePage(page, update(id, [`Statement ${n}.`], { limit: 1_000 }));
    const lines = kept(page ?? "");
    expect(lines.join("\n").length).toBeLessThanOrEqual(1_000);
    expect(lines.at(-1)).toContain("Statement 39.");
    expect(page).toContain(`left_out: ${40 - lines.length}`);
    expect(page?.match(/ {2}- 0190/g)).toHaveLength(lines.length);
  });

  it("is the same when the same is merged twice, whatever it holds", () => {
    const words = fc
      .string({ minLength: 1, maxLength: 30 })
      .filter((text) => /^\S[^\r\n]*\S$/.test(text) && !/\[summary:|<!--|-->/.test(text));
    fc.assert(
      fc.property(
        fc.array(words, { maxLength: 6 }),
        fc.array(words, { maxLength: 6 }),
        fc.lorem(),
        (one, two, human) => {
          const first = mergePage(`${human}\n`, update(A, one));
          const second = mergePage(first, update(B, two));
          expect(mergePage(second, update(B, two))).toBe(second);
          expect(second).toContain(human);
          for (const line of kept(second)) expect(line).toMatch(/^- .+\[summary:/);
        },
      ),
    );
  });
});

describe("the index", () => {
  const pages = [
    { slug: "b", title: "Beta [x]", updated: "2026-01-02T00:00:00Z", statements: 2 },
    { slug: "a", title: "alpha", updated: "", statements: 1 },
  ];

  it("lists all pages by title, and keeps what is written around the list", () => {
    const index = mergeIndex(null, pages);
    expect(kept(index)).toEqual(["- [alpha](a.md) (1)", "- [Beta \\[x\\]](b.md) (2, 2026-01-02)"]);
    const edited = mergeIndex(`Welcome.\n${index}Bye.\n`, pages.slice(1));
    expect(edited).toMatch(/^Welcome\.\n[\s\S]*Bye\.\n$/);
    expect(kept(edited)).toEqual(["- [alpha](a.md) (1)"]);
  });
});
