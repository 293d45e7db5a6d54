/**
 * Puts packages into the compiled program, cut down to what is used of them: one entry for each import path in
 * `ROOM/packages/`, which the compiled files import instead. Their licences go along in `ROOM/packages/NOTICE`.
 */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";
import ts from "typescript";
import { BUNDLED } from "./bundled.js";
import { packageOf } from "./image-packages.ts";

/** An import of a bundled package in a compiled file. */
export interface Use {
  readonly specifier: string;
  /** Place of the specifier in the text, within its quotes. */
  readonly start: number;
  readonly end: number;
  /** Null: everything that the module exports, by `require`. */
  readonly names: readonly string[] | null;
}

interface UsedFile {
  readonly path: string;
  readonly text: string;
  readonly uses: readonly Use[];
}

/**
 * What Pulumi loads at once and needs for functions only that are sent to the engine as text, of which there are none here: the
 * compiler, and reading of `node_modules`. And a fetch for browsers that have none, which Ollama's SDK brings.
 */
const UNUSED = /^(?:@npmcli\/arborist|normalize-package-data|(?:\.\.\/)+typescript-shim|whatwg-fetch)$/;

/** Rewrites the compiled program below `folder`; packages are taken from `root`/node_modules. */
export async function bundlePackages(folder: string, root: string): Promise<void> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".js"))
    .map((file) => readUses(join(folder, file)))
    .filter(({ uses }) => uses.length > 0);
  for (const [room, packages] of Object.entries(BUNDLED)) {
    const target = join(folder, room, "packages");
    const own = (use: Use): boolean => packages.includes(packageOf(use.specifier) ?? "");
    await bundle(
      files.flatMap(({ uses }) => uses.filter(own)),
      target,
      root,
    );
  }
  for (const file of files) writeFileSync(file.path, rewritten(file, folder));
}

async function bundle(uses: readonly Use[], target: string, root: string): Promise<void> {
  const entries = new Map<string, string>();
  for (const specifier of new Set(uses.map((use) => use.specifier))) {
    entries.set(entryName(specifier), entryText(specifier, uses));
  }
  const bundled = await rolldown({
    input: Object.fromEntries([...entries.keys()].map((name) => [name, `${VIRTUAL}${name}`])),
    cwd: root,
    platform: "node",
    plugins: [virtualEntries(entries, root)],
    // Other people's code is not ours to repair, and a slow machine is no fault of the build.
    checks: { eval: false, pluginTimings: false, bundlerTimings: false },
  });
  try {
    const { output } = await bundled.write({
      dir: target,
      format: "esm",
      entryFileNames: "[name].js",
      sanitizeFileName: false,
      chunkFileNames: "shared-[hash].js",
      minify: true,
      comments: { legal: false },
    });
    const chunks = output.filter((one): one is OutputChunk => one.type === "chunk");
    writeFileSync(join(target, "NOTICE"), notice(chunks.flatMap(({ moduleIds }) => moduleIds)));
  } finally {
    await bundled.close();
  }
}

const VIRTUAL = "\0cairn:";

function virtualEntries(entries: ReadonlyMap<string, string>, root: string): Plugin {
  return {
    name: "cairn-entries",
    resolveId(source, importer) {
      if (source.startsWith(VIRTUAL)) return source;
      if (UNUSED.test(source)) return `${VIRTUAL}unused`;
      // An entry stands nowhere: its package is looked for from the project.
      if (importer?.startsWith(VIRTUAL)) return this.resolve(source, join(root, "package.json"), { skipSelf: true });
      return null;
    },
    load(id) {
      if (!id.startsWith(VIRTUAL)) return null;
      return entries.get(id.slice(VIRTUAL.length)) ?? "module.exports = {};";
    },
  };
}

/** `@pulumi/kubernetes/provider.js` is `@pulumi+kubernetes+provider.js`, to which `.js` is added; infra/by-hand.ts reads it back. */
export function entryName(specifier: string): string {
  return specifier.replaceAll("/", "+");
}

