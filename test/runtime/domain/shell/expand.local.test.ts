import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, it } from "vitest";
import { readScript } from "../../../../runtime/domain/shell/reader.ts";
import { HOME, initialState, UNKNOWN } from "../../../../runtime/domain/shell/state.ts";
import { lacks } from "../../../lanes/tools.ts";

const VARIABLES: Readonly<Record<string, string>> = {
  a: "alpha",
  b: "one two",
  c: "",
  d: "/usr/local/bin",
  e: " padded ",
  f: "MiXed",
  g: "",
};

/** Words as people and models write them, of parts whose outcome does not depend on the machine. */
const plain = fc.constantFrom("x", "rm", "-rf", "/", "a.b", "..", "=", ":", "ü", "-", "1");
const variable = fc.constantFrom(...Object.keys(VARIABLES));
const operator = fc.constantFrom(
  "",
  ":-dflt",
  "-dflt",
  ":+alt",
  "+alt",
  ":-",
  ":0:2",
  ":1",
  ":2:1",
  "#al",
  "%ha",
  "^^",
  ",,",
  "/a/o",
  "//o/0",
);
const expansion = fc.oneof(
  variable.map((name) => `$${name}`),
  fc.tuple(variable, operator).map(([name, op]) => `\${${name}${op}}`),
);
const quotable = fc.oneof(plain, expansion, fc.constantFrom(" ", "  ", "'", "\\$a", '\\"', "\\\\"));
const double = fc.array(quotable, { maxLength: 4 }).map((parts) => `"${parts.join("")}"`);
const single = fc
  .array(fc.constantFrom("x", " ", "$a", '"', "\\", "{a,b}", "~"), { maxLength: 4 })
  .map((parts) => `'${parts.join("")}'`);
const ansi = fc.constantFrom("$'\\x72m'", "$'a\\tb'", "$'\\162'", "$'it\\'s'", "$'\\u00fc'");
const escaped = fc.constantFrom("\\r", "\\ ", "\\$a", "\\'", "\\\\", "\\~", "\\{");
const substitution = fc.oneof(
  fc.tuple(plain, fc.oneof(expansion, plain)).map(([first, second]) => `$(echo ${first} ${second})`),
  plain.map((text) => `\`printf '%s' ${text}\``),
  plain.map((text) => `"$(printf '%s-%s ' a ${text})"`),
  plain.map((text) => `$(echo ${text} | rev)`),
  plain.map((text) => `$(base64 -d <<< ${Buffer.from(text).toString("base64")})`),
  fc.constantFrom("$(echo -n a; echo b)", "$(echo -e 'a\\x62')", "$(printf '\\162\\n\\n')", "$(echo ab | tr ab ba)"),
);
const atom = fc.oneof(plain, expansion, double, single, ansi, escaped, substitution);
const brace = fc
  .array(fc.array(atom, { maxLength: 2 }), { minLength: 2, maxLength: 3 })
  .map((items) => `{${items.map((item) => item.join("")).join(",")}}`);
const tilde = fc.constantFrom("~", "~/x", "~/", "x~");
const word = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.array(fc.oneof(atom, atom, brace), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
  },
  { weight: 1, arbitrary: tilde },
);

it.skipIf(lacks("bash"))("makes of a word exactly what bash makes of it", () => {
  const words = fc.sample(word, { numRuns: 300, seed: 7 });
  const assignments = Object.entries(VARIABLES).map(([name, value]) => `${name}='${value}'`);
  const script = [...assignments, ...words.map((text) => `printf '<%s>' ${text}; echo "|"`)].join("\n");
  const printed = execFileSync("/bin/bash", ["-f", "-c", script], {
    encoding: "utf8",
    env: { HOME: "/home/agent", PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8" },
  });
  const expected = printed.split("|\n");

  let compared = 0;
  const different: object[] = [];
  for (const [index, text] of words.entries()) {
    const ours = printedBy(`printf '<%s>' ${text}`);
    if (ours.some((output) => output.includes(UNKNOWN))) continue;
    compared += 1;
    if (ours[0] !== expected[index] || ours.length !== 1) different.push({ text, bash: expected[index], ours });
  }
  expect(different).toEqual([]);
  expect(compared).toBeGreaterThan(200);
});

/** What the reader says that a command prints: it remembers what a script writes to its files. */
function printedBy(command: string): readonly string[] {
  const state = initialState("/ws");
  for (const [name, value] of Object.entries(VARIABLES)) state.variables.set(name, [value]);
  readScript(`${command} > /ws/out`, state, "/ws");
  const stream = state.files.get("/ws/out");
  return stream?.kind === "text" ? stream.texts.map((text) => text.replaceAll(HOME, "/home/agent")) : [UNKNOWN];
}

it("reads every generated word without an error of its own", () => {
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (words) => {
      readScript(words.join(" "), initialState("/ws"), "/ws");
    }),
    { numRuns: 300 },
  );
});

it("reads arbitrary text without an error of its own", () => {
  const token = fc.constantFrom(
    ..."$ ( ) { } [ ] ; & | < > << <<< ' \" ` \\ # ! * ? ~ = , if then fi do done while for in case esac function coproc time [[ ]] (( )) EOF a rm / \n".split(
      " ",
    ),
    "\n",
    " ",
  );
  fc.assert(
    fc.property(fc.array(token, { maxLength: 40 }), (tokens) => {
      readScript(tokens.join(" "), initialState("/ws"), "/ws");
      readScript(tokens.join(""), initialState("/ws"), "/ws");
    }),
    { numRuns: 300 },
  );
});
