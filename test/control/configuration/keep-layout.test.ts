import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Document, parse, parseDocument } from "yaml";
import { addAgent, removeAgent } from "../../../control/configuration/agents.ts";
import { keepLayout } from "../../../control/configuration/keep-layout.ts";
import { switchProvider } from "../../../control/configuration/providers.ts";
import { deploymentDirectory } from "../../support/deployment.ts";

/** As people write it: four spaces, columns, several blank lines, lists that are not moved in, an end of the document. */
const BY_HAND = `%YAML 1.2
---
# top
version:  1   # the version

x-common: &common
    default_thinking:   low
    fallbacks:
    - "backup:m1"
    -   backup:m2

runtime: {default_agent: main,  listen: "127.0.0.1:7433"} # in one line


agents:
    main:
        provider: anthropic
    other: &other
        provider: anthropic     # behind it
        description: >-
            A long folded
            text   with spaces

            and paragraphs
    third: *other
providers:
    anthropic: { model: 'claude-x',   api_key: "\${ANTHROPIC_API_KEY}" }
    backup: { kind: offline }
unknown_key:
    - a
    -   b: 1
        c: 2
# the end
...
`;

async function deploymentOf(yaml: string) {
  const dir = await deploymentDirectory({ yaml, env: "ANTHROPIC_API_KEY=k\n" });
  const deployment = { dir, home: join(dir, "home"), file: join(dir, "cairn.yaml"), exists: true };
  await mkdir(deployment.home, { recursive: true });
  return { deployment, read: () => readFile(deployment.file, "utf8") };
}

/** The lines that only one of the two texts has. */
function changedLines(before: string, after: string): string[] {
  const [one, other] = [before.split("\n"), after.split("\n")];
  return [
    ...one.filter((line) => !other.includes(line)).map((line) => `-${line}`),
    ...other.filter((line) => !one.includes(line)).map((line) => `+${line}`),
  ];
}

describe("an edit of a file that is laid out by hand", () => {
  it("changes one line where one value changes, and the diff has no more than that", async () => {
    const { deployment, read } = await deploymentOf(
      BY_HAND.replace("provider: anthropic\n    other", "model: m\n        provider: anthropic\n    other"),
    );
    const before = await read();
    const { diff } = await switchProvider(deployment, { agent: "main", model: "m2" });
    expect(changedLines(before, await read())).toEqual(["-        model: m", "+        model: m2"]);
    expect(diff.split("\n").filter((line) => /^[+-] /.test(line))).toEqual(["-        model: m", "+        model: m2"]);
    expect(diff.startsWith("--- cairn.yaml\n+++ cairn.yaml\n@@")).toBe(true);
  });

  it("moves in what is added as its neighbours are, and takes it away again", async () => {
    const { deployment, read } = await deploymentOf(BY_HAND);
    await addAgent(deployment, { name: "fourth", description: "new", makeDefault: false });
    expect(await read()).toBe(
      BY_HAND.replace(
        "third: *other\n",
        "third: *other\n    fourth:\n        description: new\n        provider: anthropic\n",
      ),
    );
    await removeAgent(deployment, "fourth");
    expect(await read()).toBe(BY_HAND);
  });

  it("keeps the line ends and the mark of another system", async () => {
    const yaml = `\uFEFF${"version: 1\nagents:\n  main:\n    provider: offline # x\nproviders:\n  offline:\n    kind: offline\n".replaceAll("\n", "\r\n")}`;
    const { deployment, read } = await deploymentOf(yaml);
    const { diff } = await addAgent(deployment, { name: "b", makeDefault: false });
    expect(await read()).toBe(yaml.replace("# x\r\n", "# x\r\n  b:\r\n    provider: offline\r\n"));
    expect(diff).not.toContain("\r");
    expect(diff.split("\n").filter((line) => /^[+-] /.test(line))).toEqual(["+  b:", "+    provider: offline"]);
  });
});

describe("an alias", () => {
  it("is written out where what it leads to would change, and nothing else changes", async () => {
    const { deployment, read } = await deploymentOf(BY_HAND);
    await switchProvider(deployment, { agent: "third", model: "own" });
    const { agents } = parse(await read());
    expect(agents.third).toEqual({ ...parse(BY_HAND).agents.other, model: "own" });
    expect(agents.other).toEqual(parse(BY_HAND).agents.other);
  });

  it("keeps what it led to when that is removed", async () => {
    const { deployment, read } = await deploymentOf(BY_HAND);
    await removeAgent(deployment, "other");
    const { agents } = parse(await read());
    expect(Object.keys(agents)).toEqual(["main", "third"]);
    expect(agents.third).toEqual(parse(BY_HAND).agents.other);
  });
});

describe("the layout", () => {
  const STYLE = { lineWidth: 0, flowCollectionPadding: true } as const;
  const key = fc.constantFrom("a", "b", "c", "d");
  const { tree } = fc.letrec<{ tree: unknown; leaf: unknown; map: unknown; list: unknown }>((tie) => ({
    tree: fc.oneof({ maxDepth: 4 }, tie("leaf"), tie("map"), tie("list")),
    leaf: fc.oneof(
      fc.constantFrom("x", "text of several words", "a\nb\n", "# no comment", ""),
      fc.integer(),
      fc.boolean(),
    ),
    map: fc.dictionary(key, tie("tree"), { minKeys: 1, maxKeys: 4 }),
    list: fc.array(tie("tree"), { minLength: 1, maxLength: 3 }),
  }));

  it("never counts more than the meaning, however the file is written", () => {
    fc.assert(
      fc.property(
        fc.dictionary(key, tree, { minKeys: 1 }),
        fc.array(key, { minLength: 1, maxLength: 3 }),
        tree,
        fc.record({
          indent: fc.constantFrom(2, 3, 4),
          indentSeq: fc.boolean(),
          blanks: fc.boolean(),
          crlf: fc.boolean(),
        }),
        (value, path, added, { indent, indentSeq, blanks, crlf }) => {
          const written = new Document(value);
          const plain = written.toString({ indent, indentSeq, lineWidth: 0 });
          const spaced = blanks ? plain.replace(/^(?=[a-d]:)/gm, "\n# of this one\n\n\n") : plain;
          const text = crlf ? spaced.replaceAll("\n", "\r\n") : spaced;
          const document = parseDocument(text);
          fc.pre(document.errors.length === 0);
          const unchanged = document.toString(STYLE);
          try {
            document.setIn(path, document.createNode(added));
          } catch {
            return; // The path leads through a text.
          }
          const changed = document.toString(STYLE);
          // The library itself cannot read some of what it writes where a comment stands in between.
          fc.pre(parseDocument(changed).errors.length === 0);
          const after = keepLayout({ text, unchanged, changed });
          expect(parse(after)).toEqual(parse(changed));
          if (crlf) expect(after.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
        },
      ),
      { numRuns: 150 },
    );
  });
});
