/**
 * Answers before they are checked: plain trees, as they come from a file, from flags and from questions. A list of agents,
 * channels or nodes is found by the name of an entry, so that `["agents", "iris", "model"]` leads to one answer. The leaves are
 * all answers of the schema, each with its path, its flag and its values. Pure.
 */
import { z } from "zod";
import { type AnswerMeta, answersSchema, bare } from "./answers.ts";

export interface AnswerTree {
  readonly [key: string]: unknown;
}

export type AnswerPath = readonly string[];

/** Lists, and what their entries are called by. */
const LISTS: Readonly<Record<string, string>> = { agents: "name", channels: "id", "deployment.nodes": "name" };

/** Answers that are dropped once a neighbouring one has changed: of another provider, the model is another. */
const DEPENDENTS: Readonly<Record<string, readonly [decides: string, dependents: readonly string[]]>> = {
  provider: ["id", ["kind", "base_url", "model", "api_key_variable"]],
  embedding: ["model", ["base_url"]],
  "agents.*": ["provider", ["model"]],
  "deployment.proxmox": ["host", ["host_key"]],
};

/** Null for what is no list of named entries. */
export function listKey(path: AnswerPath): string | null {
  return LISTS[path.join(".")] ?? null;
}

/** Later trees overrule earlier ones; null removes an answer; a list has the entries of the last one that has it. */
export function mergeAnswers(...trees: readonly AnswerTree[]): AnswerTree {
  return trees.reduce<AnswerTree>((merged, tree) => mergeMaps(merged, tree, []), {});
}

export function answerAt(tree: AnswerTree, path: AnswerPath): unknown {
  let at: unknown = tree;
  for (const [index, part] of path.entries()) {
    const key = listKey(path.slice(0, index));
    if (key !== null) at = entriesOf(at).find((entry) => entry[key] === part);
    else at = isTree(at) ? at[part] : undefined;
  }
  return at;
}

/**
 * The tree with the answer in it; entries and maps on the way are made. Undefined removes an answer. What depended on a former
 * answer goes with it.
 */
export function withAnswer(tree: AnswerTree, path: AnswerPath, value: unknown): AnswerTree {
  const before = answerAt(tree, path);
  const changed = withPart(tree, path, [], value);
  if (before === undefined || before === value) return changed;
  return dependentsOf(path).reduce((current, dependent) => withPart(current, dependent, [], undefined), changed);
}

/** Paths of what means nothing any more once the answer at this path has changed. */
export function dependentsOf(path: AnswerPath): AnswerPath[] {
  const parent = path.slice(0, -1);
  const [decides, dependents] = DEPENDENTS[patternOf(parent)] ?? ["", []];
  return path.at(-1) === decides ? dependents.map((name) => [...parent, name]) : [];
}

/** The place with `*` for the names of entries. */
export function patternOf(path: AnswerPath): string {
  return path.map((part, index) => (listKey(path.slice(0, index)) === null ? part : "*")).join(".");
}

/** The tree with exactly these entries in the list; the answers of those that stay are kept. */
export function withEntries(tree: AnswerTree, path: AnswerPath, names: readonly string[]): AnswerTree {
  const key = listKey(path) ?? "name";
  const before = entriesOf(answerAt(tree, path));
  const entries = names.map((name) => before.find((entry) => entry[key] === name) ?? { [key]: name });
  return withAnswer(tree, path, entries);
}

export function isTree(value: unknown): value is AnswerTree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function entriesOf(list: unknown): AnswerTree[] {
  return Array.isArray(list) ? list.filter(isTree) : [];
}

function withPart(tree: unknown, path: AnswerPath, done: AnswerPath, value: unknown): AnswerTree {
  const [part, ...rest] = path;
  const map = isTree(tree) ? tree : {};
  if (part === undefined) return map;
  const here = [...done, part];
  if (rest.length === 0) return { ...map, [part]: value };
  const key = listKey(here);
  if (key === null) return { ...map, [part]: withPart(map[part], rest, here, value) };
  const [name = "", ...inner] = rest;
  const entries = entriesOf(map[part]);
  const exists = entries.some((entry) => entry[key] === name);
  const all = exists ? entries : [...entries, { [key]: name }];
  const changed = all.map((entry) => (entry[key] === name ? withPart(entry, inner, [...here, "*"], value) : entry));
  return { ...map, [part]: changed };
}

