import { describe, expect, it } from "vitest";
import { catalogueOf, issueWords, skillOf } from "../../../../runtime/domain/skills/catalogue.ts";
import { parseSkill } from "../../../../runtime/domain/skills/front-matter.ts";

const whole = (head: string, body = "\nDo it.\n") => `---\n${head}\n---\n${body}`;
const words = (text: string, folder = "pdf") => parseSkill(folder, text).issues.map(issueWords);
const NAMED = "name: pdf\ndescription: Reads PDF files.";

describe("SKILL.md", () => {
  it("has all that the public layout has", () => {
    const { head, body, issues } = parseSkill(
      "pdf",
      whole(
        `${NAMED}\nlicense: Apache-2.0\ncompatibility: Needs poppler.\nallowed-tools: Bash(git:*) Read\ntriggers: [fill a form, PDF]\nmetadata:\n  author: ada\n  version: 1.5`,
      ),
    );
    expect(issues).toEqual([]);
    expect(body).toBe("\nDo it.\n");
    expect(head).toEqual({
      name: "pdf",
      description: "Reads PDF files.",
      triggers: ["fill a form", "PDF"],
      license: "Apache-2.0",
      compatibility: "Needs poppler.",
      metadata: { author: "ada", version: "1.5" },
      allowedTools: ["Bash(git:*)", "Read"],
    });
  });

  it.each([
    ["# no front matter", "SKILL.md, line 1: it does not begin with front matter between two lines of ---"],
    [`---\n${NAMED}\n`, "SKILL.md, line 1: it does not begin with front matter between two lines of ---"],
    [whole("name: ["), /^SKILL\.md, line 2: it is not YAML: /],
    [whole(`${NAMED}\nname: pdf`), "SKILL.md, line 4: it is not YAML: Map keys must be unique"],
    [whole("just words"), "SKILL.md, line 2: it must be a mapping of keys and values"],
    [whole("name: pdf"), "SKILL.md: description must be a text of 1 to 1024 characters"],
    [whole("description: x\nname: pdf-forms"), 'SKILL.md, line 3: name must be the name of its folder, which is "pdf"'],
    [whole(`${NAMED}\ntriggers: form`), "SKILL.md, line 4: triggers must be a list of texts"],
    [whole(`${NAMED}\ntriggers:\n  - form\n  - "!!"`), "SKILL.md, line 6: triggers[1] must hold a letter or a digit"],
    [whole(`${NAMED}\nmetadata: { a: [1] }`), "SKILL.md, line 4: metadata.a must be a text"],
    [
      whole(`${NAMED}\ncompatibility: ${"x".repeat(501)}`),
      "SKILL.md, line 4: compatibility must have at most 500 characters",
    ],
    [whole(`a: &x [1]\n${NAMED}\nb: *x`), "SKILL.md, line 5: it refers to another value (*name), which is not read"],
    [whole(`${NAMED}\nx: ${"[".repeat(9_000)}`), /it is not YAML/],
    [
      whole(`${NAMED}\nx: ${"y".repeat(20_000)}`),
      "SKILL.md, line 1: it has front matter of more than 16384 characters",
    ],
  ])("%#: is refused with file, line and key", (text, message) => {
    expect(parseSkill("pdf", text).head).toBeNull();
    const [first = ""] = words(text);
    if (typeof message === "string") expect(first).toBe(message);
    else expect(first).toMatch(message);
  });

  it.each(["PDF", "-pdf", "pdf-", "a--b", "a_b", "../pdf", "p df", "x".repeat(65), "ﬁle"])(
    "may not be named %s",
    (name) => {
      expect(words(whole(`name: "${name}"\ndescription: x`), name)[0]).toMatch(/^SKILL\.md, line 2: name /);
    },
  );

  it("warns of keys without a meaning and of characters that are not seen, and can be used", () => {
    const text = whole(`${NAMED}\nmodel: large`, "Do\tit\n\u202eand hide.\n");
    expect(words(text)).toEqual([
      expect.stringMatching(/^SKILL\.md, line 4: model has no meaning here: there are name, description, triggers/),
      "SKILL.md, line 7: it holds characters that are not seen: agents get the text without them",
    ]);
    expect(parseSkill("pdf", text).head).not.toBeNull();
    expect(words(`\uFEFF${whole(NAMED)}`.replaceAll("\n", "\r\n"))).toEqual([]);
  });
});

describe("several folders", () => {
  const folder = (name: string, dir: string, text = whole(`name: ${name}\ndescription: of ${dir}`)) =>
    skillOf({
      folder: name,
      path: `/${dir}/${name}`,
      source: dir === "own" ? "workspace" : "skill_dirs",
      content: { text, problem: null },
    });

  it("give a name to the first one, and say of the other why it is skipped", () => {
    const { skills, skipped } = catalogueOf([
      folder("b", "one"),
      folder("broken", "one", "no"),
      folder("b", "own"),
      folder("a", "own"),
    ]);
    expect(skills.map(({ name, description }) => `${name} ${description}`)).toEqual(["a of own", "b of one"]);
    expect(skipped).toMatchObject([
      { folder: "broken", problem: expect.stringContaining("front matter") },
      { folder: "b", path: "/own/b", problem: "another skill has this name and comes first: /one/b" },
    ]);
  });
});
