import { describe, expect, it } from "vitest";
import { issueWords } from "../../../../runtime/domain/skills/catalogue.ts";
import { checkReferences, pathProblem } from "../../../../runtime/domain/skills/references.ts";

const FILES = ["SKILL.md", "references/guide.md", "scripts/deep/run.py", "assets/logo (1).svg", "references/a(b).md"];
const words = (text: string) => checkReferences(text, FILES).map(issueWords);

describe("what a skill refers to", () => {
  it("is in its folder, or on the web", () => {
    const text = `See [the guide](references/guide.md#usage), [here](#top), [there](https://example.com/references/x.md).
Run \`python scripts/deep/run.py --x\`; all of ./scripts/deep and [it](<./references/guide.md>). Mail [us](mailto:a@b.c).
![A logo](<assets/logo (1).svg>) ([again](assets/logo%20(1).svg)), [a word]: no definition, and [the guide][g].
[g]: references/guide.md "The guide"
[h]: <assets/logo (1).svg>
[i]: assets/logo%20(1).svg
[j]: references/a(b).md (Its title)
[TODO]: later
[note]: this is none, and so is
[^1]: footnote
\`\`\`md
[an example](nowhere.md)
\`\`\`
The words scripts/ and assets/ alone are no files. https://example.com/scripts/other.py is elsewhere.
`;
    expect(words(text)).toEqual([]);
  });

  it.each([
    ["[x](missing.md)", "SKILL.md, line 1: it refers to missing.md, which is not there"],
    [
      "[x](../other/SKILL.md)",
      "SKILL.md, line 1: it refers to ../other/SKILL.md, which leads out of the skill's folder",
    ],
    [
      "a\n\n[x](%2e%2e/secret.md)",
      "SKILL.md, line 3: it refers to ../secret.md, which leads out of the skill's folder",
    ],
    [
      "run scripts/../../x.sh",
      "SKILL.md, line 1: it refers to scripts/../../x.sh, which leads out of the skill's folder",
    ],
    [
      "run ../../scripts/x.sh",
      "SKILL.md, line 1: it refers to ../../scripts/x.sh, which leads out of the skill's folder",
    ],
    ["[x](/etc/passwd)", "SKILL.md, line 1: it refers to /etc/passwd, which must be relative to the skill's folder"],
    ["[x](file:///etc/passwd)", /must be a path with slashes/],
    [
      "[x][y]\n\n[y]: ../secret.md\r",
      "SKILL.md, line 3: it refers to ../secret.md, which leads out of the skill's folder",
    ],
    ["[x]: <references/my guide.md>", "SKILL.md, line 1: it refers to references/my guide.md, which is not there"],
    ["[x]: %2e%2e%2fsecret", "SKILL.md, line 1: it refers to ../secret, which leads out of the skill's folder"],
    ["[x](<../a b.md>)", "SKILL.md, line 1: it refers to ../a b.md, which leads out of the skill's folder"],
    ["[x](references\\guide.md)", /must be a path with slashes/],
    ["[x](~/notes.md)", /must be relative/],
    ["[x](references/.env)", /is hidden/],
    [
      "[x](References/Guide.MD)",
      "SKILL.md, line 1: it refers to References/Guide.MD, which is written references/guide.md on the disk",
    ],
    [
      "`SCRIPTS/deep/run.py`",
      "SKILL.md, line 1: it refers to SCRIPTS/deep/run.py, which is written scripts/deep/run.py on the disk",
    ],
  ])("%#: is refused otherwise", (text, message) => {
    const found = words(text);
    expect(found).toHaveLength(1);
    if (typeof message === "string") expect(found[0]).toBe(message);
    else expect(found[0]).toMatch(message);
  });

  it("is checked up to a bound, in a text that was made to be slow", () => {
    const many = Array.from({ length: 2_000 }, (_, n) => `[x](m${n}.md)`).join(" ");
    expect(words(many)).toHaveLength(500);
    expect(words("[".repeat(30_000) + "](((".repeat(30_000) + "(".repeat(30_000)).length).toBeLessThan(10);
    expect(words(`${"](".repeat(30_000)}${"scripts/".repeat(8_000)}`).length).toBeLessThan(10);
  });
});

it.each(["", "a//b", "./a", "a/..", "a\0b", "C:a", ".git/config", "node_modules/x", "x".repeat(501)])(
  "%# is no path of a file",
  (path) => {
    expect(pathProblem(path)).not.toBeNull();
  },
);