function mergeMaps(base: AnswerTree, over: AnswerTree, path: AnswerPath): AnswerTree {
  const merged: Record<string, unknown> = { ...base };
  const [decides, dependents] = DEPENDENTS[path.join(".")] ?? ["", []];
  const decision = over[decides];
  if (decision !== undefined && base[decides] !== undefined && decision !== base[decides])
    for (const name of dependents) delete merged[name];
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) continue;
    if (value === null) delete merged[key];
    else merged[key] = mergeValues(merged[key], value, [...path, key]);
  }
  return merged;
}

function mergeValues(base: unknown, over: unknown, path: AnswerPath): unknown {
  const key = listKey(path);
  if (key !== null && Array.isArray(over)) {
    const before = entriesOf(base);
    return over.map((entry: unknown) => {
      if (!isTree(entry)) return entry;
      const former = before.find((one) => one[key] === entry[key]) ?? {};
      return mergeMaps(former, entry, [...path, "*"]);
    });
  }
  return isTree(over) ? mergeMaps(isTree(base) ? base : {}, over, path) : over;
}

export interface AnswerLeaf extends AnswerMeta {
  /** `*` matches the name of an entry. */
  readonly path: AnswerPath;
  /** `provider.model`, `agents.*.model`: what prompts/texts.ts calls it. */
  readonly id: string;
  /**
   * `names` is a list itself (one flag an entry), `entry` an answer of one entry (`NAME=VALUE`), `pairs` a mapping of one entry
   * (`NAME/KEY=VALUE`), `switch` yes or no, `value` anything else.
   */
  readonly form: "value" | "switch" | "names" | "entry" | "pairs";
  readonly options: readonly string[] | null;
  readonly description: string;
  readonly schema: z.ZodType;
}

export function answerLeaves(): readonly AnswerLeaf[] {
  return leavesOf(answersSchema, []);
}

/** The leaf that a path of an answer leads to; the path of a list leads to the names of its entries, and that
 * of an entry of a mapping to its value. */
export function leafAt(leaves: readonly AnswerLeaf[], path: AnswerPath): AnswerLeaf {
  const id = patternOf(path);
  const leaf = leaves.find((one) => one.id === id) ?? leaves.flatMap((one) => entryLeaf(one, id))[0];
  if (!leaf) throw new Error(`There is no answer ${id}.`);
  return leaf;
}

/** The leaf of one entry of a mapping, as a value of its own. */
function entryLeaf(leaf: AnswerLeaf, id: string): AnswerLeaf[] {
  const found = bare(leaf.schema);
  if (leaf.form !== "pairs" || !(found instanceof z.ZodRecord) || !id.startsWith(`${leaf.id}.`)) return [];
  // The values of a mapping have a schema; the library's own type says less.
  return [{ ...leaf, form: "entry", schema: found.valueType as z.ZodType }];
}

function leavesOf(schema: z.ZodObject, path: AnswerPath): AnswerLeaf[] {
  return Object.entries(schema.shape).flatMap(([key, inner]): AnswerLeaf[] => {
    const here = [...path, key];
    const found = bare(inner);
    if (found instanceof z.ZodObject) return leavesOf(found, here);
    if (found instanceof z.ZodArray && found.element instanceof z.ZodObject) {
      const [names, ...rest] = leavesOf(found.element, [...here, "*"]);
      if (!names) return [];
      return [{ ...names, path: here, id: patternOf(here), form: "names" }, ...rest];
    }
    // What is in a shape is a schema; the library's own type says less.
    return [leafOf(inner as z.ZodType, found, here)];
  });
}

function leafOf(schema: z.ZodType, found: unknown, path: AnswerPath): AnswerLeaf {
  const { phase, flag, helpValue, description } = schema.meta() ?? {};
  const entry = path.includes("*");
  let form: AnswerLeaf["form"] = entry ? "entry" : "value";
  if (found instanceof z.ZodRecord) form = "pairs";
  if (found instanceof z.ZodBoolean) form = "switch";
  const options = found instanceof z.ZodEnum ? found.options.map(String) : null;
  return {
    path,
    id: patternOf(path),
    form,
    options,
    schema,
    description: description ?? "",
    // `of` in answers.ts makes them.
    ...({ phase, flag, helpValue } as AnswerMeta),
  };
}
