/**
 * What .gitignore files leave out of a search, as git has it: the rules of a directory come behind those around it, and the last
 * one that matches decides. A directory with a repository of its own begins anew.
 */

import ignore, { type Ignore } from "ignore";

const SPECIAL = /[\\*?[\]!# ]/g;

export class IgnoreRules {
  readonly #rules: Ignore | null;

  private constructor(rules: Ignore | null) {
    this.#rules = rules;
  }

  static readonly none = new IgnoreRules(null);

  /** With those of a .gitignore file in the directory `components` below the root. */
  with(components: readonly string[], text: string): IgnoreRules {
    const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
    const rules = ignore({ ignorecase: false });
    if (this.#rules) rules.add(this.#rules);
    return new IgnoreRules(rules.add(lines.map((line) => belowRoot(line, components))));
  }

  /** `path`: below the root, with `/`. */
  excludes(path: string, isDirectory: boolean): boolean {
    return this.#rules?.ignores(isDirectory ? `${path}/` : path) ?? false;
  }
}

/** The rule as one of the root's own file. */
function belowRoot(line: string, components: readonly string[]): string {
  if (components.length === 0 || line.trim() === "" || line.startsWith("#")) return line;
  const isNegated = line.startsWith("!");
  const rule = isNegated ? line.slice(1) : line;
  const isAnchored = rule.trimEnd().replace(/\/$/, "").includes("/");
  const folder = components.map((name) => name.replace(SPECIAL, "\\$&")).join("/");
  return `${isNegated ? "!" : ""}/${folder}/${isAnchored ? rule.replace(/^\//, "") : `**/${rule}`}`;
}
