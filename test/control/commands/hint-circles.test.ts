/**
 * Where hints lead: an error of one command, or a fix of doctor, that names another, whose error names the first, leads in a
 * circle. Read from the
 * source, so that a hint counts whether or not a test provokes it.
 */

import { glob, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const COMMANDS = "control/commands/";
const DOCTOR = "control/doctor/";
const QUOTED = /`cairn ([^`]*)`/g;
/** What more commands than these share (locks, connections) is about none of them. */
const MOST_OWNERS = 6;

/** Circles that end: here the command that is named does its work, and its own hint is for another case. */
const ENDING: readonly (readonly string[])[] = [
  // `destroy` is refused for want of a backup, which a deployed node gives; `up` for what only a removal brings, which takes none.
  ["infra destroy", "infra up"],
  // `config` is for a directory that has a configuration, `init` for one that has none; it offers `start` at its end, which names it
  // where there is none.
  ["config", "init", "start"],
];

/** A module: what it imports when it runs, and the command lines that its errors name. */
interface Module {
  readonly imports: readonly string[];
  readonly named: readonly string[];
}
type Modules = ReadonlyMap<string, Module>;

function moduleOf(file: string, text: string): Module {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const constants = new Map<string, ts.Expression>();
  const imports: string[] = [];
  const named: string[] = [];
  const addImport = (specifier: ts.Node | undefined): void => {
    if (specifier && ts.isStringLiteralLike(specifier) && specifier.text.startsWith(".")) {
      imports.push(join(dirname(file), specifier.text));
    }
  };
  walk(source, (node) => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer) {
      constants.set(node.name.text, node.initializer);
    }
  });
  walk(source, (node) => {
    if (ts.isImportDeclaration(node) && !node.importClause?.isTypeOnly) addImport(node.moduleSpecifier);
    if (ts.isExportDeclaration(node) && !node.isTypeOnly) addImport(node.moduleSpecifier);
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) addImport(node.arguments[0]);
    if (!ts.isNewExpression(node) || !/Error$/.test(node.expression.getText())) return;
    const said = (node.arguments ?? []).flatMap((argument) => textsIn(argument, constants, new Set()));
    named.push(...said.flatMap((one) => [...one.matchAll(QUOTED)].map(([, line = ""]) => line)));
  });
  // A check's fix is handed through functions: all that doctor's modules say counts.
  if (file.startsWith(DOCTOR)) {
    const said = textsIn(source, new Map(), new Set());
    named.push(...said.flatMap((one) => [...one.matchAll(QUOTED)].map(([, line = ""]) => line)));
  }
  return { imports, named };
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

/** Texts that an expression is made of, those of constants of the module among them. */
function textsIn(node: ts.Node, constants: ReadonlyMap<string, ts.Expression>, seen: Set<string>): string[] {
  const texts: string[] = [];
  walk(node, (part) => {
    if (ts.isStringLiteralLike(part)) texts.push(part.text);
    if (ts.isTemplateExpression(part)) {
      texts.push(part.head.text + part.templateSpans.map(({ literal }) => `VALUE${literal.text}`).join(""));
    }
    if (!ts.isIdentifier(part) || seen.has(part.text)) return;
    const constant = constants.get(part.text);
    seen.add(part.text);
    if (constant) texts.push(...textsIn(constant, constants, seen));
  });
  return texts;
}

function commandsOf(modules: Modules): ReadonlyMap<string, string> {
  const files = [...modules.keys()].filter((file) => file.startsWith(COMMANDS));
  const id = (file: string) =>
    file
      .slice(COMMANDS.length)
      .replace(/(?:\/index)?\.ts$/, "")
      .replaceAll("/", " ");
  return new Map(files.map((file) => [id(file), file]));
}

/** Command to the commands that its errors name. */
function hintsOf(modules: Modules): ReadonlyMap<string, ReadonlySet<string>> {
  const commands = commandsOf(modules);
  const owners = new Map<string, string[]>();
  for (const [id, file] of commands) {
    const reached = new Set([file]);
    // A set is walked on while it grows.
    for (const one of reached) for (const next of modules.get(one)?.imports ?? []) reached.add(next);
    for (const one of reached) owners.set(one, [...(owners.get(one) ?? []), id]);
  }
  const hints = new Map<string, Set<string>>();
  for (const [file, { named }] of modules) {
    const own = owners.get(file) ?? [];
    if (own.length > MOST_OWNERS) continue;
    const targets = named.flatMap((line) => {
      const [first = "", second = ""] = line.split(" ");
      return [`${first} ${second}`, first].filter((id) => commands.has(id)).slice(0, 1);
    });
    for (const id of own) {
      hints.set(id, new Set([...(hints.get(id) ?? []), ...targets.filter((target) => target !== id)]));
    }
  }
  return hints;
}

/** Commands from which following the hints leads back to them, one list a circle, sorted. */
function circlesIn(hints: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const after = (id: string): ReadonlySet<string> => {
    const reached = new Set(hints.get(id));
    for (const one of reached) for (const next of hints.get(one) ?? []) reached.add(next);
    return reached;
  };
  const circles = [...hints.keys()].map((id) => [...after(id)].filter((other) => after(other).has(id)).sort());
  const unique = new Map(circles.filter((circle) => circle.length > 0).map((circle) => [circle.join(), circle]));
  return [...unique.values()].sort();
}

async function product(): Promise<Modules> {
  const modules = new Map<string, Module>();
  for await (const file of glob("control/**/*.ts", { cwd: ROOT })) {
    modules.set(file, moduleOf(file, await readFile(join(ROOT, file), "utf8")));
  }
  return modules;
}

it("finds a circle over modules, constants and templates, and none where a hint leads on", () => {
  const text = (name: string, rest: string): [string, Module] => [name, moduleOf(name, rest)];
  const up = text("control/commands/up.ts", 'import { guard } from "../deploy/guards.ts";');
  const guards = text(
    "control/deploy/guards.ts",
    `const WAY = \`Roll it with \\\`cairn update --all\\\`, or \${node}.\`;
     export const guard = () => { throw new InfraError("CODE", "No.", { hint: node ? WAY : "" }); };`,
  );
  const back = text("control/commands/update.ts", 'throw new UsageError("No.", "Take one: `cairn up --node NAME`.");');
  const on = text("control/commands/update.ts", 'throw new UsageError("No.", "See `cairn status`.");');
  expect(circlesIn(hintsOf(new Map([up, guards, back])))).toEqual([["up", "update"]]);
  expect(circlesIn(hintsOf(new Map([up, guards, on])))).toEqual([]);
});

it("no command's hint leads in a circle", async () => {
  const hints = hintsOf(await product());
  // The walk sees what it is about.
  expect([...(hints.get("update") ?? [])]).toContain("infra up");
  expect([...(hints.get("doctor") ?? [])]).toEqual(expect.arrayContaining(["start", "infra up", "init"]));
  expect(circlesIn(hints)).toEqual(ENDING.map((circle) => [...circle]).sort());
});
