/**
 * What becomes of the input schema that an MCP server sends. Only keywords that are listed here reach the model and our validator;
 * references are replaced by what they lead to. Whatever is dropped makes our check more lenient, and the server has its own.
 */

import { isRecord } from "../../contracts/values.ts";
import { promptText, withoutChatTokens, withoutUnseen } from "../prompt-data.ts";

export type ToolSchema = { readonly parameters: Readonly<Record<string, unknown>> } | { readonly refused: string };

const MAX_DEPTH = 24;
/** Subschemas, references replaced: validation takes time in proportion to them. */
const MAX_SUBSCHEMAS = 1_000;
/** UTF-16 units of the JSON that results. */
const MAX_CHARS = 65_536;
const MAX_TEXT = 1_000;
const MAX_PATTERN = 200;
const MAX_VALUE = 4_000;
const MAX_PROPERTY = 200;
/** Providers refuse a request with another name in it, and all its tools with it. */
const PROPERTY = /^[A-Za-z0-9_.-]{1,64}$/;

const TYPES = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);
const NUMBERS = "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split(" ");
const COUNTS = "minLength maxLength minItems maxItems minProperties maxProperties".split(" ");
const SUBSCHEMAS = "additionalProperties propertyNames contains not if then else".split(" ");
const COMBINATIONS = ["anyOf", "oneOf", "allOf"];
/** Providers refuse them at the root. */
const NOT_AT_ROOT = [...COMBINATIONS, "not", "if", "then", "else", "enum", "const"];

class Refused extends Error {}

interface Walk {
  readonly root: Readonly<Record<string, unknown>>;
  subschemas: number;
}

/** Pure. `refused` says why, as the end of a sentence. */
export function acceptToolSchema(schema: unknown): ToolSchema {
  if (!isRecord(schema) || schema["type"] !== "object") return { refused: "its schema is not one of an object" };
  try {
    const all = subschema(schema, { root: schema, subschemas: 0 }, 0, []);
    if (!isRecord(all)) throw new Refused("its schema is not one of an object");
    const parameters = Object.fromEntries(Object.entries(all).filter(([keyword]) => !NOT_AT_ROOT.includes(keyword)));
    const properties = isRecord(parameters["properties"]) ? parameters["properties"] : {};
    const wrong = Object.keys(properties).find((name) => !PROPERTY.test(name));
    if (wrong !== undefined) throw new Refused("its schema has an argument with a name that providers refuse");
    if (JSON.stringify(parameters).length > MAX_CHARS) throw new Refused("its schema is too large");
    return { parameters: { ...parameters, type: "object", properties } };
  } catch (error) {
    if (error instanceof Refused) return { refused: error.message };
    throw error;
  }
}

/** `references`: those that led here. */
function subschema(raw: unknown, walk: Walk, depth: number, references: readonly string[]): unknown {
  if (typeof raw === "boolean") return raw;
  if (!isRecord(raw)) throw new Refused("its schema is invalid");
  if (depth > MAX_DEPTH) throw new Refused("its schema nests too deep");
  walk.subschemas += 1;
  if (walk.subschemas > MAX_SUBSCHEMAS) throw new Refused("its schema is too large");
  const inner = (value: unknown) => subschema(value, walk, depth + 1, references);
  const own = {
    ...scalars(raw),
    ...texts(raw),
    ...composed(raw, inner),
    ...(raw["properties"] === undefined ? {} : { properties: mapOf(raw["properties"], inner) }),
  };
  const reference = raw["$ref"];
  if (reference === undefined) return own;
  if (typeof reference !== "string") throw new Refused("its schema is invalid");
  // A schema within itself: what is inside is for the server to check.
  if (references.includes(reference)) return own;
  const target = subschema(resolved(walk.root, reference), walk, depth + 1, [...references, reference]);
  return isRecord(target) ? { ...target, ...own } : own;
}

/** Only within the schema itself: nothing is fetched. */
function resolved(root: unknown, reference: string): unknown {
  if (reference !== "#" && !reference.startsWith("#/")) throw new Refused("its schema refers to another one");
  let target: unknown = root;
  for (const part of reference.split("/").slice(1)) {
    const key = decoded(part);
    if (Array.isArray(target)) target = target[Number(key)];
    else target = isRecord(target) && Object.hasOwn(target, key) ? target[key] : undefined;
  }
  if (target === undefined) throw new Refused("its schema refers to what is not there");
  return target;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    throw new Refused("its schema is invalid");
  }
}

