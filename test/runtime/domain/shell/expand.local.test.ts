import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { parse } from "unbash";
import { expect, it } from "vitest";
import { createExpander } from "../../../../runtime/domain/shell/expand.ts";
import type { Inspector, ShellState } from "../../../../runtime/domain/shell/inspection.ts";
import { readScript } from "../../../../runtime/domain/shell/reader.ts";
import { createVariables, noFacts } from "../../../../runtime/domain/shell/state.ts";
import { SILENCE } from "../../../../runtime/domain/shell/streams.ts";
import { COMPUTED, HOME, isMarked, VALUE } from "../../../../runtime/domain/shell/values.ts";
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

const nothing = () => undefined;
/** Words alone are expanded: no command is judged. */
const INSPECTOR: Inspector = {
  workspace: "/ws",
  written: new Map(),
  refuse: nothing,
  ask: nothing,
  later: nothing,
  certain: nothing,
  doubtful: nothing,
  script: () => SILENCE,
  evaluate: () => SILENCE,
  command: () => SILENCE,
};

/** Words as people and models write them, of parts whose outcome does not depend on the machine. */
const plain = fc.constantFrom("x", "rm", "-rf", "/", "a.b", "..", "=", ":", "ü", "-", "1");
const variable = fc.constantFrom(...Object.keys(VARIABLES));
const operator = fc.constantFrom(..."|:-dflt|-dflt|:-|#al|%ha|##alp|%.*|#*a|%l*|:1|^^|/a/o|:+alt".split("|"));
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
const atom = fc.oneof(plain, expansion, double, single, ansi, escaped);
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

it.skipIf(lacks("bash"))("makes of a word exactly what bash makes of it, or a mark", () => {
  const words = fc.sample(word, { numRuns: 400, seed: 7 });
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
    const ours = expansionOf(text);
    if (isMarked(ours)) continue;
    compared += 1;
    if (ours !== expected[index]) different.push({ text, bash: expected[index], ours });
  }
  expect(different).toEqual([]);
  expect(compared).toBeGreaterThan(200);
});

/** What a word becomes, printed as the script above prints it. */
function expansionOf(text: string): string {
  const variables = createVariables(noFacts(), VALUE);
  for (const [name, value] of Object.entries(VARIABLES)) variables.set(name, value, name);
  const state: ShellState = {
    inspector: INSPECTOR,
    variables,
    directory: "/ws",
    previous: COMPUTED,
    within: null,
    spawned: false,
  };
  const expander = createExpander(
    () => COMPUTED,
    () => undefined,
    parse,
  );
  const command = parse(`x ${text}`).commands[0]?.command;
  const words = command?.type === "Command" ? command.args : [];
  const fields = words.flatMap((word) => (word.type === "Word" ? expander.fields(word, state) : []));
  return (fields.length > 0 ? fields : [""]).map((field) => `<${field.replaceAll(HOME, "/home/agent")}>`).join("");
}

it("reads every generated word without an error of its own", () => {
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (words) => {
      readScript(words.join(" "), "/ws", "/ws");
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
      readScript(tokens.join(" "), "/ws", "/ws");
      readScript(tokens.join(""), "/ws", "/ws");
    }),
    { numRuns: 300 },
  );
});
