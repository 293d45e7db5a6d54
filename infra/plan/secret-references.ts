/**
 * Makes a configuration carry no secret: what is in it in plain text or comes from the password manager becomes a
 * reference to a variable, whose value travels in the node's `.env`. References that are there already stay.
 */
import {
  type Environment,
  isSecretReference,
  parseTemplate,
  type TemplatePart,
} from "../../runtime/config/references.ts";
import { isSecretPath, looksLikeSecret } from "../../runtime/config/secret-values.ts";
import { mapTexts, type TreeMap, type TreePath } from "../../runtime/config/tree.ts";

export interface LiftedSecrets {
  readonly tree: TreeMap;
  /** Variable to its value, references to other variables in place; it may still be an `op://` reference. */
  readonly variables: Readonly<Record<string, string>>;
}

const PREFIX = "SERVICE_SECRET";

/** `env`: what references are resolved with; names in it are never given to a secret. */
export function liftSecrets(tree: TreeMap, env: Environment): LiftedSecrets {
  const variables = new Map<string, string>();
  const lifted = mapTexts(tree, (text, path) => {
    const template = parseTemplate(text);
    if (!template.ok) return text;
    const value = expand(template.parts, env);
    if (!mustLift(template.parts, value, path)) return text;
    const name = freeName(path, value, variables, env);
    variables.set(name, value);
    return `\${${name}}`;
  });
  // mapTexts keeps the shape: a mapping stays one.
  return { tree: lifted as TreeMap, variables: Object.fromEntries(variables) };
}

function mustLift(parts: readonly TemplatePart[], value: string, path: TreePath): boolean {
  const [only] = parts;
  const isVariable = parts.length === 1 && only?.kind === "variable";
  if (isVariable && only.fallback === undefined) return false;
  if (isSecretReference(value)) return true;
  const written = parts.map((part) => (part.kind === "text" ? part.text : (part.fallback ?? ""))).join("");
  if (looksLikeSecret(written)) return true;
  if (!isSecretPath(path)) return false;
  return parts.every(({ kind }) => kind === "text")
    ? written !== "" && !isAddress(written)
    : parts.some((part) => part.kind === "variable" && part.fallback !== undefined && part.fallback !== "");
}

/** An address without a password is no secret. */
function isAddress(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text);
}

function expand(parts: readonly TemplatePart[], env: Environment): string {
  return parts
    .map((part) => (part.kind === "text" ? part.text : env[part.name] || (part.fallback ?? `\${${part.name}}`)))
    .join("");
}

/** Made of the path, so that it stays the same from one run to the next; one value in two places keeps two names. */
function freeName(path: TreePath, value: string, used: ReadonlyMap<string, string>, env: Environment): string {
  const words = path.map((key) => String(key).replace(/[^A-Za-z0-9]+/g, "_"));
  const base = [PREFIX, ...words].join("_").toUpperCase();
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}_${number}`;
    if (env[name] === undefined && (!used.has(name) || used.get(name) === value)) return name;
  }
}
