/** Finds declared names that use a refused word (refused-words.ts). Reads syntax only; what a foreign package declares is not met. */

import { basename } from "node:path";
import ts from "typescript";
import { ALLOWED, REFUSED, REFUSED_TYPES } from "./refused-words.ts";

export interface RefusedName {
  readonly file: string;
  /** From 1; 1 for the name of the file itself. */
  readonly line: number;
  readonly name: string;
  readonly instead: string;
}

/** `file` is relative to the root, with slashes. Declared names and the file's own, in their order. */
export function refusedNames(file: string, text: string): RefusedName[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const own = insteadOf(basename(file).replace(/\.[\w.]+$/, ""), file, false);
  const found: RefusedName[] = own === null ? [] : [{ file, line: 1, name: basename(file), instead: own }];
  const visit = (node: ts.Node): void => {
    const name = declaredName(node);
    const instead = name === null ? null : insteadOf(name.text.replace(/^#/, ""), file, isType(node));
    if (name !== null && instead !== null) {
      const { line } = source.getLineAndCharacterOfPosition(name.getStart(source));
      found.push({ file, line: line + 1, name: name.text, instead });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Null for what is no declaration, and for names that are only mentioned: imports and shorthand properties. */
function declaredName(node: ts.Node): ts.Identifier | ts.PrivateIdentifier | null {
  if (ts.isPropertyAccessExpression(node) || ts.isMetaProperty(node) || ts.isShorthandPropertyAssignment(node))
    return null;
  if (ts.isExportSpecifier(node) || (ts.isImportSpecifier(node) && node.propertyName === undefined)) return null;
  const { name } = node as ts.Node & { readonly name?: ts.Node };
  return name !== undefined && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)) ? name : null;
}

function isType(node: ts.Node): boolean {
  return ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node);
}

function insteadOf(name: string, file: string, type: boolean): string | null {
  if (type && REFUSED_TYPES.has(name)) return "a name that says what it is";
  const word = wordsOf(name).find((one) => Object.hasOwn(REFUSED, one));
  if (word === undefined) return null;
  if (ALLOWED.some((one) => one.name.test(name) && (one.file === undefined || one.file.test(file)))) return null;
  return REFUSED[word] ?? null;
}

/** `lookMs`, `LOOK_MS` and `look-ms` have the words look and ms. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
    .split(/[ _\-.$]+/)
    .map((word) => word.toLowerCase());
}
