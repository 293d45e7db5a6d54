/**
 * References in values: `${VARIABLE}` and `${VARIABLE:-default}`, also inside longer texts; `$${` means a literal
 * `${`. A value that is `op://vault/item/field` (itself, or through a variable) comes from the password manager.
 * A variable that is empty counts as one that is not set: an empty key is of no use. `${X:-}` allows empty.
 */
import { CairnError } from "../contracts/errors.ts";
import { mapTexts, type TreeMap, type TreePath, texts } from "./tree.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export type TemplatePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "variable"; readonly name: string; readonly fallback?: string };

export type Template =
  | { readonly ok: true; readonly parts: readonly TemplatePart[] }
  | { readonly ok: false; readonly reason: string };

/** Reads one secret of the password manager; rejects with CONFIG_SECRET_UNRESOLVED. */
export type SecretReader = (reference: string) => Promise<string>;

export interface UnresolvedReference {
  readonly path: TreePath;
  /** As in the file: `${NAME}` or `op://...`. */
  readonly reference: string;
  readonly reason: string;
  readonly source: "variable" | "syntax" | "password-manager";
}

export interface Resolution {
  /** References that could not be resolved are still in it, as they were written. */
  readonly tree: TreeMap;
  readonly unresolved: readonly UnresolvedReference[];
  /** Paths whose value came, in part or whole, from a reference. */
  readonly referenced: readonly TreePath[];
  /** Every value that the password manager gave. */
  readonly secrets: readonly string[];
}

const REFERENCE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}/;

export function parseTemplate(text: string): Template {
  const parts: TemplatePart[] = [];
  let plain = "";
  for (let at = 0; at < text.length; ) {
    if (text.startsWith("$${", at)) {
      plain += "${";
      at += 3;
    } else if (text.startsWith("${", at)) {
      const match = REFERENCE.exec(text.slice(at));
      const [whole, name, fallback] = match ?? [];
      if (whole === undefined || name === undefined) {
        return { ok: false, reason: "a reference is written ${NAME} or ${NAME:-default}; a literal ${ is written $${" };
      }
      if (plain !== "") parts.push({ kind: "text", text: plain });
      plain = "";
      parts.push(fallback === undefined ? { kind: "variable", name } : { kind: "variable", name, fallback });
      at += whole.length;
    } else {
      plain += text.charAt(at);
      at += 1;
    }
  }
  if (plain !== "") parts.push({ kind: "text", text: plain });
  return { ok: true, parts };
}

export function hasReference(text: string): boolean {
  const template = parseTemplate(text);
  return isSecretReference(text) || (template.ok && template.parts.some((part) => part.kind === "variable"));
}

export function isSecretReference(text: string): boolean {
  return text.startsWith("op://");
}

/** Resolves every text of the tree. What is wrong is reported, never thrown; the password manager is called once a secret. */
export async function resolveReferences(tree: TreeMap, env: Environment, read: SecretReader): Promise<Resolution> {
  const unresolved: UnresolvedReference[] = [];
  const referenced: TreePath[] = [];
  const asked = new Map<string, TreePath[]>();
  const expanded = mapTexts(tree, (text, path) => {
    const result = expand(text, env);
    if (result.reason !== undefined) {
      unresolved.push({ path, reference: result.reference, reason: result.reason, source: result.source });
      return text;
    }
    if (result.referenced) referenced.push(path);
    if (isSecretReference(result.text)) asked.set(result.text, [...(asked.get(result.text) ?? []), path]);
    return result.text;
  });

  const answers = await readAll([...asked.keys()], read);
  for (const [reference, paths] of asked) {
    const answer = answers.get(reference);
    if (answer instanceof CairnError) {
      unresolved.push(
        ...paths.map((path) => ({ path, reference, reason: answer.message, source: "password-manager" as const })),
      );
    } else referenced.push(...paths);
  }
  const secrets = [...answers.values()].filter((answer) => typeof answer === "string");
  const resolved = mapTexts(expanded, (text) => {
    const answer = answers.get(text);
    return typeof answer === "string" ? answer : text;
  });
  // mapTexts keeps the shape: a mapping stays one.
  return { tree: resolved as TreeMap, unresolved, referenced, secrets };
}

/** Variables that the tree refers to. */
export function referencedVariables(tree: TreeMap): Set<string> {
  const names = new Set<string>();
  for (const { text } of texts(tree)) {
    const template = parseTemplate(text);
    if (template.ok) for (const part of template.parts) if (part.kind === "variable") names.add(part.name);
  }
  return names;
}

type Expansion =
  | { readonly text: string; readonly referenced: boolean; readonly reason?: undefined }
  | { readonly reference: string; readonly reason: string; readonly source: "variable" | "syntax" };

function expand(text: string, env: Environment): Expansion {
  const template = parseTemplate(text);
  if (!template.ok) return { reference: text, reason: template.reason, source: "syntax" };
  let result = "";
  let referenced = false;
  for (const part of template.parts) {
    if (part.kind === "text") {
      result += part.text;
      continue;
    }
    referenced = true;
    const value = Object.hasOwn(env, part.name) ? env[part.name] : undefined;
    if (value === undefined || value === "") {
      if (part.fallback === undefined) {
        const reason = `the environment variable ${part.name} is ${value === "" ? "empty" : "not set"}`;
        return { reference: `\${${part.name}}`, reason, source: "variable" };
      }
      result += part.fallback;
    } else result += value;
  }
  return { text: result, referenced };
}

/** The first secret alone, so that an unlock prompt appears once; the others together. */
async function readAll(references: readonly string[], read: SecretReader): Promise<Map<string, string | CairnError>> {
  const answers = new Map<string, string | CairnError>();
  const ask = async (reference: string): Promise<void> => {
    try {
      answers.set(reference, await read(reference));
    } catch (error) {
      if (!(error instanceof CairnError)) throw error;
      answers.set(reference, error);
    }
  };
  const [first, ...others] = references;
  if (first !== undefined) await ask(first);
  await Promise.all(others.map(ask));
  return answers;
}