function entryText(specifier: string, uses: readonly Use[]): string {
  const of = uses.filter((use) => use.specifier === specifier);
  const path = JSON.stringify(specifier);
  if (of.some(({ names }) => names === null)) return `export * from ${path};\n`;
  const names = [...new Set(of.flatMap((use) => use.names ?? []))].sort();
  return `export { ${names.join(", ")} } from ${path};\n`;
}

function readUses(path: string): UsedFile {
  const text = readFileSync(path, "utf8");
  return { path, text, uses: usesIn(text, path) };
}

/** The imports of bundled packages in one JavaScript text. Throws where one does not say which exports it takes. */
export function usesIn(text: string, path: string): readonly Use[] {
  const all = Object.values(BUNDLED).flat();
  if (!all.some((name) => text.includes(`"${name}`))) return [];
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true, ts.ScriptKind.JS);
  const uses: Use[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteral(node) && all.includes(packageOf(node.text) ?? "")) {
      const names = takenBy(node);
      if (names !== undefined)
        uses.push({ specifier: node.text, start: node.getStart() + 1, end: node.end - 1, names });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return uses;
}

/** Undefined for a text that imports nothing. */
function takenBy(specifier: ts.StringLiteral): readonly string[] | null | undefined {
  const { parent } = specifier;
  if (ts.isImportDeclaration(parent)) {
    const { name, namedBindings } = parent.importClause ?? {};
    const own = name === undefined ? [] : ["default"];
    if (namedBindings === undefined && name !== undefined) return own;
    if (namedBindings !== undefined && ts.isNamedImports(namedBindings)) {
      return [...own, ...namedBindings.elements.map((one) => (one.propertyName ?? one.name).text)];
    }
    throw unnamed(specifier);
  }
  if (!ts.isCallExpression(parent) || parent.arguments[0] !== specifier) return undefined;
  if (ts.isIdentifier(parent.expression) && parent.expression.text === "require") return null;
  if (parent.expression.kind !== ts.SyntaxKind.ImportKeyword) return undefined;
  if (!ts.isAwaitExpression(parent.parent)) throw unnamed(specifier);
  // `(await import("x")).name`, or `const { name } = await import("x")`.
  const awaited = parent.parent.parent;
  const taker = ts.isParenthesizedExpression(awaited) ? awaited.parent : awaited;
  if (ts.isPropertyAccessExpression(taker)) return [taker.name.text];
  if (ts.isVariableDeclaration(taker) && ts.isObjectBindingPattern(taker.name)) {
    return taker.name.elements.map(({ propertyName, name }) => {
      const taken = propertyName ?? name;
      if (!ts.isIdentifier(taken)) throw unnamed(specifier);
      return taken.text;
    });
  }
  throw unnamed(specifier);
}

function unnamed(specifier: ts.StringLiteral): Error {
  const file = specifier.getSourceFile().fileName;
  return new Error(`${file} imports ${specifier.text}, which is bundled, without naming what it takes`);
}

function rewritten({ path, text, uses }: UsedFile, folder: string): string {
  let result = text;
  for (const { specifier, start, end } of uses.toReversed()) {
    const name = packageOf(specifier) ?? "";
    const [room = ""] = Object.entries(BUNDLED).find(([, packages]) => packages.includes(name)) ?? [];
    const entry = join(folder, room, "packages", `${entryName(specifier)}.js`);
    const from = relative(dirname(path), entry);
    result = `${result.slice(0, start)}${from.startsWith(".") ? from : `./${from}`}${result.slice(end)}`;
  }
  return result;
}

/** Licences of the packages that these modules belong to, by the files that each has for that. */
function notice(modules: readonly string[]): string {
  const folders = new Set(modules.filter((id) => !id.startsWith("\0")).flatMap((id) => packageFolder(id) ?? []));
  const parts = [...folders].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file));
    const texts = files.sort().map((file) => readFileSync(join(folder, file), "utf8").trim());
    return [`${name} ${version} (${license})`, ...texts].join("\n\n");
  });
  const rule = "-".repeat(78);
  return `${["Files in this folder are made from the packages below.", ...parts.sort()].join(`\n\n${rule}\n\n`)}\n`;
}

/** The folder in `node_modules` that a module belongs to. */
function packageFolder(id: string): string | undefined {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0];
}