function scalars(raw: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { type, required, format } = raw;
  const types = type === undefined ? [] : [type].flat();
  if (!types.every((one) => typeof one === "string" && TYPES.has(one))) {
    throw new Refused("its schema has an unknown type");
  }
  const names = Array.isArray(required) ? [...new Set(required)] : [];
  if (!names.every((name) => typeof name === "string" && isPropertyName(name)))
    throw new Refused("its schema is invalid");
  const numbers = NUMBERS.filter((keyword) => {
    const value = raw[keyword];
    return Number.isFinite(value) && (keyword !== "multipleOf" || Number(value) > 0);
  });
  const counts = COUNTS.filter((keyword) => Number.isSafeInteger(raw[keyword]) && Number(raw[keyword]) >= 0);
  return {
    ...(type === undefined || types.length === 0 ? {} : { type: types.length === 1 ? types[0] : [...new Set(types)] }),
    ...(names.length === 0 ? {} : { required: names }),
    ...(typeof format === "string" && /^[a-z0-9-]{1,40}$/.test(format) ? { format } : {}),
    ...Object.fromEntries([...numbers, ...counts].map((keyword) => [keyword, raw[keyword]])),
    ...(Array.isArray(raw["enum"]) && raw["enum"].length > 0 ? { enum: shown([...new Set(raw["enum"])]) } : {}),
    ...(raw["const"] === undefined ? {} : { const: shown(raw["const"]) }),
    ...(raw["default"] === undefined ? {} : { default: shown(raw["default"]) }),
  };
}

/** A pattern is shown to the model and never executed: a malicious one could block the process. */
function texts({ title, description, pattern }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const words = [
    typeof description === "string" ? textWithin(description, MAX_TEXT) : "",
    typeof pattern === "string" ? `Pattern: ${textWithin(pattern, MAX_PATTERN)}` : "",
  ].filter((part) => part !== "");
  return {
    ...(typeof title === "string" ? { title: textWithin(title, MAX_PROPERTY) } : {}),
    ...(words.length === 0 ? {} : { description: words.join(" ") }),
  };
}

function composed(raw: Readonly<Record<string, unknown>>, inner: (value: unknown) => unknown): Record<string, unknown> {
  const isOpen = raw["patternProperties"] !== undefined;
  const single = SUBSCHEMAS.filter((key) => raw[key] !== undefined && !(isOpen && key === "additionalProperties"));
  const several = COMBINATIONS.filter((keyword) => raw[keyword] !== undefined);
  return {
    ...Object.fromEntries(single.map((keyword) => [keyword, inner(raw[keyword])])),
    ...Object.fromEntries(several.map((keyword) => [keyword, listOf(raw[keyword], inner)])),
    ...itemsOf(raw, inner),
  };
}

/** Places of a tuple are told apart in two ways, by the version of JSON Schema; our validator is of the older one. */
function itemsOf({ items, prefixItems }: Readonly<Record<string, unknown>>, inner: (value: unknown) => unknown) {
  const places = prefixItems ?? (Array.isArray(items) ? items : undefined);
  if (places !== undefined) return { items: { anyOf: listOf(places, inner) } };
  return items === undefined ? {} : { items: inner(items) };
}

function listOf(value: unknown, inner: (value: unknown) => unknown): unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw new Refused("its schema is invalid");
  return value.map(inner);
}

function mapOf(value: unknown, inner: (value: unknown) => unknown): Record<string, unknown> {
  if (!isRecord(value)) throw new Refused("its schema is invalid");
  const entries = Object.entries(value);
  if (!entries.every(([name]) => isPropertyName(name))) {
    throw new Refused("its schema has an argument with a name that cannot be shown");
  }
  return Object.fromEntries(entries.map(([name, one]) => [name, inner(one)]));
}

function isPropertyName(name: string): boolean {
  return name !== "" && name !== "__proto__" && name.length <= MAX_PROPERTY && promptText(name) === name;
}

/** A value that is compared, and so cannot be changed. */
function shown(value: unknown): unknown {
  const json = JSON.stringify(value);
  if (json.length > MAX_VALUE) throw new Refused("its schema is too large");
  if (withoutChatTokens(withoutUnseen(json)) !== json) throw new Refused("its schema has a value that cannot be shown");
  return value;
}

function textWithin(text: string, limit: number): string {
  return promptText(text.slice(0, limit)).toWellFormed().trim();
}
