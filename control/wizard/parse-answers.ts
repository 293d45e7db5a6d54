/** Reads the file of `--answers`, and checks whether answers are allowed: in words what is wrong with those that are not. */

import { readFile } from "node:fs/promises";
import { z } from "zod";
import { holdsSecret } from "../../runtime/config/secret-values.ts";
import { type Tree, texts } from "../../runtime/config/tree.ts";
import { parseYaml } from "../../runtime/config/yaml-source.ts";
import { ConfigError, ConfigValidationError } from "../../runtime/contracts/errors.ts";
import { systemWords } from "../../runtime/contracts/system-errors.ts";
import { type AnswerTree, isTree, listKey, mergeAnswers } from "./answer-tree.ts";
import { type Answers, answersSchema, bare } from "./answers.ts";

export interface AnswerIssue {
  /** An entry of a list by its number. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export const SECRET_ANSWER =
  "it looks like a key or a password: write that into .env, and refer to it by the name of its variable or as ${NAME}";

/** Later parts overrule earlier ones, answer by answer. ConfigValidationError names every answer that is not allowed. */
export function parseAnswers(...parts: readonly AnswerTree[]): Answers {
  const checked = checkAnswers(mergeAnswers(...parts));
  if (checked.ok) return checked.answers;
  const issues = checked.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  const lines = issues.map((issue) => `  ${issue.path}: ${issue.message}`);
  throw new ConfigValidationError(["The answers are not valid:", ...lines].join("\n"), issues, {
    hint: "Nothing was written. Correct them; `cairn init --help` lists what is allowed.",
  });
}

type Checked =
  | { readonly ok: true; readonly answers: Answers }
  | { readonly ok: false; readonly issues: readonly AnswerIssue[] };

export function checkAnswers(tree: AnswerTree): Checked {
  const result = answersSchema.safeParse(tree, { error: wordsFor });
  // Answers come from flags, prompts, YAML or JSON: they are plain data.
  const secrets = [...texts(tree as Tree)].filter(({ text }) => holdsSecret(text));
  const issues: AnswerIssue[] = [
    ...(result.success ? [] : result.error.issues.flatMap(issuesOf)),
    ...repeated(tree),
    ...secrets.map(({ path }) => ({ path, message: SECRET_ANSWER })),
  ];
  return result.success && issues.length === 0 ? { ok: true, answers: result.data } : { ok: false, issues };
}

function issuesOf(issue: z.core.$ZodIssue): AnswerIssue[] {
  const path = issue.path.map((part) => (typeof part === "symbol" ? String(part) : part));
  if (issue.code !== "unrecognized_keys") return [{ path, message: issue.message }];
  const names = namesAt(path).join(", ");
  return issue.keys.map((key) => ({ path: [...path, key], message: `no such answer; there are ${names}` }));
}

/** Where the schema itself has no words. */
function wordsFor(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_value") return `one of ${issue.values.map(String).join(", ")}`;
  if (issue.code !== "invalid_type") return undefined;
  const path = (issue.path ?? []).map(String);
  const key = issue.expected === "object" ? listKey(path.slice(0, -1)) : null;
  if (key !== null)
    return `a mapping that begins with \`${key}:\`, such as { ${key}: ${EXAMPLES[path[0] ?? ""] ?? "NAME"} }`;
  return KINDS[issue.expected];
}

const EXAMPLES: Readonly<Record<string, string>> = { agents: "main", channels: "telegram", deployment: "node-1" };

const KINDS: Readonly<Record<string, string>> = {
  array: "a list",
  object: "a mapping (name: value)",
  record: "a mapping (name: value)",
  string: "a text",
  boolean: "true or false",
};

/** An entry that is there twice: which one counts would be ambiguous. */
function repeated(tree: AnswerTree): AnswerIssue[] {
  const nodes = isTree(tree["deployment"]) ? tree["deployment"]["nodes"] : undefined;
  const lists: readonly (readonly [path: readonly string[], list: unknown])[] = [
    [["deployment", "nodes"], nodes],
    [["agents"], tree["agents"]],
    [["channels"], tree["channels"]],
  ];
  return lists.flatMap(([path, list]) => {
    const key = listKey(path) ?? "name";
    const names = (Array.isArray(list) ? list : []).map((entry: unknown) => (isTree(entry) ? entry[key] : undefined));
    return names.flatMap((name, index) => {
      const first = names.indexOf(name);
      if (name === undefined || first === index) return [];
      return [{ path: [...path, index, key], message: `${String(name)} is there already, as entry ${first + 1}` }];
    });
  });
}

function namesAt(path: readonly PropertyKey[]): string[] {
  let at: unknown = answersSchema;
  for (const part of path) at = innerOf(at, part);
  const found = bare(at);
  return found instanceof z.ZodObject ? Object.keys(found.shape) : [];
}

function innerOf(schema: unknown, part: PropertyKey): unknown {
  const found = bare(schema);
  if (found instanceof z.ZodObject) return found.shape[String(part)];
  return found instanceof z.ZodArray ? found.element : undefined;
}

const SHAPE = "the file must be a mapping of answers, such as `timezone: Europe/Berlin`";

/** The answers in a YAML or JSON file, not yet checked. CONFIG_UNREADABLE, with line and column where it is no YAML. */
export async function readAnswersFile(path: string): Promise<AnswerTree> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const { reason, hint = "Check the path of --answers." } = systemWords(error);
    throw new ConfigError("CONFIG_UNREADABLE", `The answers file ${path} cannot be read (${reason}).`, {
      cause: error,
      hint,
    });
  }
  try {
    return parseYaml(text, path, SHAPE).tree;
  } catch (error) {
    if (!(error instanceof ConfigValidationError)) throw error;
    throw new ConfigError("CONFIG_UNREADABLE", `The answers file ${error.message}`, { ...error.details, cause: error });
  }
}
